"""Model parallel: large weights of which each device holds a part, on JAX (a `keras.distribution.LayoutMap`).

The devices are a grid of copies of the model (`batch`) and of the parts of each copy (`model`). Patterns say which
weights are split and along which axis. They are compared with Keras' paths of weights without the numbers that Keras
gives to layers of one name, such as `language_model/stack/pre_norm/feed_forward/hidden/kernel`; `*` stands for
anything. The state that an optimizer keeps of a weight is split as the weight is.
"""

import difflib
import re

from zoo.core.later import later

keras = later("keras")

# Embeddings and tables along their vectors, so that each part is read and updated without the others; of a feed-forward
# layer the hidden units, so that its parts meet in one sum. None of it depends on the size of a vocabulary.
LAYOUT = {
    "*embedding/matrix": 1,
    "*embedding/embeddings": 1,
    "*/product_key_memory/values": 1,
    "*/feed_forward/hidden/kernel": 1,
    "*/feed_forward/hidden/bias": 0,
    "*/feed_forward/output/kernel": 0,
}


def expression(pattern):
    """The regular expression of a pattern, for Keras' paths with their numbers."""
    words = {"*": ".*", "/": r"(_\d+)?/"}
    return "".join(words.get(letter, re.escape(letter)) for letter in pattern) + r"(_\d+)?"


def split(devices, parts, layout):
    """The `keras.distribution.ModelParallel` of devices, each copy of the model in so many parts.

    Args:
        devices: their names; their number is a multiple of `parts`.
        parts: devices of a copy.
        layout: `{pattern: axis}`; an empty one means `LAYOUT`.

    Raises:
        ValueError: from the building of a model then, where a length cannot be divided into the parts.
    """

    class Split(keras.distribution.ModelParallel):
        """Tells which weight cannot be split before JAX does."""

        def get_variable_layout(self, variable):
            own = super().get_variable_layout(variable)
            _check(variable, own, parts)
            return own

    mesh = keras.distribution.DeviceMesh((len(devices) // parts, parts), ("batch", "model"), devices)
    layouts = keras.distribution.LayoutMap(mesh)
    for pattern, axis in (layout or LAYOUT).items():
        layouts[expression(pattern)] = (None,) * axis + ("model",)
    return Split(layout_map=layouts, batch_dim_name="batch", auto_shard_dataset=False)


def _check(variable, layout, parts):
    if "model" not in layout.axes:
        return
    shape, axis = tuple(variable.shape), layout.axes.index("model")
    if axis >= len(shape) or shape[axis] % parts:
        what = f"has no axis {axis}" if axis >= len(shape) else f"is {shape[axis]:,} long there"
        raise ValueError(
            f"The weight {variable.path} {shape} is to be split along axis {axis} among {parts} devices "
            f"(training.model_parallel), and it {what}. Choose another number, sizes that it divides, or another "
            "training.layout."
        )


def check_patterns(model, layout):
    """Refuse patterns of `training.layout` that no weight of a built model has.

    Raises:
        ValueError: there is one; the message names the nearest weights.
    """
    paths = [weight.path for weight in model.weights]
    for pattern in layout:
        if not any(re.fullmatch(expression(pattern), path) for path in paths):
            names = sorted({re.sub(r"_\d+(?=/|$)", "", path) for path in paths})
            near = difflib.get_close_matches(pattern.strip("*/"), names, n=3, cutoff=0.3) or names[:3]
            raise ValueError(
                f"training.layout has the pattern {pattern!r}, which none of the {len(paths)} weights has. The nearest "
                f"are {', '.join(near)}; * stands for anything."
            )
