"""What the steps of both backends share: inputs of the model, batches in parts, and the choice of the backend.

Keras' `train_on_batch` is not used because, on JAX, each call copies the whole state to and from the variables and
waits for the loss. On both backends the steps here leave the loss on the device until it is read, and compile one
program for each batch shape.

A batch may be computed in parts, one after the other (gradient accumulation). The update is that of the whole batch,
because a loss is a mean over tokens, `sum_t(w_t l_t) / sum_t(w_t)`: with `W_k`, the weights of part `k` together, and
`W`, those of the batch, it is `sum_k (W_k / W) loss_k`. The same goes for its gradient, which is clipped when it is
whole. What layers add to the loss has an equal share of each part; means over positions (`zoo.gradients.means`) are
divided by the number of all positions for that. The memory of the activations is that of a part.
"""

import keras
from keras import ops

from zoo.core.later import later
from zoo.core.protocols import Loss
from zoo.gradients.means import counting
from zoo.gradients.rows import tapping

of_tensorflow = later("zoo.training.steps.tensorflow")
of_jax = later("zoo.training.steps.jax")


def make_steps(model, optimizer, loss, parts=1):
    """The compiled steps of a model.

    Args:
        model: a built Keras model. `model(inputs, training=)` returns logits; inputs are all entries of a batch but
            `labels` and `weights`. Losses that its layers add are included.
        optimizer: a Keras optimizer. A `LossScaleOptimizer` scales the loss, whose unscaled value is returned.
        loss: `loss(labels, logits, sample_weight=weights)` returns a scalar. If it declares `of_states`
            (`ChunkedCrossEntropy`), training steps call the model with `states=True`. It is a mean over tokens:
            `sum_t(w_t l_t) / sum_t(w_t)`.
        parts: into how many parts, one after the other, a training step splits its batch, which takes less memory
            (gradient accumulation). The update is that of the whole batch, up to rounding and to what dropout draws.

    Returns: `zoo.core.protocols.CompiledSteps`; its `model` and `optimizer` are the arguments.

    Raises:
        ValueError: the backend is neither TensorFlow nor JAX, or `parts` is no positive number.
    """
    if not isinstance(parts, int) or parts < 1:
        raise ValueError(f"parts must be a whole number, at least 1; received {parts!r}.")
    optimizer.build(model.trainable_variables)
    if keras.backend.backend() == "tensorflow":
        return of_tensorflow.TensorFlowSteps(model, optimizer, loss, parts)
    if keras.backend.backend() == "jax":
        return of_jax.JaxSteps(model, optimizer, loss, parts)
    raise ValueError(
        f"training needs the tensorflow or the jax backend, received "
        f"{keras.backend.backend()!r}. Set KERAS_BACKEND before Keras is imported."
    )


TARGETS = ("labels", "weights")


def model_inputs(batch):
    """The entries of a batch that are inputs of the model; `labels` and `weights` are for the loss."""
    return {name: value for name, value in batch.items() if name not in TARGETS}


def shape_of(batch):
    """The name, shape and dtype of each array of a batch. A program is compiled for each such combination."""
    return tuple((name, tuple(value.shape), str(value.dtype)) for name, value in sorted(batch.items()))


def call_settings(loss):
    """Keyword arguments of the model in a training step; `states` asks for states and output matrix, not logits."""
    return {"training": True, "states": True} if Loss.of(loss).of_states else {"training": True}


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


def part_loss(loss, extra, share, parts):
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
