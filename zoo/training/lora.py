"""Low-rank adaptation: a matrix stays as it is and learns a product of two thin ones beside it, `x (W + A B)`.

`A` begins with random numbers and `B` with 0, so the first step begins with the outputs of `W`. After the training
`W + A B` takes the place of `W`, and the model has the layers that it had before. The adapters are those of Keras
(`enable_lora`).

Hu et al. 2021, "LoRA", https://arxiv.org/abs/2106.09685, section 4.1; its scale alpha / r is 1 here.
"""

import re

import keras
from keras import layers, ops

from zoo.core.dropout import shifted
from zoo.training.selection import freeze, named_weights, select_paths

ADAPTED = layers.Dense, layers.EinsumDense, layers.Embedding
ADAPTER = re.compile(r"(?P<layer>(?:.*/)?)lora_(?P<matrix>kernel|embeddings)_(?P<part>[ab])$")


def adapt(model, rank, patterns, body, seed=None, what="lora"):
    """Give dense layers of a built model adapters, and freeze all other weights of its body.

    Args:
        model: the model.
        rank: of the products.
        patterns: of the layers that get them, such as "*" or "*/query_projection".
        body: the paths of the weights that were learnt before. All others, such as a new readout, train as they are.
        seed: of the adapters' first values.
        what: the setting that holds the patterns, for messages.

    Returns:
        The paths of the layers with adapters.

    Raises:
        ValueError: a pattern selects no layer of the body that can have them, or a layer has a constraint.
    """
    paths = {id(weight): path for path, weight in named_weights(model).items() if path in set(body)}
    adaptable = {}
    for layer in model._flatten_layers():
        path = paths.get(id(_matrix(layer))) if isinstance(layer, ADAPTED) and layer.built else None
        if path:
            adaptable.setdefault(path, layer)
    adapted = []
    for pattern in patterns:
        inside = [path for path in select_paths(what, pattern, list(paths.values())) if path in adaptable]
        if not inside:
            possible = sorted({re.sub(r"\d+", "*", path.rpartition("/")[0]) for path in adaptable})
            raise ValueError(
                f"{what} has the pattern {pattern!r}, and none of its weights can have adapters, for these are for "
                f"dense layers with whose weights the training begins. Such are here: {', '.join(possible) or 'none'}."
            )
        adapted += [path for path in inside if path not in adapted]
    for number, path in enumerate(adapted):
        adaptable[path].enable_lora(rank, a_initializer=keras.initializers.HeUniform(seed=shifted(seed, number)))
    freeze(model, sorted(paths.values()), what)
    return [path.rpartition("/")[0] for path in adapted]


def _matrix(layer):
    return layer.embeddings if isinstance(layer, layers.Embedding) else layer.kernel


def merge(weights):
    """`{path: array}` of a model with adapters as that of one without: `W + A B` in the place of `W`.

    Args:
        weights: `{path: array}`, see `named_weights`.
    """
    parts = {path: ADAPTER.search(path) for path in weights}
    merged = {path: array for path, array in weights.items() if not parts[path]}
    for path, part in parts.items():
        if part and part["part"] == "a":
            a, b = weights[path], weights[path[:-1] + "b"]
            place = part["layer"] + part["matrix"]
            merged[place] = merged[place] + ops.convert_to_numpy(ops.matmul(a, b)).astype(merged[place].dtype)
    return merged
