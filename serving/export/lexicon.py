"""Which target ids translate a source id: IBM Model 1, estimated from the pairs of a training, in NumPy.

`p(t | s)` by expectation and maximisation: over the pairs `(x, y)` of ids,

    c(s, t) = sum_pairs sum_j [y_j = t] sum_i [x_i = s] p(t | s) / sum_k p(t | x_k)
    p(t | s) = c(s, t) / sum_t' c(s, t')

It begins with equal probabilities. The end of sentence, which every source has, is the model's empty word: it takes
what no piece of the source explains.

Reference: Brown et al. 1993, "The Mathematics of Statistical Machine Translation", section 4.1; candidates of each
word from such a table are of https://arxiv.org/abs/1412.2007 (Jean et al. 2015).
"""

import numpy as np

ROUNDS = 5
MOST_LINKS = 20_000_000  # pairs of a source and a target position that are looked at; the process then takes 1.3 GB


def links(sources, targets, most=MOST_LINKS):
    """`(source ids, target ids, places)` of all links, each `(n,)`.

    A link is position i of a source with position j of its target. `places` numbers the target positions, so that the
    links of one position have one number. Of a corpus with more than `most` links every k-th pair is read.

    Raises:
        ValueError: there is no pair, or not as many targets as sources.
    """
    if not sources or len(sources) != len(targets):
        raise ValueError(
            "A lexicon is estimated from pairs: expected as many targets as sources and at least one; received "
            f"{len(sources)} and {len(targets)}."
        )
    lengths = np.array([[len(source), len(target)] for source, target in zip(sources, targets, strict=True)], "int64")
    every = max(1, -(-int(lengths.prod(1).sum()) // most))
    sources, targets, lengths = sources[::every], targets[::every], lengths[::every]
    flat = [np.fromiter((each for ids in side for each in ids), "int32") for side in (sources, targets)]
    starts = np.cumsum(lengths[:, 0]) - lengths[:, 0]
    wide = np.repeat(lengths[:, 0], lengths[:, 1])  # of each target position: the length of its source
    places = np.repeat(np.arange(len(wide), dtype="int32"), wide)
    inside = np.arange(len(places), dtype="int64") - np.repeat(np.cumsum(wide) - wide, wide)
    at = np.repeat(np.repeat(starts, lengths[:, 1]), wide) + inside
    return flat[0][at], flat[1][places], places


def model_1(linked, vocabulary, rounds=ROUNDS):
    """`(source ids, target ids, probabilities)` of all pairs of ids that are linked, by Model 1.

    Args:
        linked: `links`.
        vocabulary: number of target ids.
        rounds: of expectation and maximisation.
    """
    source, target, places = linked
    keys, which = np.unique(source.astype("int64") * vocabulary + target, return_inverse=True)
    which = which.astype("int32")
    owners, named = keys // vocabulary, keys % vocabulary
    probabilities = np.ones(len(keys), "float32")
    for _ in range(rounds):
        shares = probabilities[which]
        shares /= np.bincount(places, shares).astype("float32")[places]
        counts = np.bincount(which, shares, len(keys))
        probabilities = (counts / np.bincount(owners, counts)[owners]).astype("float32")
    return owners, named, probabilities


def likeliest(lexicon, size, width, fill):
    """`(size, width)` int32: the likeliest targets of each source id, the best first; `fill` where it has fewer."""
    owners, named, probabilities = lexicon
    order = np.lexsort((named, -probabilities, owners))
    owners, named = owners[order], named[order]
    rank = np.arange(len(owners)) - np.searchsorted(owners, owners)
    kept = rank < width
    table = np.full((size, width), fill, "int32")
    table[owners[kept], rank[kept]] = named[kept]
    return table
