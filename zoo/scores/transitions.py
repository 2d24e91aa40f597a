"""Which tag may follow which, where tags spell entities, and the likeliest sequence of tags that is allowed.

    IOB2:  I-TYPE follows B-TYPE or I-TYPE alone
    IOBES: I-TYPE and E-TYPE follow B-TYPE or I-TYPE, and each entity is ended

The sequence maximises sum_t log p(tag_t | x) over the allowed ones, by the algorithm of Viterbi (1967), in
O(words x tags^2). Where the likeliest tag of each word is allowed already, as it mostly is, nothing else is computed.
"""

import dataclasses
import re

import numpy as np

SCHEME = re.compile(r"([BIESLUM])-(.+)")
SAME = {"L": "E", "U": "S", "M": "I"}  # of BILOU and BMES
NEVER = -1e30  # log p of a tag of probability 0; a tag that is not allowed has -inf and stays behind it


@dataclasses.dataclass(frozen=True)
class Transitions:
    """Allowed transitions: `follows (tags, tags)` from a tag to the next, `begins (tags,)`, and `ends (tags,)`."""

    follows: np.ndarray
    begins: np.ndarray
    ends: np.ndarray


def transitions(labels):
    """The `Transitions` of tags that spell entities by IOB2 or IOBES; None of others, and of plain tags.

    Tags that have I-TYPE and no B-TYPE for some type are of IOB1 or of no scheme, where anything may follow anything.

    Example:
        >>> from zoo.scores.transitions import transitions
        >>> transitions(["B-PER", "I-PER", "O"]).follows.astype(int).tolist()  # I-PER does not follow O
        [[1, 1, 1], [1, 1, 1], [1, 0, 1]]
    """
    parts = [_parts(label) for label in labels]
    kinds = {kind for prefix, kind in parts if prefix in "IE"}
    if (
        None in {prefix for prefix, _ in parts}
        or not kinds
        or kinds - {kind for prefix, kind in parts if prefix == "B"}
    ):
        return None
    ended = {kind for prefix, kind in parts if prefix == "E"}  # types that must be ended, as in IOBES
    inside = np.array([prefix in "IE" for prefix, _ in parts])
    opens = np.array([prefix in "BI" for prefix, _ in parts])
    binding = np.array([prefix in "BI" and kind in ended for prefix, kind in parts])
    same = np.array([[one == other for _, other in parts] for _, one in parts])
    continues = opens[:, None] & inside[None, :] & same
    return Transitions(continues | ~inside[None, :] & ~binding[:, None], ~inside, ~binding)


def _parts(label):
    if label == "O":
        return "O", None
    match = SCHEME.fullmatch(label)
    return (SAME.get(match[1], match[1]), match[2]) if match else ("", None)


def likeliest(log_probabilities, allowed):
    """The ids of the likeliest allowed tags of a sentence.

    Args:
        log_probabilities: `(words, tags)`; those of impossible tags may be -inf.
        allowed: the `Transitions`.

    Returns:
        `(words,)` int64. Of sequences of the same probability it is one.
    """
    scores = np.maximum(np.asarray(log_probabilities, "float64"), NEVER)
    best = scores.argmax(axis=-1)
    if not len(best) or _is_allowed(best, allowed):
        return best
    steps, begins, ends = (np.where(each, 0.0, -np.inf) for each in (allowed.follows, allowed.begins, allowed.ends))
    total = scores[0] + begins
    before = np.empty((len(scores), scores.shape[1]), "int64")
    for word in range(1, len(scores)):
        paths = total[:, None] + steps
        before[word] = paths.argmax(axis=0)
        total = paths.max(axis=0) + scores[word]
    backwards = [int((total + ends).argmax())]
    for word in range(len(scores) - 1, 0, -1):
        backwards.append(int(before[word, backwards[-1]]))
    return np.array(backwards[::-1])


def likeliest_tags(probabilities, allowed):
    """(ids, their probabilities) of the likeliest tags of a sentence.

    Args:
        probabilities: `(words, tags)`.
        allowed: the `Transitions`; None where any tag may follow any.
    """
    if allowed is None:
        ids = probabilities.argmax(axis=-1)
    else:
        with np.errstate(divide="ignore"):
            ids = likeliest(np.log(probabilities.astype("float64")), allowed)
    return ids, probabilities[np.arange(len(ids)), ids]


def _is_allowed(ids, allowed):
    return allowed.begins[ids[0]] and allowed.ends[ids[-1]] and allowed.follows[ids[:-1], ids[1:]].all()
