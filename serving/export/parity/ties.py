"""Near ties: rows whose answer hangs on rounding, so that two correct programs may give different ones.

Where two tokens have probabilities that differ by 2e-8, or a random number lies at the border between two tokens, the
order in which float32 numbers are added decides which of them is chosen, and all that follows. The answer of such a row
tells nothing about an exported form. Whether a row is one is asked of the Keras model itself: its weights are moved by
a few float32 steps, as `serving.export.parity.sensitivity` moves them, and so are the random numbers and the borders of
a sample. A row whose answer changes does not count; a row that the model always answers alike must be answered so by
every form.
"""

from dataclasses import dataclass

import numpy as np

from serving.export.parity.check import TIMES, cases, place_of
from serving.export.parity.reference import batches, stack
from serving.export.parity.sensitivity import nudge

DRAWS = 8
EDGE = 1e-5  # how far rounding may move a cumulated probability against a random number, or against `top_p`


@dataclass(frozen=True)
class Otherwise:
    """A row that an exported form answers otherwise: where the first difference is, and the two answers there."""

    name: str
    engine: str
    output: str
    row: int
    place: tuple
    expected: object
    received: object

    def __str__(self):
        where = f"{self.engine} {self.name} {self.output}, {place_of((self.row, *self.place))}"
        return f"{where}: expected {self.expected!r}, received {self.received!r}"


def find_differing(expected, otherwise):
    """`{(number, name): {row: Otherwise}}` of what `serving.export.parity.check` received and did not expect."""
    rows = {}
    for path, received in otherwise.items():
        number, name, engine, key = path.split("/")
        answers = expected[f"{number}/{name}/out/{key}"]
        for row in np.unique(np.argwhere(answers != received)[:, 0]).tolist():
            place = tuple(np.argwhere(answers[row] != received[row])[0].tolist()) if answers.ndim > 1 else ()
            one, other = answers[row][place].item(), received[row][place].item()
            differing = rows.setdefault((number, name), {})
            differing.setdefault(row, Otherwise(name, engine, key, row, place, one, other))
    return rows


def find_ties(kind, tokenizers, texts, expected, rows):
    """`{(number, name): rows}`: those of `rows` whose answer by the Keras model changes with rounding."""
    by_case = {(number, name): (inputs, outputs) for number, name, inputs, outputs, *_ in cases(expected)}
    of_texts = [case for case in by_case if case[1] == "serving_default"]
    texts_of_case = dict(zip(of_texts, batches(kind, texts), strict=True))
    changed = {case: set() for case in rows}
    for seed in range(DRAWS):
        if all(changed[case] == set(among) for case, among in rows.items()):
            break
        with nudge(kind.model, seed, TIMES):
            for case, among in rows.items():
                inputs, outputs = by_case[case]
                for row in set(among) - changed[case]:
                    if case in texts_of_case:
                        answer = kind.answer(tokenizers, texts_of_case[case][row])
                    else:
                        again = kind.ask(case[1], **_row_beside(inputs, row, seed))
                        answer = {key: value[0] for key, value in again.items()}
                    if not _is_alike({key: value[row] for key, value in outputs.items()}, answer):
                        changed[case].add(row)
    return {case: sorted(among) for case, among in changed.items() if among}


def _row_beside(inputs, row, seed):
    """One row of the inputs, whose numbers are moved by EDGE to one side or to the other."""
    rng = np.random.default_rng(seed)
    one = {key: value[row : row + 1] for key, value in inputs.items()}
    for key, value in one.items():
        if value.dtype.kind == "f":
            moved = np.maximum(value + rng.choice([-EDGE, EDGE], value.shape), 0).astype("float32")
            one[key] = np.where(value < 1, np.minimum(moved, np.nextafter(np.float32(1), np.float32(0))), moved)
    return one


def _is_alike(outputs, answer):
    """Whether two answers have the same tokens, labels or texts; numbers do not count."""
    pairs = (stack([value, answer[key]]) for key, value in outputs.items() if value.dtype.kind != "f")
    return all(np.array_equal(*pair) for pair in pairs)


def find_unexplained(kind, expected, rows, near):
    """Sentences about the rows that are answered otherwise and not `near` a tie, and about signatures of ties alone.

    Signatures of one function, such as those of a search with and without rules, are compared together.
    """
    by_case = {(number, name): (inputs, outputs) for number, name, inputs, outputs, *_ in cases(expected)}
    lines = []
    for case, others in rows.items():
        for row in sorted(set(others) - set(near.get(case, ()))):
            one = [{key: value[row : row + 1] for key, value in side.items()} for side in by_case[case]]
            gap = kind.gap(*one, others[row])
            lines.append(str(others[row]) + ("" if gap is None else f"; their log-probabilities differ by {gap:.2g}"))
    for name in sorted({name for _, name in near}):
        alike = [case for case in by_case if _function(kind, case[1]) == _function(kind, name)]
        sizes = {case: len(next(iter(by_case[case][0].values()))) for case in alike}
        left_out, total = sum(len(near.get(case, ())) for case in sizes), sum(sizes.values())
        if left_out == total:
            lines.append(f"{name}: the answers of all {total} rows hang on near ties, so it cannot be compared")
    return lines


def _function(kind, name):
    """What computes a signature: a function of the kind, or its name, of those that are no function."""
    return kind.functions[name].function if name in kind.functions else name
