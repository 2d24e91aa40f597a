"""What is done with examples that were read: they are filtered, cut into splits, and described in a card."""

import dataclasses
import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import combinations

import numpy as np

from zoo.core.wording import quantity
from zoo.data.formats.examples import Examples

_FEW = 5
UNITS: dict[str, Callable[[str, str], int]] = {  # (text, kind of examples) -> its length
    "words": lambda text, kind: len(words_of(text, kind)),
    "characters": lambda text, kind: len(text),
}
_LEAST = 0.5  # of the share that was asked for, in inputs that differ; below it the next ones in order move over
_QUANTILES = {"least": 0.0, "median": 0.5, "p90": 0.9, "p99": 0.99, "most": 1.0}
_SHOWN = 20


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


def place_in_split(text: str | tuple[str, str]) -> float:
    """The place of an input between 0 and 1.

    >>> from zoo.data.formats.preparing import place_in_split
    >>> round(place_in_split("Dogs bark"), 6)
    0.659273
    """
    data = text if isinstance(text, str) else "\t".join(text)
    return int.from_bytes(hashlib.sha256(data.encode()).digest()[:8], "big") / 2**64


def split_by_hash(examples: Examples, valid: float = 0.1, test: float = 0.0) -> dict[str, Examples]:
    """Examples by split, on every machine alike: "train", and "valid" and "test" where their share is not 0.

    The hash is SHA-256 of the input in UTF-8; of two texts a TAB joins them. Its first eight bytes, read as a
    big-endian number and divided by 2^64, are the place of the input between 0 and 1. Below `test` it is in the test
    part, below `test + valid` in the validation, and else in the training. So equal inputs are on one side, whatever
    their answers, and an example stays where it is when others are added. This rule will not change.

    A small file can have too few inputs below a limit by chance. A part has therefore at least half of its share of
    the inputs that differ (rounded up): those with the next larger places. Running text has no examples to hash: its
    beginning is for training, then comes the validation, then the test; each part ends at the end of a line. The notes
    of each part are those of all, and say so.

    Raises:
        ValueError: a share is negative, they leave nothing for training, or there are fewer inputs than parts.
    """
    if not (0 <= valid < 1 and 0 <= test < 1 and valid + test < 1):
        raise ValueError(
            f"valid and test are shares from 0 on that leave some for training; received valid={valid}, test={test}."
        )
    notes = tuple(f"in all parts together, {note}" for note in examples.notes)
    examples = dataclasses.replace(examples, notes=notes)
    shares = {name: share for name, share in (("test", test), ("valid", valid)) if share > 0}
    if examples.kind == "running":
        return _cut(examples, {name: shares[name] for name in reversed(shares)})
    places = {text: place_in_split(text) for text in dict.fromkeys(examples.inputs)}
    ordered = sorted(places, key=lambda text: (places[text], text))
    if len(ordered) <= len(shares):
        raise ValueError(
            f"{_of(examples)}{quantity(len(ordered), 'different input')} cannot be cut into "
            f"{', '.join(['train', *reversed(shares)])}: expected at least one for each. Give more examples, or a file "
            "for each part."
        )
    side, start, limit = {}, 0, 0.0
    for left, (name, share) in zip(range(len(shares), 0, -1), shares.items(), strict=True):
        limit += share
        end = sum(places[text] < limit for text in ordered)
        least = max(1, math.ceil(len(ordered) * share * _LEAST))
        end = min(max(end, start + least), len(ordered) - left)
        side |= dict.fromkeys(ordered[start:end], name)
        start = end
    indices = {name: [] for name in ("train", *reversed(shares))}
    for index, text in enumerate(examples.inputs):
        indices[side.get(text, "train")].append(index)
    return {name: examples.take(chosen) for name, chosen in indices.items()}


def _of(examples):
    """Where the examples come from, as the beginning of a message."""
    return f"{', '.join(examples.files)}: " if examples.files else ""


def _cut(examples, shares):
    """Running text, part after part; `shares` of all but the first, in their order."""
    text, parts, start, limit = examples.inputs[0], {}, 0, 1 - sum(shares.values())
    names = ["train", *shares]
    for name, share in zip(names, [*shares.values(), 1.0], strict=True):
        end = len(text) if name == names[-1] else text.find("\n", int(limit * len(text))) + 1
        if not text[start : end or len(text)].strip() or not end:
            raise ValueError(
                f"{_of(examples)}a text of {quantity(len(text), 'character')} has too few lines to be cut into "
                f"{', '.join(names)}, for each part ends at the end of a line. Give more text, or a file for each part."
            )
        parts[name] = Examples("running", [text[start:end]], [""], examples.files, examples.places, examples.notes)
        start, limit = end, limit + share
    return parts


def card(splits: dict[str, Examples], licence: str = "", rules_off: Iterable[str] = ()) -> dict:
    """Describes the splits of a corpus; everything in it can be written as JSON.

    Args:
        splits: examples by split, such as "train", "valid" and "test".
        licence: of the data, as its owner words it.
        rules_off: rules of mending that were not applied, of `zoo.data.formats.base.RULES`.

    Returns:
        `licence`, `rules_off`, `splits` (files, number of examples, quantiles of the lengths, labels or tags
        with their counts, notes of the reader), `unseen` (what each other split has that "train" never had: characters
        and words) and `duplicates` (exact ones, between each two splits).
    """
    train = splits.get("train")
    others = {name: part for name, part in splits.items() if name != "train"} if train else {}
    return {
        "licence": licence,
        "rules_off": list(rules_off),
        "splits": {name: _describe(part) for name, part in splits.items()},
        "unseen": _unseen(train, others) if train else {},
        "duplicates": {
            f"{later} in {earlier}": duplicates(splits[earlier], splits[later])
            for earlier, later in combinations(splits, 2)
            if splits[earlier].kind != "running"
        },
    }


def _describe(part):
    lengths = {}
    for side in ("input", "answer") if part.kind == "pairs" else ("input",):
        texts = list(_side(part, side))
        by_unit = {unit: [length(text, part.kind) for text in texts] for unit, length in UNITS.items()}
        lengths[side] = {unit: _quantiles(each) for unit, each in by_unit.items()}
    facts = {
        "kind": part.kind,
        "files": list(part.files),
        "examples": len(part),
        "lengths": lengths,
        "notes": list(part.notes),
    }
    if part.kind in ("labelled", "compared"):
        facts["labels"] = dict(Counter(part.answers).most_common())
    if part.kind == "tagged":
        facts["tags"] = dict(Counter(tag for tags in part.answers for tag in tags.split(" ")).most_common())
    return facts


def _side(part, side):
    """The texts of one side; of two texts to compare both."""
    for each in part.inputs if side == "input" else part.answers:
        yield from [each] if isinstance(each, str) else each


def _quantiles(lengths):
    if not lengths:
        return {}
    values = np.quantile(lengths, list(_QUANTILES.values()), method="higher")
    return {"total": sum(lengths)} | {name: int(value) for name, value in zip(_QUANTILES, values, strict=True)}


def _unseen(train, others):
    """What a model meets for the first time in a split, by side: characters and words, and the share of all of them."""
    result = {}
    for side in ("input", "answer") if train.kind == "pairs" else ("input",):
        known_characters, known_words = _count(train, side)
        for name, part in others.items():
            characters, words = _count(part, side)
            result.setdefault(name, {})[side] = {
                "characters": _new_items(characters, known_characters),
                "words": _new_items(words, known_words),
            }
    return result


def _count(part, side):
    characters, words = Counter(), Counter()
    for text in _side(part, side):
        characters.update(text)
        words.update(words_of(text, part.kind))
    return characters, words


def _new_items(counts, known):
    new = Counter({each: count for each, count in counts.items() if each not in known})
    total = counts.total()
    return {
        "different": len(new),
        "share": round(new.total() / total, 6) if total else 0.0,
        "first": [each for each, _ in sorted(new.items(), key=lambda item: (-item[1], item[0]))[:_SHOWN]],
    }
