"""A Depth-Adaptive Transformer in ONNX and SavedModel: exits are live, and blocks that all have left rest."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import tensorflow as tf

from serving.export import export
from serving.export.onnx.convert import convert, load
from serving.export.onnx.graphs import walk
from serving.export.signatures import find, generation
from serving.runtime.artefact import read_manifest
from tests.serving.conftest import randomised, settings_of, sides
from tests.serving.export.onnx.conftest import saved
from zoo.core.signatures import Signature, TensorSpec
from zoo.decoding.loop import BOS
from zoo.depth import (
    ConfidenceExit,
    GeometricExit,
    make_depth_adaptive_stack,
    make_stack,
)
from zoo.models import DepthAdaptiveTransformer

LAYERS, STEPS = 4, 6
SOURCE = TensorSpec("token_ids", "int32", ("batch", "time")), TensorSpec("lengths", "int32", ("batch",))
COUNTED = TensorSpec("ids", "int32", ("batch", 1)), TensorSpec("ran", "int32", ())


def made(rule, vocabularies=(20, 20), tied=True, units=8):
    decoder = make_depth_adaptive_stack(LAYERS, units, 2, 2 * units, rule)
    model = DepthAdaptiveTransformer(*vocabularies, make_stack(1, units, 2, 2 * units), decoder, tied=tied)
    randomised(model, seed=3)
    random = np.random.default_rng(6)
    ids = random.integers(4, min(vocabularies), (20, 5)).astype("int32")
    inputs = {"source_ids": ids, "source_lengths": np.full(20, 5, "int32"), "target_ids": ids}
    for _ in range(50 if rule.traits.over else 0):  # until tokens leave here and there
        for weight, scale in zip(rule.dense.weights, (3.0, 0.0), strict=True):
            weight.assign(random.normal(0, scale, weight.shape))
        if len(np.unique(model.think(inputs)["exits"])) == LAYERS:
            break
    return model


def counting(model):
    """Greedy steps: the last tokens, and how many blocks were run in all of them."""

    def count(token_ids, lengths):
        memory = model.encode(token_ids, lengths)
        tokens, state = model.start(memory)

        def step(position, tokens, ran, state):
            logits, thought, state = model.think_step(tokens, state, memory)
            following = tf.cast(tf.math.top_k(logits, 1).indices[:, :, 0], tf.int32)
            return position + 1, following, ran + thought["ran"], state

        first = tf.constant(0), tokens, tf.constant(0), state
        invariants = tf.nest.map_structure(lambda leaf: tf.TensorShape([None] * leaf.shape.rank), first)
        invariants[3]["caches"] = tf.nest.map_structure(
            lambda leaf: tf.TensorShape([None, leaf.shape[1], None, leaf.shape[3]]), state["caches"]
        )
        _, tokens, ran, _ = tf.while_loop(lambda at, *_: at < STEPS, step, first, shape_invariants=invariants)
        return {"ids": tokens, "ran": ran}

    return count


@pytest.mark.release(but="confidence")
@pytest.mark.slow
@pytest.mark.parametrize(
    "rule", [lambda: GeometricExit(LAYERS), lambda: ConfidenceExit(LAYERS, 0.35)], ids=["geometric", "confidence"]
)
def test_blocks_that_all_have_left_are_not_run_anywhere(rule, tmp_path):
    """The count comes from inside the branch of the condition; alone, and in batches that wait for their slowest."""
    model, random, found = made(rule()), np.random.default_rng(0), set()
    count = counting(model)
    converted = convert(count, Signature("count", SOURCE, COUNTED))
    (body,) = [graph for graph in walk(converted.graph) if sum(node.op_type == "If" for node in graph.node) > 2]
    assert sum(node.op_type == "MultiHeadAttention" for node in body.node) == 2, "the first block alone always runs"
    loaded, session = saved(count, model, SOURCE, tmp_path), load(converted)
    for batch, time in ((1, 1), (1, 3), (1, 5), (1, 4), (3, 5), (5, 2)):
        inputs = {"token_ids": random.integers(4, 20, (batch, time)).astype("int32")}
        inputs["lengths"] = random.integers(1, time + 1, batch).astype("int32")
        expected = count(**{name: tf.constant(value) for name, value in inputs.items()})
        other = loaded.function(**{name: tf.constant(value) for name, value in inputs.items()})
        for received in (session.run(["ids", "ran"], inputs), [other["ids"], other["ran"]]):
            np.testing.assert_array_equal(received[0], expected["ids"])
            assert int(received[1]) == int(expected["ran"])
        found.add(int(expected["ran"]))
    assert STEPS <= min(found) <= max(found) <= LAYERS * STEPS
    assert len(found) > 1 or not isinstance(model.decoder.exit, GeometricExit), found


@pytest.mark.slow
def test_onnxruntime_executes_as_many_attentions_as_the_exits_say(tmp_path):
    """By its own profile of a whole greedy decoding: two for each block that a token enters, one for the encoder."""
    model = made(GeometricExit(LAYERS))
    function = generation(model, 1, STEPS, 0.6)
    converted = convert(function, find(model.signatures(), "greedy").fix(beams=1, output_time=STEPS))
    options = onnxruntime.SessionOptions()
    options.enable_profiling, options.profile_file_prefix = True, str(tmp_path / "profile")
    session = onnxruntime.InferenceSession(converted.SerializeToString(), options, providers=["CPUExecutionProvider"])
    expected = 0
    for seed, time in enumerate((3, 5, 7, 4)):
        ids = np.random.default_rng(seed).integers(4, 20, (1, time)).astype("int32")
        lengths = np.array([time], "int32")
        written, length, _ = session.run(
            ["output_ids", "output_lengths", "scores"], {"token_ids": ids, "lengths": lengths}
        )
        steps = min(int(length[0, 0]) + 1, STEPS)
        targets = np.concatenate([[BOS], written[0, 0, : steps - 1]])[None].astype("int32")
        exits = model.think({"source_ids": ids, "source_lengths": lengths, "target_ids": targets})["exits"]
        expected += 1 + 2 * int(np.sum(exits))
        assert expected < (seed + 1) * (1 + 2 * LAYERS * STEPS)
    events = json.loads(Path(session.end_profiling()).read_text(encoding="utf-8"))
    kernels = [event for event in events if event["name"].endswith("_kernel_time")]
    assert Counter(event["args"]["op_name"] for event in kernels)["MultiHeadAttention"] == expected


@pytest.mark.release
def test_an_artefact_has_parity(tokenizers, tmp_path):
    model = made(GeometricExit(LAYERS), [tokenizer.vocab_size for tokenizer in tokenizers], units=16)
    artefact = export(model, sides("generate", tokenizers), tmp_path, settings_of("generate"))
    parity = read_manifest(artefact)["parity"]
    assert parity["passed"] and parity["max_abs_diff"] <= 1e-4
