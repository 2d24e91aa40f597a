"""Label-smoothed cross entropy over padded sequences.

Szegedy et al. 2016, "Rethinking the Inception Architecture", section 7; used for sequences in
"Attention Is All You Need", section 5.4.
"""

from functools import partial

import keras
from keras import ops

from zoo.recompute import Piece, checkpoint
from zoo.registry import register


def smoothed_cross_entropy(labels, logits, smoothing):
    """Loss of each position; `labels` (batch, time), `logits` (batch, time, vocabulary).

    With log p_v = z_v - logsumexp(z), the mixture below needs one reduction and no log-softmax::

        (1 - e) * -log p_y + e * mean_v(-log p_v) = logsumexp(z) - (1 - e) * z_y - e * mean_v(z_v)
    """
    # A one-hot product is fused by XLA, where a gather would leave a scatter in the gradient.
    hot = ops.one_hot(ops.cast(labels, "int32"), logits.shape[-1], dtype=logits.dtype)
    label_logits = ops.sum(logits * hot, axis=-1)
    loss = ops.logsumexp(logits, axis=-1) - (1.0 - smoothing) * label_logits
    return loss - smoothing * ops.mean(logits, axis=-1) if smoothing else loss


def chunked_cross_entropy(states, matrix, labels, weights, chunks, smoothing=0.0):
    """sum_t(w_t * loss_t) / sum_t(w_t) of the logits `states matrix^T`, which never exist all at once.

    The time is cut into `chunks` parts; each keeps its states and computes its logits again for the gradient, so memory
    is `O(batch * time / chunks * vocabulary)`. The time is padded to whole chunks. Equal to `SmoothedCrossEntropy` of
    `TokenEmbedding.logits`.

    Args:
        states: `(batch, time, units)`, what the decoder gives.
        matrix: `(vocabulary, units)`.
        labels: `(batch, time)` integers.
        weights: `(batch, time)`; where all are zero the loss is 0.
        chunks: number of parts.
        smoothing: as of `SmoothedCrossEntropy`.

    Reference: https://arxiv.org/abs/2001.04451, section 3 ("chunking").
    """
    batch, time = ops.shape(states)[:2]
    length = (time + chunks - 1) // chunks
    padding = (0, 0), (0, length * chunks - time)
    states = ops.pad(states, (*padding, (0, 0)))
    labels, weights = ops.pad(labels, padding), ops.cast(ops.pad(weights, padding), "float32")

    def total(chunk, states, matrix):
        part = slice(chunk * length, (chunk + 1) * length)
        logits = ops.cast(ops.matmul(states, ops.transpose(ops.cast(matrix, states.dtype))), "float32")
        return ops.sum(weights[:, part] * smoothed_cross_entropy(labels[:, part], logits, smoothing))

    parts = ops.reshape(states, (batch, chunks, length, states.shape[-1]))
    sums = [checkpoint(Piece(partial(total, chunk), []), parts[:, chunk], matrix) for chunk in range(chunks)]
    return sum(sums) / ops.maximum(ops.sum(weights), keras.config.epsilon())


@register
class SmoothedCrossEntropy(keras.losses.Loss):
    """sum_t(w_t * loss_t) / sum_t(w_t), the mean over real tokens of the smoothed cross entropy.

    Shapes: labels (batch, time), logits (batch, time, vocabulary), weights (batch, time), which go
    in as `sample_weight`. A batch whose weights are all zero has loss 0 and gradients 0.

    Args:
        smoothing: e in [0, 1), the probability mass that is spread over the whole vocabulary.

    Raises:
        ValueError: `smoothing` is outside [0, 1).

    Example:
        >>> loss = SmoothedCrossEntropy(smoothing=0.1)
        >>> float(loss(np.array([[2, 0]]), np.zeros((1, 2, 5)), np.array([[1.0, 0.0]])))  # log 5
        1.609...
    """

    def __init__(self, smoothing=0.0, name="loss", reduction="mean_with_sample_weight", dtype=None):
        super().__init__(name=name, reduction=reduction, dtype=dtype)
        if not 0.0 <= smoothing < 1.0:
            raise ValueError(
                f"smoothing must lie in [0, 1), received {smoothing!r}. Use 0.0 for the plain "
                "cross entropy, 0.1 as in the Transformer paper."
            )
        self.smoothing = smoothing

    def call(self, labels, logits):
        return smoothed_cross_entropy(labels, logits, self.smoothing)

    def get_config(self):
        return {**super().get_config(), "smoothing": self.smoothing}
