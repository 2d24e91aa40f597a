"""One compiled training step and one compiled validation step, on the current backend.

Keras' `train_on_batch` is not used because, on JAX, each call copies the whole state to and from the variables and
waits for the loss. On both backends the steps here leave the loss on the device until it is read, and compile one
program for each batch shape.
"""

import keras


def make_steps(model, optimizer, loss):
    """The compiled steps of a model.

    Args:
        model: a built Keras model. `model(inputs, training=)` returns logits; inputs are all entries of a batch but
            `labels` and `weights`. Losses that its layers add are included.
        optimizer: a Keras optimizer, but not a `LossScaleOptimizer`.
        loss: `loss(labels, logits, sample_weight=weights)` returns a scalar. If it declares `of_states`
            (`ChunkedCrossEntropy`), training steps call the model with `states=True`.

    Returns: `zoo.core.protocols.CompiledSteps`; its `model` and `optimizer` are the arguments.

    Raises:
        ValueError: the backend is neither TensorFlow nor JAX, or the optimizer scales losses.
    """
    if isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
        raise ValueError(
            "make_steps does not scale losses, and a LossScaleOptimizer would divide gradients by a scale that they do "
            "not have. Give the inner optimizer, and train in float32 or with the policy mixed_bfloat16."
        )
    optimizer.build(model.trainable_variables)
    if keras.backend.backend() == "tensorflow":
        from zoo.training.steps.tensorflow import TensorFlowSteps

        return TensorFlowSteps(model, optimizer, loss)
    if keras.backend.backend() == "jax":
        from zoo.training.steps.jax import JaxSteps

        return JaxSteps(model, optimizer, loss)
    raise ValueError(
        f"training needs the tensorflow or the jax backend, received "
        f"{keras.backend.backend()!r}. Set KERAS_BACKEND before Keras is imported."
    )
