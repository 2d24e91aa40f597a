"""One compiled training step and one compiled validation step, on the backend in use.

Keras' `train_on_batch` would serve on TensorFlow; on JAX it copies the whole state in and out of
the variables and waits for the loss at every call. Both backends here leave the loss on the device
until somebody asks for it, and compile one program per batch shape.
"""

import keras


def make_steps(model, optimizer, loss):
    """The compiled steps of a model.

    Args:
        model: a built Keras model, called as `model(inputs, training=)` -> logits, where inputs are
            all entries of a batch but `labels` and `weights`. Losses that its layers add count too.
        optimizer: a Keras optimizer (one that scales losses, for float16, is not supported).
        loss: called as `loss(labels, logits, sample_weight=weights)` -> scalar; one that is marked `of_states`
            (`ChunkedCrossEntropy`) has the model called with `states=True`.

    Returns: an object with

    * `train(batch) -> loss`: one update; the loss is a scalar on the device,
    * `evaluate(batch) -> sums`: `zoo.training.metrics.token_sums` on the device, without dropout,
    * `learning_rate() -> float`: of the coming update,
    * `sync()`: bring the variables of model and optimizer up to date, before one reads them,
    * `reload()`: the same in the other direction, after one assigned to them,
    * `expected_memory(batch)`: an estimate of what a step holds, bytes by name,
    * `program_key(batch)`: what the training program of this batch is compiled for,
    * `num_programs`: how many training programs have been compiled,
    * `model`, `optimizer`: what was given.

    Raises:
        ValueError: the backend is neither TensorFlow nor JAX.
    """
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
