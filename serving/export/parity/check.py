"""Compares the exported forms with the expected results: `python -m serving.export.parity.check REPORT`.

The process imports what the forms need to answer, but not the zoo, so it proves that the artefact does not need the
zoo. It may start before there is an artefact: two lines on its standard input, each a JSON string,
name the directory of the artefact, which it then opens, and later the file of the expected results.

The check depends neither on the kind of model nor on the forms: the manifest lists the signatures, and the
expectation lists their inputs and outputs.
"""

import json
import sys
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

if __name__ == "__main__":
    # TensorFlow imports these where they are installed, which takes a while, and nothing here needs them.
    sys.modules["jax"] = sys.modules["matplotlib"] = None

import numpy as np

from serving.export.forms import FORMS, forms_to_compare
from serving.runtime.artefact import MANIFEST

TOLERANCE = 1e-4
# Where `serving.export.parity.expected` was measured, an output may differ by this many times what the Keras model
# itself differs by when its weights are rounded otherwise, if that is more than the tolerance, and LIMIT at most.
TIMES = 4
LIMIT = 1e-2
OTHERWISE = "otherwise.npz"  # beside the report: what is not as expected, see `Report`


@dataclass
class Case:
    """What a signature is asked, and what the Keras model answers: arrays by name.

    Args:
        name: of the signature, or "drive" for the logits along given tokens, which encoder and step must give.
        inputs, outputs: the arrays.
        spread: by how much each output of numbers may differ, where `serving.export.parity.expected` measured it.
        left_out: the rows that do not count, by `serving.export.parity.expected`.
    """

    name: str
    inputs: dict
    outputs: dict
    spread: dict = field(default_factory=dict)
    left_out: list = field(default_factory=list)

    def counted(self, values):
        """The rows of an output that count."""
        return np.delete(values, self.left_out, axis=0) if len(self.left_out) else values


def save_cases(path, cases):
    """Write a file that `load_cases` reads."""
    arrays = {}
    for number, case in enumerate(cases):
        sides = {"inputs": case.inputs, "outputs": case.outputs, "spread": case.spread, "left_out": {"": case.left_out}}
        for side, values in sides.items():
            arrays |= {f"{number}/{case.name}/{side}/{key}": value for key, value in values.items()}
    np.savez(path, **arrays)


def load_cases(path):
    """The cases of a file, in order."""
    cases = {}
    with np.load(path) as arrays:
        for path_in_file, value in arrays.items():
            number, name, side, key = path_in_file.split("/")
            case = cases.setdefault(number, Case(name, {}, {}))
            if side == "left_out":
                case.left_out = value.astype(int).tolist()
            else:
                getattr(case, side)[key] = value
    return list(cases.values())


class Report:
    """Collects the largest difference of each quantity, and a message about each failure.

    `otherwise` has the tokens, labels and texts of which some are not as expected, `{number of the case/engine/output:
    array}`; `serving.export.parity.expected` finds out where rounding decides between the two.
    """

    def __init__(self):
        self.largest, self.failures, self.only_numbers = {}, [], True
        self.tolerance, self.otherwise = TOLERANCE, {}

    def compare(self, what, where, expected, received, spread=0.0, case=""):
        """Check that numbers are close and that all else is equal. The tolerance is absolute for numbers up to 1 and
        relative for larger ones, such as the score of 60 tokens. `case` is the key in `otherwise`."""
        received = np.char.decode(received.astype("S"), "utf-8") if received.dtype == object else received
        if expected.shape != received.shape:
            return self.check_same(f"{what} in {where}", expected, received)
        if expected.dtype.kind != "f":
            return self._check_equal(what, where, expected, received, case)
        differences = np.abs(expected.astype("float64") - received.astype("float64"))
        largest = float(differences.max(initial=0.0))
        self.largest[what] = max(self.largest.get(what, 0.0), largest)
        allowed = max(TOLERANCE, min(TIMES * float(spread), LIMIT))
        self.tolerance = max(self.tolerance, allowed)
        if not (differences <= allowed * np.maximum(1, np.abs(expected))).all():
            self.failures.append(f"{what} in {where}: differs by {largest:.3g}, allowed {allowed:.3g}.")

    def check_same(self, what, expected, received):
        if not np.array_equal(expected, received):
            self.fail(f"{what}: expected {_shorten(expected)}, received {_shorten(received)}.")

    def _check_equal(self, what, where, expected, received, case):
        places = np.argwhere(expected != received)
        if places.size:
            first = tuple(places[0].tolist())
            rows = f"{len(np.unique(places[:, 0]))} of {len(expected)} rows differ, the first "
            self.fail(
                f"{what} in {where}: {rows if expected.ndim else ''}at {place_of(first)}: "
                f"expected {expected[first].item()!r}, received {received[first].item()!r}."
            )
            self.otherwise[case] = received

    def fail(self, message):
        """Note a failure that no tolerance could excuse."""
        self.only_numbers = False
        self.failures.append(message)


def place_of(index):
    """What a message calls a place in an array of `(rows,)`, `(rows, places)` or `(rows, beams, places)`."""
    names = {1: ("row",), 2: ("row", "place"), 3: ("row", "beam", "place")}.get(len(index), ())
    return ", ".join(f"{name} {number}" for name, number in zip(names, index, strict=False)) or str(index)


def _shorten(value):
    value = np.asarray(value)
    text = repr(value.tolist())
    return f"{value.shape} {text if len(text) < 200 else text[:200] + '...'}"


def check(manifest, forms, cases):
    """The `Report` on the forms of an artefact, compared with `serving.export.parity.expected.expectation`.

    Args:
        manifest: of the artefact.
        forms: of `serving.export.forms.forms_to_compare`.
        cases: what is expected, a list of `Case`.
    """
    report = Report()
    signatures = {form: form.signatures() for form in forms}
    _check_signatures(report, manifest, signatures)
    for form in forms:
        for fault in form.faults():
            report.fail(fault)
    for number, case in enumerate(cases):
        where = ", ".join(f"{key} {list(value.shape)}" for key, value in case.inputs.items())
        for engine, answer in _answers(case, signatures):
            report.check_same(f"outputs of {engine} {case.name}", sorted(case.outputs), sorted(answer))
            for key in case.outputs.keys() & answer.keys():
                pair = [case.counted(each[key]) for each in (case.outputs, answer)]
                what = f"{engine} {case.name} {key}"
                report.compare(what, where, *pair, case.spread.get(key, 0.0), f"{number}/{engine}/{key}")
    return report


def _answers(case, tables):
    """`(title, outputs)` of every form that has the signature, or for "drive" the encoder and the step."""
    for form, signatures in tables.items():
        if case.name in signatures:
            yield form.title, form.answer(case.name, case.inputs)
        elif case.name == "drive" and signatures.keys() >= {"encode", "step"}:
            yield form.title, _drive(form, **case.inputs)


def _drive(form, token_ids, lengths, target_ids):
    """The logits of the encoder, run once, and the step, run per token; they must equal those of a full pass."""
    state, logits = form.answer("encode", {"token_ids": token_ids, "lengths": lengths}), []
    for token in [state.pop("first_ids"), *target_ids.T[:, :, None]]:
        outputs = form.answer("step", state | {"token_ids": token})
        logits.append(outputs.pop("logits")[:, 0])
        state |= {name.removeprefix("next_"): value for name, value in outputs.items()}
    return {"logits": np.stack(logits, axis=1)}


def _check_signatures(report, manifest, tables):
    """Check that the forms, `{form: its signatures}`, have the names, dtypes and axes that the manifest says."""
    for table in manifest["signatures"]:
        name = table["name"]
        holders = {form: signatures[name] for form, signatures in tables.items() if name in signatures}
        if not holders:
            report.fail(f"signature {name} is in none of the forms: {', '.join(form.title for form in tables)}.")
        for form, received in holders.items():
            for side in ("inputs", "outputs"):
                expected = filter(None, map(form.declare, table[side]))
                what = f"{side} of {name} in {form.title}"
                report.check_same(what, sorted(map(str, expected)), sorted(map(str, received[side])))


def main(path):
    for form in FORMS:
        if form.extra is None:
            form.import_engine()
    messages = map(json.loads, sys.stdin)
    try:
        directory = Path(next(messages))
        manifest = json.loads((directory / MANIFEST).read_bytes())  # which the other process has checked
        forms = forms_to_compare(directory, manifest)
        expected = next(messages)
    except StopIteration:  # the process that started this one has ended, or has nothing to check
        return 1
    report = check(manifest, forms, load_cases(expected))
    if any(name.partition(".")[0] == "zoo" for name in sys.modules):
        report.fail("this process imported the zoo; the artefact must not need it.")
    result = {
        "passed": not report.failures,
        "max_abs_diff": max(report.largest.values(), default=0.0),
        "tolerance": report.tolerance,
        "largest": {name: report.largest[name] for name in sorted(report.largest)},
        "failures": report.failures[:50],
        "only_numbers": report.only_numbers,
        "versions": {name: metadata.version(name) for form in forms for name in form.packages},
    }
    if report.otherwise:
        np.savez(Path(path).with_name(OTHERWISE), **report.otherwise)
    Path(path).write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    return 0 if result["passed"] else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
