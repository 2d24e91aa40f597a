"""Small tasks whose answers are known: texts to copy or to write backwards, and pointers to follow."""

import numpy as np

from zoo.text.special import BOS, EOS

FIRST = 4  # ids below it are those of padding and of the ends of a text


def make_text_batch(sources, lengths, targets):
    """A batch of a model that writes `targets (batch, time)`, of which each row has its length, then the end."""
    count, longest = sources.shape
    labels = np.pad(targets, ((0, 0), (0, 1)))
    labels[np.arange(count), lengths] = EOS
    return {
        "source_ids": sources.astype("int32"),
        "source_lengths": lengths.astype("int32"),
        "target_ids": np.pad(targets, ((0, 0), (1, 0)), constant_values=BOS).astype("int32"),
        "labels": labels.astype("int32"),
        "weights": (np.arange(longest + 1)[None] <= lengths[:, None]).astype("float32"),
    }


def draw_texts(random, count, lengths, longest, symbols):
    """`(ids (count, longest), lengths (count,))`: random symbols, 0 behind the length, between `lengths` inclusive."""
    lengths = random.integers(lengths[0], lengths[1] + 1, count)
    ids = random.integers(FIRST, FIRST + symbols, (count, longest))
    return np.where(np.arange(longest)[None] < lengths[:, None], ids, 0), lengths


def reverse(ids, lengths):
    """Each row's first `length` ids in the opposite order; what stands behind them stays."""
    place = np.arange(ids.shape[1])[None]
    source = np.where(place < lengths[:, None], lengths[:, None] - 1 - place, place)
    return np.take_along_axis(ids, source, axis=1)


def draw_pointers(random, count, time, letters=8, reach=3, share=0.6):
    """`(tokens, labels, hops)`, each `(count, time)`: letters, and pointers to one of `reach` places to their left.

    The label of a letter is itself, that of a pointer is the label of where it points, which may be a pointer again;
    `hops` says how many are followed. Tokens begin at `FIRST`, labels at 0.
    """
    labels = random.integers(0, letters, (count, time))
    pointer = random.random((count, time)) < share
    hops, tokens = np.zeros_like(labels), labels + FIRST
    for at in range(1, time):
        distance = random.integers(1, min(reach, at) + 1, count)
        rows = np.flatnonzero(pointer[:, at])
        source = at - distance[rows]
        labels[rows, at], hops[rows, at] = labels[rows, source], hops[rows, source] + 1
        tokens[rows, at] = FIRST + letters + distance[rows] - 1
    return tokens.astype("int32"), labels.astype("int32"), hops


def make_tag_batch(tokens, labels):
    """A batch of a tagger, all of whose positions count."""
    weights = np.ones(tokens.shape, "float32")
    lengths = np.full(len(tokens), tokens.shape[1], "int32")
    return {"token_ids": tokens, "lengths": lengths, "labels": labels, "weights": weights}
