"""Two runs on the same test set, from what their evaluations kept: which is better, and where; without Keras."""

import numpy as np

from zoo import scores as scoring
from zoo.recipes import kept

TENTHS = 10  # parts of a running text


def compare(first, second, split=None):
    """Test two runs on the same test set by the paired bootstrap, see `zoo.scores.compare`.

    Args:
        first: a run folder, evaluated by `seqzoo evaluate`.
        second: another one, whose outputs are compared with those of the first.
        split: the name of the test set; by default "test", or the only one that both have.

    Returns:
        What `zoo.scores.compare` returns, `b` being the second; `split`, `sha256` of the test set, and `grouped_by`,
        "label", "length" or "part". `task` is the one of the recipes, and `scored_by` the one of `zoo.scores`. The
        rows of `differ` have their "input"; of a running text it says which characters.

    Raises:
        ValueError: a run was not evaluated, or the runs are of other tasks or were evaluated on other test sets.
    """
    split = split or kept.shared_split((first, second))
    return compare_kept(first, second, *(kept.read(each, split) for each in (first, second)))


def compare_kept(first, second, *sides):
    """What `compare` returns, of two records of `zoo.recipes.kept`; `first` and `second` name them in messages."""
    kept.check_same(first, second, *sides)
    name, options = _scored_by(first, second, *sides)
    if name == "language_model":
        *answers, references, sizes = _aligned(*sides)
        options, inputs = options | {"bytes": sizes}, sides[0].get("inputs")
        inputs = inputs or _places(references)
    else:
        answers, references, inputs = [side["outputs"] for side in sides], sides[0]["references"], sides[0]["inputs"]
    grouped_by, groups = _groups(sides[0], references)
    found = scoring.compare(name, *answers, references, groups, **options)
    for row in found["differ"]:
        row["input"] = inputs[row["example"]]
    task = {"task": sides[0]["task"], "split": sides[0]["split"], "sha256": sides[0]["sha256"], "scored_by": name}
    return task | {"grouped_by": grouped_by} | {key: value for key, value in found.items() if key != "task"}


def _scored_by(first, second, one, other):
    """(the name of the scores, their options). What one run takes for out of scope counts for the other, too."""
    told = [(side["scored_by"], side["options"]) for side in (one, other)]
    scoped = [each for each in told if each[0] == "out_of_scope"]
    if scoped and len(scoped) < 2:
        return scoped[0]
    if told[0] != told[1]:
        raise ValueError(
            f"{first} is scored by {told[0][0]} with {told[0][1]}, and {second} by {told[1][0]} with {told[1][1]}: "
            "expected two runs that are scored alike. Evaluate both with recipes that have the same settings there."
        )
    return told[0]


def _groups(side, references):
    """(what examples are grouped by, {name: numbers of the examples})."""
    if side["lengths"]:
        groups = scoring.length_groups(side["lengths"])
        return "length", {f"{group['from']}-{group['to']}": group["examples"] for group in groups}
    if "nats" in side:
        parts = np.array_split(np.arange(len(references)), min(TENTHS, len(references)))
        return "part", {f"{100 * place // len(parts)} %": part.tolist() for place, part in enumerate(parts)}
    groups = {}
    for example, label in enumerate(references):
        groups.setdefault(label, []).append(example)
    return "label", dict(sorted(groups.items()))


def _places(characters):
    """Which characters of a running text each window holds, in words."""
    ends = np.rint(np.cumsum(characters)).astype(int)
    return [f"characters {start + 1:,} to {end:,}" for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def _aligned(one, other):
    """(nats of the one, nats of the other, characters, bytes) of the same pieces of text.

    Two models whose windows are the same are compared window by window. Others cut the text at other places: there,
    pieces of equal length, each of about two windows, stand for the windows. What a window costs is spread evenly over
    its characters, so that nats move across the border of a piece at most; the totals stay.
    """
    lengths = [np.array(side["characters"]) for side in (one, other)]
    if lengths[0].shape == lengths[1].shape and np.allclose(*lengths):
        return one["nats"], other["nats"], one["characters"], one["bytes"]
    ends = [np.append(0.0, np.cumsum(each)) for each in lengths]
    borders = np.linspace(0, ends[0][-1], max(1, min(map(len, lengths)) // 2) + 1)

    def cut(side, name, ends):
        return np.diff(np.interp(borders, ends, np.append(0.0, np.cumsum(side[name])))).tolist()

    nats = [cut(side, "nats", at) for side, at in zip((one, other), ends, strict=True)]
    return *nats, np.diff(borders).tolist(), cut(one, "bytes", ends[0])
