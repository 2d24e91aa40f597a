"""The gradient of a Keras layer's weights, compiled by XLA, on the backend of KERAS_BACKEND."""


def gradient_step(layer, x, **call):
    """A function that computes the mean of a built layer's squared outputs and its gradients, and returns the mean.

    Args:
        layer: a Keras layer; the first of several outputs counts.
        x: a NumPy array.
        **call: further arguments of the layer.
    """
    import keras
    from keras import ops

    if keras.backend.backend() == "jax":
        import jax

        groups = layer.trainable_variables, layer.non_trainable_variables
        trained, fixed = ([variable.value for variable in group] for group in groups)

        @jax.jit
        @jax.value_and_grad
        def compute(trained, x):
            outputs, _ = layer.stateless_call(trained, fixed, x, **call)
            return (_first(outputs) ** 2).mean()

        x = jax.device_put(x)
        return lambda: float(jax.block_until_ready(compute(trained, x))[0])
    import tensorflow as tf

    x = tf.constant(x)

    @tf.function(jit_compile=True, autograph=False)
    def compute():
        with tf.GradientTape() as tape:
            loss = ops.mean(_first(layer(x, **call)) ** 2)
        return loss, tape.gradient(loss, [weight.value for weight in layer.trainable_weights])

    return lambda: float(compute()[0])


def _first(outputs):
    return outputs[0] if isinstance(outputs, (tuple, list)) else outputs


def begin_training(threads):
    """What `seqzoo train` does before it imports Keras, and TensorFlow's threads, before it starts them."""
    from tools.startup import lean

    lean()
    import keras

    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
