"""Attention within a band: each position and the `window` positions before it, in time and memory `O(time * window)`.

Positions are cut into chunks as long as the window, so that a chunk looks at itself and at the one before. Products
over `(chunk, 2 chunk)` hold the band as a slanted strip. `straighten` turns it into a rectangle whose columns are
distances, and `slant` does the reverse. Both are a pad and a reshape.
"""

from keras import ops


def straighten(strip):
    """`(..., c, 2c)` -> `(..., c, c)`: `band[i, y] = strip[i, i + y]`; the distance of column `y` is `c - y`."""
    *_, rows, columns = ops.shape(strip)
    flat = ops.reshape(strip, (-1, rows * columns))
    flat = ops.pad(flat, ((0, 0), (0, rows)))
    band = ops.reshape(flat, (-1, rows, columns + 1))[:, :, :rows]
    return ops.reshape(band, (*ops.shape(strip)[:-2], rows, rows))


def slant(band):
    """`(..., c, c)` -> `(..., c, 2c)`: `strip[i, i + y] = band[i, y]`, 0 elsewhere."""
    rows = ops.shape(band)[-1]
    flat = ops.reshape(band, (-1, rows, rows))
    flat = ops.reshape(ops.pad(flat, ((0, 0), (0, 0), (0, rows + 1))), (-1, rows * (2 * rows + 1)))
    strip = flat[:, : 2 * rows * rows]
    return ops.reshape(strip, (*ops.shape(band)[:-2], rows, 2 * rows))


def chunked(x, length):
    """`(batch, heads, time, d)` -> `(batch, heads, chunks, length, d)`."""
    batch, heads, time, depth = ops.shape(x)
    return ops.reshape(x, (batch, heads, time // length, length, depth))


def with_previous(chunks):
    """Each chunk behind the one before it: `(batch, heads, n, c, d)` -> `(batch, heads, n, 2c, d)`."""
    before = ops.pad(chunks, ((0, 0), (0, 0), (1, 0), (0, 0), (0, 0)))[:, :, :-1]
    return ops.concatenate([before, chunks], axis=3)


def least(one, other):
    """The smaller of two sizes, of which either may be a tensor."""
    if isinstance(one, int) and isinstance(other, int):
        return min(one, other)
    return ops.minimum(one, other)


def most(one, other):
    """The larger of two sizes, of which either may be a tensor."""
    if isinstance(one, int) and isinstance(other, int):
        return max(one, other)
    return ops.maximum(one, other)


def soft_span(scores, span):
    """`span exp(scores) / sum(span exp(scores))` over the last axis, float32; all 0 where `span` is nowhere positive.

    Only scores within the span enter the maximum that is subtracted. So nothing overflows, and no gradient is NaN at
    the end of the span, where the logarithm of a mask would be -inf.
    """
    scores = ops.cast(scores, "float32")
    seen = span > 0
    scores = ops.where(seen, scores, -1e9)
    top = ops.stop_gradient(ops.max(scores, axis=-1, keepdims=True))
    weights = ops.where(seen, span * ops.exp(scores - top), 0.0)
    total = ops.sum(weights, axis=-1, keepdims=True)
    return weights / ops.where(total > 0, total, 1.0)
