"""Losses over padded sequences, and the scores of a validation, per token.

Label smoothing is that of Szegedy et al. 2016, "Rethinking the Inception Architecture", section 7; used for sequences
in "Attention Is All You Need", section 5.4. The scores are negative log-likelihood (nll) without smoothing, perplexity
and accuracy. `token_sums` returns sums instead of means, so that batches of different sizes add up exactly. A compiled
model gets the same weights for Keras' own metrics through `weighted_metrics`.
"""

import math
from functools import partial
from typing import Any

import keras
from keras import ops

from zoo.core.masks import wide
from zoo.core.protocols import Loss
from zoo.core.registry import register
from zoo.gradients.recompute import after, vjp


def smoothed_cross_entropy(labels, logits, smoothing):
    """The loss of each position; `labels` (batch, time), `logits` (batch, time, vocabulary).

    With log p_v = z_v - logsumexp(z), no log-softmax over the vocabulary is needed::

        (1 - e) * -log p_y + e * mean_v(-log p_v) = logsumexp(z) - (1 - e) * z_y - e * mean_v(z_v)
    """
    logits = wide(logits)
    # XLA fuses the product with the one-hot labels; the gradient of a gather would be a scatter.
    hot = ops.one_hot(ops.cast(labels, "int32"), logits.shape[-1], dtype=logits.dtype)
    label_logits = ops.sum(logits * hot, axis=-1)
    loss = ops.logsumexp(logits, axis=-1) - (1.0 - smoothing) * label_logits
    return loss - smoothing * ops.mean(logits, axis=-1) if smoothing else loss


def chunked_cross_entropy(states, output, labels, weights, chunks, smoothing=0.0):
    """sum_t(w_t * loss_t) / sum_t(w_t) of the logits `states matrix^T + bias`, which are never held all at once.

    The time axis is padded to whole chunks and processed chunk by chunk: each chunk computes its logits, its part of
    the loss and its part of the gradients, and then frees the logits. Memory is `O(batch * time / chunks *
    vocabulary)`, and nothing is computed twice. The result equals `SmoothedCrossEntropy` of `TokenEmbedding.logits`.

    Args:
        states: `(batch, time, units)`, the decoder's outputs.
        output: `(matrix,)` or `(matrix, bias)`, the output matrix `(vocabulary, units)` and the bias `(vocabulary,)`.
        labels: `(batch, time)` integers.
        weights: `(batch, time)`; if all are zero, the loss is 0.
        chunks: number of chunks.
        smoothing: as of `SmoothedCrossEntropy`.

    Reference: https://arxiv.org/abs/2001.04451, section 3 ("chunking").
    """
    batch, time = ops.shape(states)[:2]
    length = (time + chunks - 1) // chunks
    padding = (0, 0), (0, length * chunks - time)
    states = ops.pad(states, (*padding, (0, 0)))
    labels, weights = ops.pad(labels, padding), ops.cast(ops.pad(weights, padding), "float32")
    scale = 1.0 / ops.maximum(ops.sum(weights), keras.config.epsilon())

    def loss_of(index, states, matrix, *bias):
        part = slice(index * length, (index + 1) * length)
        logits = ops.cast(ops.matmul(states, ops.transpose(ops.cast(matrix, states.dtype))), "float32")
        logits = sum((ops.cast(each, "float32") for each in bias), logits)
        return scale * ops.sum(weights[:, part] * smoothed_cross_entropy(labels[:, part], logits, smoothing))

    @ops.custom_gradient
    def run(states, *output):
        total, to_states, to_output = 0.0, [], [0.0] * len(output)
        for index in range(chunks):
            part = states[:, index * length : (index + 1) * length]
            if index:  # otherwise XLA may compute all chunks at the same time
                (part,) = after([total, *to_output], part)
            value, (to_part, *shares) = vjp(partial(loss_of, index), [part, *output], ops.ones_like(scale))
            total, to_output = total + value, [one + share for one, share in zip(to_output, shares, strict=True)]
            to_states.append(to_part)
        to_states = ops.concatenate(to_states, axis=1)

        def gradient(upstream, variables=()):
            return tuple(ops.cast(upstream, each.dtype) * each for each in (to_states, *to_output))

        return total, gradient

    return run(states, *map(ops.convert_to_tensor, output))


@register
class SmoothedCrossEntropy(keras.losses.Loss):
    """sum_t(w_t * loss_t) / sum_t(w_t), the mean over real tokens of the smoothed cross entropy.

    Shapes: labels (batch, time), logits (batch, time, vocabulary), and as `sample_weight` the weights
    (batch, time). A batch whose weights are all zero has loss 0 and gradients 0.

    Args:
        smoothing: e in [0, 1), the probability mass that is spread over the whole vocabulary.

    Raises:
        ValueError: `smoothing` is outside [0, 1).

    Example:
        >>> import numpy as np
        >>> from zoo.training import SmoothedCrossEntropy
        >>> loss = SmoothedCrossEntropy(smoothing=0.1)
        >>> float(loss(np.array([[2, 0]]), np.zeros((1, 2, 5)), np.array([[1.0, 0.0]])))  # log 5
        1.609...
    """

    def __init__(
        self, smoothing: float = 0.0, name: str = "loss", reduction: str = "mean_with_sample_weight", dtype: Any = None
    ) -> None:
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        if not 0.0 <= smoothing < 1.0:
            raise ValueError(
                f"smoothing must lie in [0, 1), received {smoothing!r}. Use 0.0 for the plain "
                "cross entropy, 0.1 as in the Transformer paper."
            )
        self.smoothing = smoothing

    def call(self, labels, logits):
        return smoothed_cross_entropy(labels, logits, self.smoothing)


def squared_error(labels, outputs, sample_weight):
    """sum(w * (number - output)^2) / sum(w) of outputs that are numbers, such as cosines; all are `(batch,)`.

    Reference: https://arxiv.org/abs/1908.10084, section 3, the regression objective.
    """
    weights = ops.cast(sample_weight, "float32")
    total = ops.sum(weights * ops.square(ops.cast(labels, "float32") - wide(outputs)))
    return total / ops.maximum(ops.sum(weights), keras.config.epsilon())


@register
class ChunkedCrossEntropy(keras.losses.Loss):
    """`SmoothedCrossEntropy` of a `LanguageModel` or a `Transformer`, without ever holding all logits at once.

    In a training step, of `make_steps` or of a model that was compiled with this loss, the model returns the decoder's
    states and the output matrix instead of logits, and `chunked_cross_entropy` computes the same loss in less memory.
    A validation still computes all logits.

    Args:
        chunks: number of chunks of the time axis.
        smoothing: as of `SmoothedCrossEntropy`.

    Raises:
        ValueError: `chunks` is not a positive integer, or `smoothing` is outside [0, 1).

    Example:
        >>> import numpy as np
        >>> from zoo.training import ChunkedCrossEntropy
        >>> states, matrix = np.zeros((1, 2, 4), "float32"), np.zeros((5, 4), "float32")
        >>> loss = ChunkedCrossEntropy(chunks=2)
        >>> float(loss(np.array([[2, 0]]), (states, matrix), sample_weight=np.array([[1.0, 0.0]])))  # log 5
        1.609...
    """

    traits = Loss(of_outputs=True, of_states=True)

    def __init__(self, chunks: int, smoothing: float = 0.0, name: str = "loss") -> None:
        super().__init__(name=name, reduction="sum")
        if not isinstance(chunks, int) or chunks < 1:
            raise ValueError(f"ChunkedCrossEntropy needs a positive number of chunks. Received: {chunks!r}.")
        self.chunks, self.smoothing = chunks, SmoothedCrossEntropy(smoothing).smoothing

    def __call__(self, labels, outputs, sample_weight=None):
        if not isinstance(outputs, tuple | list):  # a validation
            return SmoothedCrossEntropy(self.smoothing)(labels, outputs, sample_weight=sample_weight)
        states, *output = outputs
        sample_weight = ops.ones_like(labels) if sample_weight is None else sample_weight
        return chunked_cross_entropy(states, output, labels, sample_weight, self.chunks, self.smoothing)

    def get_config(self):
        return {"name": self.name}  # and what the constructor is given


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
