"""How good a model is while it trains: unsmoothed nll, perplexity, accuracy, all per token.

Sums are returned instead of means, so that batches of different sizes add up exactly. Under
`model.compile`, Keras' own metrics take the same weights through `weighted_metrics`.
"""

import math

from keras import ops

from zoo.training.losses import smoothed_cross_entropy


def token_sums(labels, logits, weights):
    """(sum of w * -log p_y, sum of w * [argmax = y], sum of w) as one tensor of shape (3,).

    Shapes: labels and weights (batch, time), logits (batch, time, vocabulary).
    """
    logits, weights = ops.cast(logits, "float32"), ops.cast(weights, "float32")
    nll = smoothed_cross_entropy(labels, logits, 0.0)
    correct = ops.equal(ops.argmax(logits, axis=-1), ops.cast(labels, "int32"))
    parts = (nll, ops.cast(correct, "float32"), ops.ones_like(nll))
    # `where`, so that a non-finite value under a zero weight stays out of the sum.
    return ops.stack([ops.sum(ops.where(weights > 0, weights * part, 0.0)) for part in parts])


MONITORS = {"nll": lambda scores: scores["nll"], "accuracy": lambda scores: 1.0 - scores["accuracy"]}  # less is better


def summarise(nll, correct, tokens):
    """Per-token {"nll", "perplexity", "accuracy"} from totals over a data set.

    Raises:
        ValueError: there is no token with a positive weight.
    """
    if tokens <= 0:
        raise ValueError(
            f"expected at least one token with a positive weight, received {tokens}. Is the validation set empty?"
        )
    mean = float(nll / tokens)
    perplexity = math.exp(mean) if mean < 700 else math.inf
    return {"nll": mean, "perplexity": perplexity, "accuracy": float(correct / tokens)}
