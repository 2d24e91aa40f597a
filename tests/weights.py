"""Weights for tests: far from zero, so that differences show."""

import numpy as np


def randomised(layer, seed=5, scale=0.5, but=()):
    """The layer or model, built, with normal weights of the standard deviation `scale`, `but` those of these names."""
    if not layer.built:
        layer.build()
    generator = np.random.default_rng(seed)
    for weight in layer.trainable_weights:
        if weight.name not in but:
            weight.assign(generator.normal(0.0, scale, weight.shape))
    return layer
