"""Attention-GRU generation in one ONNX graph against the TensorFlow SavedModel, the same weights.

    python benchmarks/decoding.py            # batch 1, 8, 32, greedy and beam 4; writes benchmarks/results/
    python benchmarks/decoding.py --quick    # batch 8, greedy, a small model; writes nothing

Bidirectional GRU encoder, additive attention, GRU(512) decoder, vocabulary 8192, 32 source tokens, 48 steps (EOS is
made impossible, so that every engine does the same work). One process, one thread an engine, engines take turns; a
cell is the median time and the median over rounds of the ratio SavedModel / engine: above 1 is faster than the
SavedModel. The tokens of float32 must be equal, else the benchmark fails; random weights say nothing about int8 tokens.
Expected: float32 at least 1.0 in every cell, int8 at least 2.5.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import tensorflow as tf
from harness.report import table
from timing import compared, measure, write

from serving.export.onnx.convert import convert, load
from serving.export.onnx.quantize import quantize
from serving.export.onnx.ranges import observe
from serving.export.signatures import find, generation
from zoo.decoding.loop import EOS
from zoo.models import Seq2Seq

FULL = {"units": 512, "vocabulary": 8192, "steps": 48, "source": 32, "batches": (1, 8, 32), "beams": (1, 4)}
QUICK = {"units": 64, "vocabulary": 512, "steps": 12, "source": 8, "batches": (8,), "beams": (1,)}


def make_model(size):
    keras.utils.set_random_seed(0)
    model = Seq2Seq(size["vocabulary"], size["vocabulary"], units=size["units"], attention="additive")
    model.build()
    model.bias.assign(np.where(np.arange(size["vocabulary"]) == EOS, -1e4, 0.0))
    return model


def engines(model, beams, size, folder):
    """`{name: function of (token_ids, lengths) -> output_ids}`."""
    signature = find(model.signatures(), "tokens")
    function = generation(model, beams, size["steps"], 0.6)
    specs = [tf.TensorSpec(spec.static_shape, spec.dtype, spec.name) for spec in signature.inputs]
    module = tf.Module()
    module.model_variables = [variable.value for variable in model.variables]
    module.tokens = tf.function(function, input_signature=specs, autograph=False)
    tf.saved_model.save(module, folder, signatures={"tokens": module.tokens})
    loaded = tf.saved_model.load(folder).signatures["tokens"]
    graph = convert(function, signature.fix(beams=beams, output_time=size["steps"]))
    ids = np.random.default_rng(1).integers(4, size["vocabulary"], (8, size["source"])).astype("int32")
    seen = observe(graph, [{"token_ids": ids, "lengths": np.full(8, size["source"], "int32")}])
    sessions = {"onnx": load(graph), "onnx_int8": load(quantize(graph, seen))}

    def saved(token_ids, lengths):
        return loaded(token_ids=tf.constant(token_ids), lengths=tf.constant(lengths))["output_ids"].numpy()

    def runner(session):
        return lambda token_ids, lengths: session.run(["output_ids"], {"token_ids": token_ids, "lengths": lengths})[0]

    return {"saved_model": saved} | {name: runner(session) for name, session in sessions.items()}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one small cell; writes nothing")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args(arguments)
    size, rows = QUICK if options.quick else FULL, []
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    model, rng = make_model(size), np.random.default_rng(0)
    for beams in size["beams"]:
        with tempfile.TemporaryDirectory() as folder:
            ready = engines(model, beams, size, str(Path(folder) / "saved_model"))
        for batch in size["batches"]:
            print(f"beam {beams}, batch {batch}", file=sys.stderr, flush=True)
            ids = rng.integers(4, size["vocabulary"], (batch, size["source"])).astype("int32")
            lengths = np.full(batch, size["source"], "int32")
            if not np.array_equal(ready["saved_model"](ids, lengths), ready["onnx"](ids, lengths)):
                raise ValueError(f"beam {beams}, batch {batch}: SavedModel and ONNX generate different tokens.")
            calls = {name: (lambda run=run: run(ids, lengths)) for name, run in ready.items()}  # noqa: B023
            taken = measure(calls, options.rounds, 0.05)
            rows.append({"beams": beams, "batch": batch, **compared(taken, "saved_model")})
    print(table(rows))
    if not options.quick:
        write("decoding", rows, rounds=options.rounds, size=size)


if __name__ == "__main__":
    main()
