"""The scores of a validation: negative log-likelihood (nll) without label smoothing, perplexity, accuracy, per token.

`token_sums` returns sums instead of means, so that batches of different sizes add up exactly. A compiled model gets the
same weights for Keras' own metrics through `weighted_metrics`.
"""

import math

from keras import ops

from zoo.training.losses import smoothed_cross_entropy


def token_sums(labels, logits, weights):
    """(sum of w * -log p_y, sum of w * [argmax = y], sum of w) as one tensor of shape (3,).

    For labels that are numbers, with outputs of the same shape: (sum of w * (y - output)^2, NaN, sum of w). The square
    is the negative log-likelihood of a normal distribution up to a constant, and there is no accuracy.

    Shapes: labels and weights (batch, time), logits (batch, time, vocabulary).
    """
    return ops.stack([ops.sum(part) for part in _weighted_scores(labels, logits, weights)])


def row_sums(labels, logits, weights):
    """As `token_sums`, but for each row by itself: (batch, 3)."""
    return ops.stack([ops.sum(part, axis=-1) for part in _weighted_scores(labels, logits, weights)], axis=-1)


def _weighted_scores(labels, logits, weights):
    logits, weights = ops.cast(logits, "float32"), ops.cast(weights, "float32")
    if len(labels.shape) == len(logits.shape):
        nll = ops.square(labels - logits)
        correct = ops.full_like(nll, math.nan)
    else:
        nll = smoothed_cross_entropy(labels, logits, 0.0)
        correct = ops.equal(ops.argmax(logits, axis=-1), ops.cast(labels, "int32"))
    # `where`, so that a value that is not finite does not reach the sum if its weight is zero.
    for part in (nll, ops.cast(correct, "float32"), ops.ones_like(nll)):
        yield ops.where(weights > 0, weights * part, 0.0)


def _comparable(loss):
    """Infinity in place of NaN, which would compare as False with every number."""
    return math.inf if math.isnan(loss) else loss


# {name: function of the scores}; the model with the smaller result is better.
MONITORS = {
    "nll": lambda scores: _comparable(scores["nll"]),
    "accuracy": lambda scores: _comparable(1.0 - scores["accuracy"]),
    "wer": lambda scores: _comparable(scores["wer"]),  # the `score` of `zoo.training.fit` measures this,
    "entity_f1": lambda scores: _comparable(100.0 - scores["entity_f1"]),  # and the following
    "spearman": lambda scores: _comparable(100.0 - scores["spearman"]),
}


def summarise(nll, correct, tokens):
    """Per-token {"nll", "perplexity", "accuracy"} from totals over a data set; {"nll"} where the labels are numbers.

    Raises:
        ValueError: there is no token with a positive weight.
    """
    if tokens <= 0:
        raise ValueError(
            f"expected at least one token with a positive weight, received {tokens}. Is the validation set empty?"
        )
    mean = float(nll / tokens)
    if math.isnan(correct) and not math.isnan(nll):
        return {"nll": mean}
    perplexity = math.exp(mean) if mean < 700 else math.inf
    return {"nll": mean, "perplexity": perplexity, "accuracy": float(correct / tokens)}
