"""Cuts examples into training, validation and test by a hash of the input: the same on every machine, for ever.

The hash is SHA-256 of the input in UTF-8; of two texts a TAB joins them. Its first eight bytes, read as a big-endian
number and divided by 2^64, are the place of the input between 0 and 1. Below `test` it is in the test part, below
`test + valid` in the validation, and else in the training. So equal inputs are on one side, whatever their answers, and
an example stays where it is when others are added. This rule will not change.
"""

import dataclasses
import hashlib
import math

from zoo.core.wording import quantity
from zoo.data.formats.examples import Examples

_LEAST = 0.5  # of the share that was asked for, in inputs that differ; below it the next ones in order move over


def place_in_split(text: str | tuple[str, str]) -> float:
    """The place of an input between 0 and 1.

    >>> from zoo.data.formats.splits import place_in_split
    >>> round(place_in_split("Dogs bark"), 6)
    0.659273
    """
    data = text if isinstance(text, str) else "\t".join(text)
    return int.from_bytes(hashlib.sha256(data.encode()).digest()[:8], "big") / 2**64


def split_by_hash(examples: Examples, valid: float = 0.1, test: float = 0.0) -> dict[str, Examples]:
    """Examples by split: "train", and "valid" and "test" where their share is not 0.

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
