"""A batch in parts, one after the other (gradient accumulation), and losses that are scaled for 16-bit gradients.

The update is that of the whole batch, because a loss is a mean over tokens, `sum_t(w_t l_t) / sum_t(w_t)`: with `W_k`,
the weights of part `k` together, and `W`, those of the batch, it is `sum_k (W_k / W) loss_k`. The same goes for its
gradient, which is clipped when it is whole. What layers add to the loss has an equal share of each part; means over
positions (`zoo.gradients.means`) are divided by the number of all positions for that. The memory of the activations is
that of a part.
"""

import keras
from keras import ops

from zoo.gradients.means import counting
from zoo.gradients.rows import tapping
from zoo.training.steps.inputs import call_settings, model_inputs


def rows_by_part(array, parts):
    """`(parts, rows / parts, ...)`: part `k` has the rows `k, k + parts, ...`.

    So each part has rows of all devices, among which the rows are split in blocks.
    """
    shape = tuple(array.shape)
    split = ops.reshape(array, (shape[0] // parts, parts, *shape[1:]))
    return ops.moveaxis(split, 1, 0)


def share_of(weights, whole):
    """`W_k / W`, the share of a part of a batch."""
    total = ops.sum(ops.cast(whole, "float32"))
    return ops.sum(ops.cast(weights, "float32")) / ops.maximum(total, keras.config.epsilon())


def of_part(loss, extra, share, parts):
    """What a part adds to the loss of the batch; a batch in one piece has no share."""
    return loss + extra if share is None else share * loss + extra / parts


def positions_of(model, batch, weights, loss):
    """How many positions each mean has that the layers add to the loss; XLA computes nothing else of the model for it.

    Args:
        model: the model.
        batch: a part of a batch.
        weights: the values of the trainable and of the other variables.
        loss: of the training.
    """
    with counting() as counts, tapping(None):
        model.stateless_call(*weights, model_inputs(batch), **call_settings(loss))
    return [ops.cast(count, "float32") for count in counts]


def place_of_scale(optimizer):
    """The place of the scale of losses among the variables of an optimizer; None if it does not scale them."""
    if not isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        return None
    return next(place for place, each in enumerate(optimizer.variables) if each is optimizer.dynamic_scale)
