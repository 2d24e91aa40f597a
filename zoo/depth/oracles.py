"""The depth at which a token should have left: the smallest one whose gain is worth its cost.

Every oracle is a constant for the loss that trains an exit rule. Depths are the last axis, from 1; among equal
scores the smallest depth wins. Reference: https://openreview.net/forum?id=SJg7KhVKPH, section 3 (Elbayad et al. 2020).
"""

from keras import ops


def first_largest(scores):
    """Index of the largest of the last axis, the first among equals, int32."""
    highest = ops.max(scores, axis=-1, keepdims=True)
    return ops.cast(ops.argmax(ops.cast(scores == highest, "int32"), axis=-1), "int32")


def best_depth(scores, price):
    """`delta(argmax_n scores_n - price * n)`: `(..., N)` scores -> `(..., N)` with one 1, float32, without gradient."""
    scores = ops.cast(ops.stop_gradient(scores), "float32")
    num_layers = scores.shape[-1]
    cost = price * ops.arange(1, num_layers + 1, dtype="float32")
    return ops.one_hot(first_largest(scores - cost), num_layers, dtype="float32")


def sequence_oracle(scores, weights, price):
    """One depth for a whole sequence: `argmax_n sum_t s_t^n - price * n`, over the tokens whose weight is above 0.

    Args:
        scores: `(batch, time, N)`: log-likelihoods LL of the tokens at each depth, or 1 where the best token is right.
        weights: `(batch, time)`, 0 for padding.
        price: lambda, of one more layer; in nats a sequence for LL, in tokens for correctness.

    Returns: `(batch, 1, N)` with one 1 a row.
    """
    return best_depth(ops.sum(masked(scores, weights), axis=1, keepdims=True), price)


def token_oracle(scores, weights, price, width=0.0):
    """A depth for each token: `argmax_n sum_t' k(t, t') s_t'^n - price * n`, `k(t, t') = exp(-|t - t'|^2 / width)`.

    The scores of the neighbouring tokens count, too; with `width` (the paper's sigma) 0 only the token itself counts.
    (Equation 16 of the paper prints `C_t^n` behind the sum; `C_t'^n` is meant.)

    Args, returns: as of `sequence_oracle`, but `(batch, time, N)`, and `price` in nats or in tokens a token.
    """
    scores = masked(scores, weights)
    if width:
        place = ops.arange(scores.shape[1], dtype="float32")
        near = ops.exp(-((place[:, None] - place[None, :]) ** 2) / width)
        scores = ops.einsum("ts,bsn->btn", near, scores)
    return best_depth(scores, price)


def masked(scores, weights):
    scores = ops.cast(scores, "float32")
    return ops.where(ops.cast(weights, "float32")[:, :, None] > 0, scores, 0.0)
