"""Layers for tests: with weights far from zero, so that differences show, and of another policy."""

import contextlib

import numpy as np


@contextlib.contextmanager
def of_policy(name):
    """Layers that are made here have this policy of dtypes."""
    import keras

    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(name)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def randomised(layer, seed=5, scale=0.5, but=()):
    """The layer or model, built, with normal weights of the standard deviation `scale`, `but` those of these names."""
    if not layer.built:
        layer.build()
    generator = np.random.default_rng(seed)
    for weight in layer.trainable_weights:
        if weight.name not in but:
            weight.assign(generator.normal(0.0, scale, weight.shape))
    return layer
