"""One compiled training step and one compiled validation step, on the current backend.

Keras' `train_on_batch` is not used because, on JAX, each call copies the whole state to and from the variables and
waits for the loss. On both backends the steps here leave the loss on the device until it is read, and compile one
program for each batch shape.
"""

import keras


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
        from zoo.training.steps.tensorflow import TensorFlowSteps

        return TensorFlowSteps(model, optimizer, loss, parts)
    if keras.backend.backend() == "jax":
        from zoo.training.steps.jax import JaxSteps

        return JaxSteps(model, optimizer, loss, parts)
    raise ValueError(
        f"training needs the tensorflow or the jax backend, received "
        f"{keras.backend.backend()!r}. Set KERAS_BACKEND before Keras is imported."
    )
