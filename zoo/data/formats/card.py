"""The data card: what a run was trained and tested on, in numbers, for the run's folder."""

from collections import Counter
from collections.abc import Iterable
from itertools import combinations

import numpy as np

from zoo.data.formats.examples import Examples
from zoo.data.formats.filters import UNITS, duplicates, words_of

_QUANTILES = {"least": 0.0, "median": 0.5, "p90": 0.9, "p99": 0.99, "most": 1.0}
_FEW = 20


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
        texts = list(_texts(part, side))
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


def _texts(part, side):
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
    for text in _texts(part, side):
        characters.update(text)
        words.update(words_of(text, part.kind))
    return characters, words


def _new_items(counts, known):
    new = Counter({each: count for each, count in counts.items() if each not in known})
    total = counts.total()
    return {
        "different": len(new),
        "share": round(new.total() / total, 6) if total else 0.0,
        "first": [each for each, _ in sorted(new.items(), key=lambda item: (-item[1], item[0]))[:_FEW]],
    }
