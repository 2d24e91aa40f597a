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


def filtered(
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
    kept, counts = [], {"read": len(examples), "kept": 0, "too short": 0, "too long": 0, "unequal lengths": 0}
    for index, (text, answer) in enumerate(zip(examples.inputs, examples.answers, strict=True)):
        lengths = [measure(each, examples.kind) for each in _texts(examples.kind, text, answer)]
        if min(lengths) < shortest:
            counts["too short"] += 1
        elif longest is not None and max(lengths) > longest:
            counts["too long"] += 1
        elif ratio is not None and max(lengths) > ratio * min(lengths):
            counts["unequal lengths"] += 1
        else:
            kept.append(index)
    counts["kept"] = len(kept)
    return examples.take(kept), counts


def truncated(examples: Examples, longest: int, unit: str = "words") -> tuple[Examples, int]:
    """(the examples with their texts cut to the first `longest` words or characters, how many were cut).

    The target of a pair is never cut, because it would no longer be the translation; of tagged words the tags go with
    their words, and the unit is words.
    """
    _check(examples, 0, longest, None, unit)
    if examples.kind == "tagged" and unit != "words":
        raise ValueError(f"Tagged words are cut by words; received the unit {unit!r}.")
    cut = {"tagged": _first_tokens}.get(examples.kind, _first_words) if unit == "words" else _first_characters
    inputs, answers = [], []
    for text, answer in zip(examples.inputs, examples.answers, strict=True):
        inputs.append(cut(text, longest) if isinstance(text, str) else tuple(cut(each, longest) for each in text))
        answers.append(_first_tokens(answer, longest) if examples.kind == "tagged" else answer)
    count = sum(one != other for one, other in zip(inputs, examples.inputs, strict=True))
    return Examples(examples.kind, inputs, answers, examples.files, examples.places, examples.notes), count


def duplicates(train: Examples, test: Examples) -> dict:
    """The examples of `test` whose input is one of `train`, exactly.

    Returns:
        `count` and `share` of them, `same_answer`, how many of them are answered alike in `train`, and `first`, where
        the first few stand in both.
    """
    known = {}
    for index, (text, answer) in enumerate(zip(train.inputs, train.answers, strict=True)):
        known.setdefault(text, (index, set()))[1].add(answer)
    found = [index for index, text in enumerate(test.inputs) if text in known]
    return {
        "count": len(found),
        "share": round(len(found) / max(len(test), 1), 6),
        "same_answer": sum(test.answers[index] in known[test.inputs[index]][1] for index in found),
        "first": [f"{test.where(index)} is {train.where(known[test.inputs[index]][0])}" for index in found[:_FEW]],
    }


def without(train: Examples, test: Examples) -> tuple[Examples, int]:
    """(the examples of `train` whose input is not in `test`, how many were left out)."""
    held_out = set(test.inputs)
    kept = [index for index, text in enumerate(train.inputs) if text not in held_out]
    return train.take(kept), len(train) - len(kept)


def _texts(kind, text, answer):
    """The texts of an example: an answer counts where it is one."""
    return [text, answer] if kind == "pairs" else [text] if isinstance(text, str) else list(text)


def _first_characters(text, count):
    return text[:count]


def _first_tokens(text, count):
    return " ".join(text.split(" ")[:count])


def _first_words(text, count):
    """The first words with the white space between them as it is."""
    if len(text.split()) <= count:
        return text
    return text.removesuffix(text.split(maxsplit=count)[-1]).rstrip()


def _check(examples, shortest, longest, ratio, unit):
    if unit not in UNITS:
        raise ValueError(f"unit must be one of {', '.join(UNITS)}; received {unit!r}.")
    if examples.kind == "running":
        raise ValueError("Running text is one text and has no examples to filter or to cut; received kind 'running'.")
    if shortest < 0 or longest is not None and longest < max(shortest, 1):
        raise ValueError(
            f"Expected 0 <= shortest <= longest, and longest at least 1; received {shortest} and {longest}."
        )
    if ratio is not None and (examples.kind != "pairs" or ratio < 1):
        raise ValueError(f"ratio is for pairs, and at least 1; received {ratio} for {examples.kind}.")
