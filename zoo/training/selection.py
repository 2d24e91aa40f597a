"""Weights by their places in a model, and patterns that select some: to be frozen, to have rates, or low-rank adapters.

Low-rank adaptation: a matrix stays as it is and learns a product of two thin ones beside it, `x (W + A B)`. `A` begins
with random numbers and `B` with 0, so the first step begins with the outputs of `W`. After the training `W + A B` takes
the place of `W`, and the model has the layers that it had before. The adapters are those of Keras (`enable_lora`).

Hu et al. 2021, "LoRA", https://arxiv.org/abs/2106.09685, section 4.1; its scale alpha / r is 1 here.
"""

import difflib
import fnmatch
import re

import keras
from keras import layers, ops

from zoo.core.dropout import shifted

BLOCK = re.compile(r"(?P<stack>.*?(?:blocks|layers))/(?P<number>\d+)/")
BELOW = re.compile(r"(\w+_)?(embedding|positions)/")  # what stands before a stack
KERAS_OWN = ("_self_", "_obj_", "_tracker")  # prefixes of attributes that Keras and TensorFlow add to a layer


def named_weights(model):
    """`{path: weight}` of a built model, such as `{"encoder/blocks/0/attention/query_projection/kernel": ...}`.

    A path is made of the names of attributes, so it is the same in every process and for every model that holds the
    same layer in the same attribute; Keras' own paths count the layers of the process. A weight that two attributes
    share has the path of the first one.
    """
    weights, seen = {}, set()
    _collect_weights(model, "", weights, seen)
    return weights


def _collect_weights(layer, prefix, weights, seen):
    if id(layer) in seen:
        return
    seen.add(id(layer))
    children = list(_children(layer))
    child_ids = {id(weight) for _, child in children for weight in child.weights}
    named_ids = {id(weight) for weight in weights.values()}
    for weight in layer.weights:
        if id(weight) in child_ids or id(weight) in named_ids:
            continue
        path, number = prefix + weight.name, 2
        while path in weights:
            path, number = f"{prefix}{weight.name}_{number}", number + 1
        weights[path] = weight
    for name, child in children:
        _collect_weights(child, f"{prefix}{name}/", weights, seen)


def _children(layer):
    """`(name, layer)` of the layers in the attributes of a layer, the public ones first, each once."""
    own = [(name, value) for name, value in vars(layer).items() if not name.startswith(KERAS_OWN)]
    seen = set()
    for name, value in sorted(own, key=lambda pair: pair[0].startswith("_")):
        for path, child in _layers(name.lstrip("_"), value):
            if id(child) not in seen:
                seen.add(id(child))
                yield path, child


def _layers(name, value):
    if isinstance(value, keras.layers.Layer):
        yield name, value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _layers(f"{name}/{key}", each)
    elif isinstance(value, list | tuple):
        for number, each in enumerate(value):
            yield from _layers(f"{name}/{number}", each)


def select_paths(what, pattern, paths):
    """The paths that a pattern selects: `*` stands for anything, and a layer's path for all that is in it.

    Args:
        what: the setting that holds the pattern, for the message.
        pattern: such as "encoder/*", "*/bias" or "embedding".
        paths: of all weights.

    Raises:
        ValueError: it selects none; the message names the nearest paths.
    """
    matching = [path for path in paths if any(fnmatch.fnmatchcase(path, each) for each in (pattern, f"{pattern}/*"))]
    if matching:
        return matching
    layers = {path.rsplit("/", depth)[0] for path in paths for depth in range(1, 1 + path.count("/"))}
    near = difflib.get_close_matches(pattern.rstrip("/*"), [*sorted(layers), *paths], n=3, cutoff=0.3)
    places = near or sorted({path.partition("/")[0] for path in paths})
    raise ValueError(
        f"{what} has the pattern {pattern!r}, which none of the {len(paths)} weights has. "
        f"{'The nearest are' if near else 'The model has'} {', '.join(places)}; * stands for anything."
    )


def freeze(model, patterns, what="freeze"):
    """Keep the weights that patterns select as they are: nothing trains them, decays them or counts them.

    A batch norm that is frozen works with its statistics, and these stay, too.

    Returns:
        The paths of the frozen weights.

    Raises:
        ValueError: a pattern selects no weight, or a part of a batch norm with its statistics; or nothing is left to
            train.
    """
    weights = named_weights(model)
    paths = list(dict.fromkeys(path for each in patterns for path in select_paths(what, each, weights)))
    chosen = {id(weights[path]) for path in paths}
    for norm in norms(model):
        inside = {id(weight) for weight in norm.weights}
        statistics = {id(norm.moving_mean), id(norm.moving_variance)}
        if chosen & statistics and not inside <= chosen:
            (where,) = [path for path, weight in weights.items() if weight is norm.moving_mean]
            layer = where.rpartition("/")[0]
            raise ValueError(
                f"{what} selects a part of the batch norm {layer}, whose statistics change with the other weights. "
                f"Expected all of it, {layer + '/*'!r}, or none."
            )
        if inside <= chosen:
            norm.trainable = False
    for path in paths:
        weights[path].trainable = False
    if not model.trainable_variables:
        raise ValueError(f"{what} selects all {len(weights)} weights, so nothing is left to train. Select fewer.")
    return paths


def thaw(model, paths):
    """Make the batch norms that `freeze` has frozen trainable again, before the model is saved.

    A file holds this setting of a batch norm, but not of single weights.
    """
    weights = named_weights(model)
    chosen = {id(weights[path]) for path in paths}
    for norm in norms(model):
        if {id(weight) for weight in norm.weights} <= chosen:
            norm.trainable = True


def norms(model):
    """The batch norms of a model, nested ones included."""
    return [each for each in model._flatten_layers() if isinstance(each, keras.layers.BatchNormalization)]


def factors(model, rates, what="rates"):
    """`{id of a weight: factor}` of `{pattern: factor}`; where patterns select the same weight, the last one counts.

    Raises:
        ValueError: a pattern selects no weight, or none that is trained.
    """
    weights, by_weight = named_weights(model), {}
    for pattern, factor in rates.items():
        chosen = [weights[path] for path in select_paths(what, pattern, weights)]
        if not any(weight.trainable for weight in chosen):
            raise ValueError(f"{what} has the pattern {pattern!r}, whose weights are not trained. Leave it out.")
        by_weight |= {id(weight): factor for weight in chosen}
    return by_weight


def decay_factors(model, decay):
    """`{id of a weight: factor}` of layer-wise decay: `decay^(n + 1 - i)` for block `i`, from 1, of a stack of `n`.

    What stands before a stack has `decay^(n + 1)`, with `n` of the deepest stack, and what stands behind it 1.

    Raises:
        ValueError: the model has no stack of blocks.

    Reference: https://arxiv.org/abs/2003.10555 (ELECTRA), table 7; https://arxiv.org/abs/1801.06146, section 3.2.
    """
    weights, depths = named_weights(model), {}
    places = {path: BLOCK.match(path) for path in weights}
    for place in filter(None, places.values()):
        depths[place["stack"]] = max(depths.get(place["stack"], 0), int(place["number"]) + 1)
    if not depths:
        raise ValueError("layer_decay is for a stack of blocks, and this model has none. Set rates instead.")
    by_weight = {}
    for path, place in places.items():
        if place:
            by_weight[id(weights[path])] = decay ** (depths[place["stack"]] - int(place["number"]))
        elif BELOW.match(path):
            by_weight[id(weights[path])] = decay ** (max(depths.values()) + 1)
    return by_weight


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


def merge_adapters(weights):
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
