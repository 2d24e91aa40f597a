"""Where two runtimes answer differently: how far apart were the two best, by the int8 graph and in float32?"""

import math

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from zoo.text.base import BOS, EOS

JITTERS = 8


def with_history(content):
    """A model whose search tells the log-probabilities of all tokens, as "history (steps, 1, beams, vocabulary)"."""
    model = onnx.load_model_from_string(content)
    (loop,) = (node for node in model.graph.node if node.op_type == "Loop")
    body = next(each for each in loop.attribute if each.name == "body").g
    (node,) = (node for node in body.node if node.op_type == "LogSoftmax")
    body.node.append(helper.make_node("Identity", [node.output[0]], ["history/step"]))
    body.output.append(helper.make_tensor_value_info("history/step", TensorProto.FLOAT, None))
    loop.output.append("history")
    model.graph.output.append(helper.make_tensor_value_info("history", TensorProto.FLOAT, None))
    return model.SerializeToString()


def jittered(content, seed):
    """A model in which each input of a quantised product is moved by at most one unit in the last place of float32."""
    model, random, shapes = onnx.load_model_from_string(content), np.random.default_rng(seed), {}

    def walk(graph):
        shapes.update((each.name, each.dims) for each in graph.initializer)
        changed, widths = [], {}
        for node in graph.node:
            if node.op_type == "MatMulIntegerToFloat" and node.input[1] in shapes:
                widths[node.input[0]] = shapes[node.input[1]][0]
        for number, node in enumerate(graph.node):
            for each in node.attribute:
                if each.HasField("g"):
                    walk(each.g)
            if node.op_type == "QuantizeLinear" and node.output[0] in widths:
                name, inputs = f"{graph.name}/jitter/{number}", widths[node.output[0]]
                factors = 1 + random.choice([-1, 0, 1], inputs) * 2.0**-23
                graph.initializer.append(numpy_helper.from_array(factors.astype("float32"), f"{name}/factors"))
                changed.append(helper.make_node("Mul", [node.input[0], f"{name}/factors"], [name]))
                node.input[0] = name
            changed.append(onnx.NodeProto.FromString(node.SerializeToString()))
        del graph.node[:]
        graph.node.extend(changed)

    walk(model.graph)
    return model.SerializeToString()


class Ties:
    """The gaps of one model between its own answer and another one.

    Args:
        runtime: `serving.runtime.Runtime` of the int8 graphs, with one thread.
        model: the same in Keras, in float32.
    """

    def __init__(self, runtime, model):
        self.manifest, self.model = runtime._loaded.manifest, model
        artefact = runtime._loaded.artefact
        name = artefact.preferred_file(self.manifest["generation"][str(self.manifest["default_beam"])])
        content = artefact.read(name)
        self.session = _opened(with_history(content))
        self.jittered = [_opened(jittered(content, seed)) for seed in range(JITTERS)]

    def row(self, source, ids, page, inside):
        """What is known of two answers to the ids `source`: `ids`, and those that the page gave.

        Args:
            page: the result of the page, with `ids` and `hypotheses`.
            inside: what the page says of it.

        Returns: a dict with the first `step` that differs, and the gaps, in nats: `int8`, how much better Python's
        graph finds its own choice than the page's; `page`, how much better the page's graph finds that of the page;
        `float32`, the same as `int8` in Keras; `moved`, by how much the two graphs differ about Python's choice.
        None where a choice is not among those that are told. `itself` is how many of `JITTERS` times Python's own
        graph answers otherwise once it is `jittered`.
        """
        pairs = zip([*ids, EOS], [*page["ids"], EOS], strict=False)
        step = next(place for place, (own, other) in enumerate(pairs) if own != other)
        of = self._of_token if self.manifest["kind"] == "continue" else self._of_text
        gaps = {key: _rounded(gap) for key, gap in of(source, ids, page, inside, step).items()}
        return {"step": step, **gaps, "itself": sum(_best(session, source) != list(ids) for session in self.jittered)}

    def _of_token(self, source, ids, page, inside, step):
        """The gaps between two tokens that follow the same ones."""
        own, other = ([*each, EOS][step] for each in (ids, page["ids"]))
        told = _asked(self.session, source)["history"][step, 0, 0]
        tokens = inside.get("tokens", [])[step : step + 1]
        shown = {each["id"]: math.log(each["probability"]) for token in tokens for each in token["others"]}
        exact = self._next([BOS, *source, *ids[:step]])
        return {
            "int8": told[own] - told[other],
            "page": shown[other] - shown[own] if {own, other} <= shown.keys() else None,
            "float32": exact[own] - exact[other],
            "moved": abs(told[own] - shown[own]) if own in shown else None,
        }

    def _of_text(self, source, ids, page, inside, step):
        """The gaps between the scores of two whole outputs."""
        found = _asked(self.session, source)
        rows = zip(found["output_ids"][0], found["output_lengths"][0], found["scores"][0], strict=True)
        told = {tuple(row[:length].tolist()): score for row, length, score in rows}
        shown = {tuple(each["ids"]): each["score"] for each in page["hypotheses"]}
        own, other = tuple(ids), tuple(page["ids"])
        return {
            "int8": told[own] - told[other] if other in told else None,
            "page": shown[other] - shown[own] if own in shown else None,
            "float32": self._score(source, ids) - self._score(source, page["ids"]),
            "moved": abs(told[own] - shown[own]) if own in shown else None,
        }

    def _next(self, ids):
        """The log-probabilities of what follows some ids, in float32."""
        inputs = {"token_ids": np.array([ids], "int32"), "lengths": np.array([len(ids)], "int32")}
        return _log_softmax(np.asarray(self.model(inputs))[0, -1])

    def _score(self, source, ids):
        """The score of an output, in float32: the sum of its log-probabilities, divided as the search does it."""
        most = self.manifest["max_length"]
        whole = [*ids, EOS][:most]
        inputs = {
            "source_ids": np.array([source], "int32"),
            "source_lengths": np.array([len(source)], "int32"),
            "target_ids": np.array([[BOS, *whole[:-1]]], "int32"),
        }
        rows = _log_softmax(np.asarray(self.model(inputs))[0])
        total = sum(row[id] for row, id in zip(rows, whole, strict=True))
        return total / ((5 + len(whole)) / 6) ** self.manifest["alpha"]


def _opened(content):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    return onnxruntime.InferenceSession(content, options, disabled_optimizers=["SkipLayerNormFusion"])


def _asked(session, source):
    """The outputs for the ids of a text, by name."""
    inputs = {"token_ids": np.array([source], "int32").reshape(1, -1), "lengths": np.array([len(source)], "int32")}
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs), strict=True))


def _best(session, source):
    found = _asked(session, source)
    return found["output_ids"][0, 0, : found["output_lengths"][0, 0]].tolist()


def _log_softmax(rows):
    rows = rows.astype("float64") - rows.max(axis=-1, keepdims=True)
    return rows - np.log(np.exp(rows).sum(axis=-1, keepdims=True))


def _rounded(gap):
    return None if gap is None else round(float(gap), 5)
