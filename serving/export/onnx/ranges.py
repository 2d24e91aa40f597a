"""The ranges of the numbers that the products of a graph are given, as they are seen while it runs.

An int8 graph rounds these numbers to 255 steps between the two ends of a range. If the range were that of a batch, as
in `DynamicQuantizeMatMul`, an answer would depend on the other rows of its batch. Here it is found once, before the
graph is quantised, by running texts through the float32 graph, and holds for all runs. `Calibration` has the texts.
"""

import copy
import itertools

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from serving.export.onnx.convert import load
from serving.export.onnx.graphs import bodies, opset_of, replace_nodes, required_inputs
from serving.export.onnx.loops import hoist, lift_initializers, sink_initializers
from serving.export.onnx.products import Constants
from serving.export.onnx.simplify import fold_constants
from serving.export.onnx.weights import INSIDE
from serving.export.sizes import TEXTS, TOKENS

MOST = 200  # texts that are run
ENDS = "ReduceMin", "ReduceMax"
ZERO, FLAT = "ranges/zero", "ranges/flat"  # initializers: a zero, which belongs to every range, and the shape of a list


def observe(model, feeds, weights=INSIDE):
    """`{key: (low, high)}` of the products of a float32 `ModelProto`, over runs with each of `feeds`.

    A key is `Constants.key`. Each range has zero in it, and is (0, 0) for a product that no run came to.

    Args:
        model: from `convert`; it is not changed.
        feeds: dicts of arrays by input name.
        weights: where the arrays of the model are.
    """
    watched = make_foldable(model, weights)
    names = _watch(watched.graph, Constants(weights), itertools.count())
    if not names:
        return {}
    constants = {ZERO: np.zeros(1, "float32"), FLAT: np.array([-1])}
    watched.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in constants.items())
    del watched.graph.output[:]
    watched.graph.output.extend(_make_output(name) for pair in names.values() for name in pair)
    session, inputs = load(watched, weights), {value.name for value in watched.graph.input}
    ranges = dict.fromkeys(names, (0.0, 0.0))
    for feed in feeds:
        bounds = (
            np.ravel(session.run(None, {name: feed[name] for name in inputs & feed.keys()})).reshape(-1, 2).tolist()
        )
        for key, (low, high) in zip(names, bounds, strict=True):
            ranges[key] = min(low, ranges[key][0]), max(high, ranges[key][1])
    return {key: tuple(float(f"{end:.6g}") for end in ends) for key, ends in ranges.items()}


def keys_of(model, weights=INSIDE):
    """The keys of the products of a float32 `ModelProto`, whose arrays are in `weights`."""
    return set(_watch(make_foldable(model, weights).graph, Constants(weights), itertools.count()))


def make_foldable(model, weights=INSIDE):
    """A copy of the model in which every weight that is only transposed is an initializer.

    Where arrays stand beside the graph, one that is also read as it is, as an embedding that is the output matrix, too,
    stays one: ONNX Runtime transposes it when it opens the graph.
    """
    model = copy.deepcopy(model)
    always = () if weights is not INSIDE else ("Transpose",)
    lift_initializers(model.graph)
    hoist(model.graph)
    fold_constants(model.graph, opset_of(model), always, weights)
    sink_initializers(model.graph)
    return model


def _watch(graph, constants, numbers):
    """`{key: (low, high)}`: the names of what the graph, which is changed, computes of the inputs of its products."""
    constants = constants.extend(graph)
    sources, nodes = {}, []
    for node in graph.node:
        key = constants.key(node)
        if key:
            sources.setdefault(key, []).append((node.input[0], node.input[0]))
        inner = [_watch(body, constants, numbers) for body in bodies(node)]
        for key in dict.fromkeys(key for watched in inner for key in watched):
            sources.setdefault(key, []).append(_hand_out(node, [watched.get(key) for watched in inner], numbers))
        nodes.append(node)
    names = {}
    for key, pairs in sources.items():
        names[key] = tuple(
            _reduce(nodes, kind, each, numbers) for kind, each in zip(ENDS, zip(*pairs, strict=True), strict=True)
        )
    replace_nodes(graph, nodes)
    return names


def _hand_out(node, pairs, numbers):
    """The names of new outputs of a Loop, one value for each iteration, or of an If; `pairs` are those of its bodies.

    A branch without the product, whose pair is None, gives zero.
    """
    names = tuple(f"ranges/{next(numbers)}" for _ in ENDS)
    first = 1 if node.op_type == "Loop" else 0  # the condition of a loop is no output of the node
    for body, pair in zip(bodies(node), pairs, strict=True):
        node.output.extend(f"ranges/{next(numbers)}" for _ in range(len(body.output) - first - len(node.output)))
        for end in pair or (ZERO, ZERO):
            name = f"ranges/{next(numbers)}"
            body.node.append(helper.make_node("Identity", [end], [name]))
            body.output.append(_make_output(name))
    node.output.extend(names)
    return names


def _reduce(nodes, kind, sources, numbers):
    """The name of a list of one number, the smallest or largest of all that `sources` hold, and of zero."""
    flat = [f"ranges/{next(numbers)}" for _ in sources]
    concatenated, name = (f"ranges/{next(numbers)}" for _ in range(2))
    nodes += [helper.make_node("Reshape", [source, FLAT], [each]) for source, each in zip(sources, flat, strict=True)]
    nodes.append(helper.make_node("Concat", [*flat, ZERO], [concatenated], axis=0))
    nodes.append(helper.make_node(kind, [concatenated], [name]))
    return name


def _make_output(name):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1])


class Calibration:
    """The ranges of the products of a model, which all of its graphs share.

    They are those of the settings, such as of an artefact that is made again, unless the settings name texts for them.
    What has no range is observed with these texts, or else with the examples of the settings and the random ids of the
    parity check. The arguments are those of `serving.export.forms.base.Form.write`.
    """

    def __init__(self, kind, tokenizers, log):
        self.kind, self.tokenizers, self.log = kind, tokenizers, log
        settings = kind.settings
        self.ranges, self.stored = {}, {} if settings.calibration else settings.ranges

    def complete(self, name, graph, weights=INSIDE):
        """Add what the graph, a float32 `ModelProto` of the exported function `name`, has and `ranges` do not.

        Its arrays are in `weights`.
        """
        keys = keys_of(graph, weights)
        self.ranges |= {key: self.stored[key] for key in sorted(keys & self.stored.keys())}
        missing = keys - self.ranges.keys()
        feeds = self._feeds(name) if missing else []
        if feeds and set(required_inputs(graph.graph)) <= feeds[0].keys():
            kind = "validation texts" if self.kind.settings.calibration else "example texts and random ids"
            self.log(f"finding the ranges of int8 with {len(feeds)} {kind}")
            self.ranges = observe(graph, feeds, weights) | self.ranges

    def _feeds(self, name):
        """Inputs of the exported function."""
        settings = self.kind.settings
        texts = (settings.calibration or settings.texts)[: TEXTS if self.kind.large else MOST]
        feeds = [feed for feed in (self.kind.graph_inputs(self.tokenizers, text) for text in texts) if feed]
        if not settings.calibration or not feeds:
            cases = self.kind.cases([tokenizer.vocab_size for tokenizer in self.tokenizers])
            feeds += [inputs for case, inputs in cases if case == name]
        short = {"max_length": np.array([TOKENS], "int32")} if self.kind.large else {}
        return [feed | short for feed in feeds]
