"""What the exported forms must answer: the answers of the Keras model, and how far rounding moves them.

Two correct float32 programs add the same numbers in different orders, so their results differ by rounding.

* **Numbers.** Most models keep such a difference small. A recurrence whose state amplifies small changes, as that of a
  trained SimpleRNN does, makes it large over many steps, in the Keras model as in any exported form. Of such a model a
  fixed tolerance asks for more than float32 can give. The fair question is then whether an exported form differs from
  the Keras model by more than the Keras model differs from itself when its weights are rounded otherwise.
* **Near ties.** Where two tokens have probabilities that differ by 2e-8, or a random number lies at the border between
  two tokens, the order in which float32 numbers are added decides which of them is chosen, and all that follows. The
  answer of such a row tells nothing about an exported form. Whether a row is one is asked of the Keras model itself:
  its weights are moved by a few float32 steps, and so are the random numbers and the borders of a sample. A row whose
  answer changes does not count; a row that the model always answers alike must be answered so by every form.
"""

import contextlib
from dataclasses import dataclass

import numpy as np

from serving.export.parity.check import TIMES, Case, place_of

FEW = 2
DRAWS = 3  # of moved weights, by which numbers are measured
TIE_DRAWS = 8  # the same, by which near ties are found
EDGE = 1e-5  # how far rounding may move a cumulated probability against a random number, or against `top_p`


def expectation(kind, tokenizers, texts):
    """What the exported forms are asked, and what they must answer: a list of `serving.export.parity.check.Case`.

    Args:
        kind: `serving.export.kinds.base.Kind`.
        tokenizers: a `zoo.text.Tokenizer` for each of its sides.
        texts: strings for the text signature.
    """
    cases = []
    for name, inputs in kind.cases([tokenizer.vocab_size for tokenizer in tokenizers]):
        outputs = kind.expected_logits(**inputs) if name == "drive" else kind.ask(name, **inputs)
        cases.append(Case(name, inputs, outputs))
    # Texts are answered one at a time here, because in a batch the answers must be the same.
    for batch in batches(kind, texts):
        answers = [kind.answer(tokenizers, text) for text in batch]
        outputs = {key: stack([answer[key] for answer in answers]) for key in answers[0]}
        cases.append(Case("serving_default", kind.make_inputs(batch), outputs))
    return cases


def batches(kind, texts):
    """The lists of texts that the text signature is asked, in order; of a large network `FEW` texts."""
    texts = texts[:FEW] if kind.large else texts
    return list(filter(None, (list(texts), list(kind.extremes()))))


def stack(values):
    """Arrays of one rank stacked to one array; shorter ones are padded with zeros or with empty strings."""
    values = [np.asarray(value) for value in values]
    sizes = np.max([value.shape for value in values], axis=0).astype(int)
    rows = np.zeros((len(values), *sizes), dtype=np.result_type(*values))
    for index, value in enumerate(values):
        rows[(index, *map(slice, value.shape))] = value
    return rows


@contextlib.contextmanager
def nudge(model, seed, steps=1):
    """A context in which each float32 weight is so many float32 larger or smaller, by a seeded coin."""
    rng = np.random.default_rng(seed)
    before = model.get_weights()
    model.set_weights([_move(values, rng, steps) if values.dtype == "float32" else values for values in before])
    try:
        yield model
    finally:
        model.set_weights(before)


def _move(values, rng, steps):
    goal = np.where(rng.integers(0, 2, values.shape), np.inf, -np.inf)
    for _ in range(steps):
        values = np.nextafter(values, goal, dtype="float32")
    return values


def sensitivity(cases, kind, tokenizers, texts):
    """For each case `{output: the largest change}` of its numbers over `DRAWS` of `nudge`.

    A change is absolute for numbers up to 1 and relative for larger ones. A draw does not count for a case whose token
    ids it changes, because the numbers of other tokens are no measure.

    Args:
        cases: the result of `expectation`, of which some rows may be left out.
        kind, tokenizers, texts: what it was called with.
    """
    spreads = [{key: 0.0 for key, value in case.outputs.items() if value.dtype.kind == "f"} for case in cases]
    for seed in range(DRAWS):
        with nudge(kind.model, seed):
            results = expectation(kind, tokenizers, texts)
        for case, result, spread in zip(cases, results, spreads, strict=True):
            sides = case.outputs, result.outputs
            pairs = {key: [case.counted(side[key]) for side in sides] for key in case.outputs}
            if all(key in spread or np.array_equal(*pair) for key, pair in pairs.items()):
                for key in spread:
                    one, other = pairs[key]
                    change = np.abs(other - one) / np.maximum(1, np.abs(one))
                    spread[key] = max(spread[key], float(change.max(initial=0.0)))
    return spreads


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
    for seed in range(TIE_DRAWS):
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
