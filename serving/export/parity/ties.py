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

from serving.export.parity.check import TIMES, place_of
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


def find_differing(cases, otherwise):
    """`{number of a case: {row: Otherwise}}` of what `serving.export.parity.check` received and did not expect."""
    rows = {}
    for path, received in otherwise.items():
        number, engine, key = path.split("/")
        case = cases[int(number)]
        answers = case.outputs[key]
        for row in np.unique(np.argwhere(answers != received)[:, 0]).tolist():
            place = tuple(np.argwhere(answers[row] != received[row])[0].tolist()) if answers.ndim > 1 else ()
            one, other = answers[row][place].item(), received[row][place].item()
            differing = rows.setdefault(int(number), {})
            differing.setdefault(row, Otherwise(case.name, engine, key, row, place, one, other))
    return rows


def find_ties(kind, tokenizers, texts, cases, rows):
    """`{number of a case: rows}`: those of `rows` whose answer by the Keras model changes with rounding."""
    of_texts = [number for number, case in enumerate(cases) if case.name == "serving_default"]
    texts_of_case = dict(zip(of_texts, batches(kind, texts), strict=True))
    changed = {number: set() for number in rows}
    for seed in range(DRAWS):
        if all(changed[number] == set(among) for number, among in rows.items()):
            break
        with nudge(kind.model, seed, TIMES):
            for number, among in rows.items():
                case = cases[number]
                for row in set(among) - changed[number]:
                    if number in texts_of_case:
                        answer = kind.answer(tokenizers, texts_of_case[number][row])
                    else:
                        again = kind.ask(case.name, **_row_beside(case.inputs, row, seed))
                        answer = {key: value[0] for key, value in again.items()}
                    if not _is_alike({key: value[row] for key, value in case.outputs.items()}, answer):
                        changed[number].add(row)
    return {number: sorted(among) for number, among in changed.items() if among}


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


def find_unexplained(kind, cases, rows, near):
    """Sentences about the rows that are answered otherwise and not `near` a tie, and about signatures of ties alone.

    Signatures of one function, such as those of a search with and without rules, are compared together.
    """
    lines = []
    for number, others in rows.items():
        sides = cases[number].inputs, cases[number].outputs
        for row in sorted(set(others) - set(near.get(number, ()))):
            one = [{key: value[row : row + 1] for key, value in side.items()} for side in sides]
            gap = kind.gap(*one, others[row])
            lines.append(str(others[row]) + ("" if gap is None else f"; their log-probabilities differ by {gap:.2g}"))
    for name in sorted({cases[number].name for number in near}):
        alike = [number for number, case in enumerate(cases) if _function(kind, case.name) == _function(kind, name)]
        left_out = sum(len(near.get(number, ())) for number in alike)
        total = sum(len(next(iter(cases[number].inputs.values()))) for number in alike)
        if left_out == total:
            lines.append(f"{name}: the answers of all {total} rows hang on near ties, so it cannot be compared")
    return lines


def _function(kind, name):
    """What computes a signature: a function of the kind, or its name, of those that are no function."""
    return kind.functions[name].function if name in kind.functions else name
