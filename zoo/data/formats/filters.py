"""What is taken out of examples before training, and what of the training is in the test: pure functions that count."""

from collections.abc import Callable

from zoo.data.formats.examples import Examples

_FEW = 5
UNITS: dict[str, Callable[[str, str], int]] = {  # (text, kind of examples) -> its length
    "words": lambda text, kind: len(words_of(text, kind)),
    "characters": lambda text, kind: len(text),
}


def words_of(text: str, kind: str = "") -> list[str]:
    """The words of a text, between white space; of tagged words what one space separates."""
    return text.split(" ") if kind == "tagged" else text.split()


def filter_by_length(
    examples: Examples, shortest: int = 0, longest: int | None = None, ratio: float | None = None, unit: str = "words"
) -> tuple[Examples, dict[str, int]]:
    """(the examples that stay, how many there were, stayed, and went for which reason).

    Args:
        examples: of any kind but running text.
        shortest: the least length of each text of an example: of a pair both sides, of two texts to compare both.
        longest: the greatest length of each.
        ratio: of a pair, how many times as long as the other side one may be.
        unit: "words", separated by white space, or "characters".

    Raises:
        ValueError: the limits contradict each other, or do not fit the kind.
    """
    _check(examples, shortest, longest, ratio, unit)
    measure = UNITS[unit]
    indices, counts = [], {"read": len(examples), "kept": 0, "too short": 0, "too long": 0, "unequal lengths": 0}
    for index, (text, answer) in enumerate(zip(examples.inputs, examples.answers, strict=True)):
        lengths = [measure(each, examples.kind) for each in _texts(examples.kind, text, answer)]
        if min(lengths) < shortest:
            counts["too short"] += 1
        elif longest is not None and max(lengths) > longest:
            counts["too long"] += 1
        elif ratio is not None and max(lengths) > ratio * min(lengths):
            counts["unequal lengths"] += 1
        else:
            indices.append(index)
    counts["kept"] = len(indices)
    return examples.take(indices), counts


def duplicates(train: Examples, test: Examples) -> dict:
    """The examples of `test` whose input is one of `train`, exactly.

    Returns:
        `count` and `share` of them, `same_answer`, how many of them are answered alike in `train`, and `first`, where
        the first few stand in both.
    """
    known = {}
    for index, (text, answer) in enumerate(zip(train.inputs, train.answers, strict=True)):
        known.setdefault(text, (index, set()))[1].add(answer)
    repeated = [index for index, text in enumerate(test.inputs) if text in known]
    return {
        "count": len(repeated),
        "share": round(len(repeated) / max(len(test), 1), 6),
        "same_answer": sum(test.answers[index] in known[test.inputs[index]][1] for index in repeated),
        "first": [f"{test.where(index)} is {train.where(known[test.inputs[index]][0])}" for index in repeated[:_FEW]],
    }


def without(train: Examples, test: Examples) -> tuple[Examples, int]:
    """(the examples of `train` whose input is not in `test`, how many were left out)."""
    held_out = set(test.inputs)
    indices = [index for index, text in enumerate(train.inputs) if text not in held_out]
    return train.take(indices), len(train) - len(indices)


def _texts(kind, text, answer):
    """The texts of an example: an answer counts where it is one."""
    return [text, answer] if kind == "pairs" else [text] if isinstance(text, str) else list(text)


def _check(examples, shortest, longest, ratio, unit):
    if unit not in UNITS:
        raise ValueError(f"unit must be one of {', '.join(UNITS)}; received {unit!r}.")
    if examples.kind == "running":
        raise ValueError("Running text is one text and has no examples to filter; received kind 'running'.")
    if shortest < 0 or longest is not None and longest < max(shortest, 1):
        raise ValueError(
            f"Expected 0 <= shortest <= longest, and longest at least 1; received {shortest} and {longest}."
        )
    if ratio is not None and (examples.kind != "pairs" or ratio < 1):
        raise ValueError(f"ratio is for pairs, and at least 1; received {ratio} for {examples.kind}.")
