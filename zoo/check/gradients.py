"""Gradients of a built case, and which weights have none by their formula."""

import numpy as np
import tensorflow as tf
from keras import tree

from zoo.attention import MultiHeadAttention, RelativeAttention

# By class of layer: the weights whose gradient is zero by the formula, each beside one of the same layer that gives
# the scale of the rounding noise. `softmax` does not see what is added to all scores of a query, and the key's bias b
# adds q . b to each of them; the other attentions' key projections have no bias, or one inside a nonlinearity.
UNSEEN = dict.fromkeys(
    (MultiHeadAttention, RelativeAttention),
    lambda layer: [(layer.key_projection.bias, layer.key_projection.kernel)],
)


def unseen_weights(layer, derived=False):
    """`{id of a weight without gradient: the weight that gives the scale}`.

    With `derived` those of derived classes, too, whose formula may be another one.
    """
    scales = {}
    for one in [layer, *layer._flatten_layers()]:
        for cls in type(one).__mro__ if derived else [type(one)]:
            for weight, measure in UNSEEN.get(cls, lambda _: [])(one):
                if weight is not None:
                    scales[id(weight)] = measure
    return scales


def gradients(built, rows, time):
    """Of a random projection of the outputs: `[(weight, gradient)]`, and the outputs with the inputs' gradients."""
    arguments = tree.map_structure(tf.convert_to_tensor, built.case.arguments(rows, time, 0))
    sources = [leaf for leaf in tree.flatten(arguments) if leaf.dtype.is_floating]
    generator = np.random.default_rng(6)
    with tf.GradientTape() as tape:
        tape.watch(sources)
        outputs = tree.flatten(built.case.apply(built.layer, arguments))
        parts = [tf.reduce_sum(leaf * generator.normal(size=leaf.shape)) for leaf in outputs]
        loss = sum(tf.cast(part, "float64") for part in parts)
    weights = built.layer.trainable_weights
    derivatives = tape.gradient(loss, [weight.value for weight in weights] + sources)
    derivatives = [None if one is None else tf.convert_to_tensor(one).numpy() for one in derivatives]
    outputs = [tf.convert_to_tensor(leaf).numpy() for leaf in outputs]
    return list(zip(weights, derivatives, strict=False)), [*outputs, *derivatives[len(weights) :]]
