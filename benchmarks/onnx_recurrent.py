"""Stock export of recurrent layers (`model.export(format="onnx")`) against ours, in onnxruntime.

    python benchmarks/onnx_recurrent.py            # all cells; writes benchmarks/results/
    python benchmarks/onnx_recurrent.py --quick    # three cells; writes nothing

Same Keras layer, same weights, same data, one process, one thread. Engines take turns in every round and are loaded
afresh for it: a session keeps the luck of where its weights lie in memory, worth up to a factor of two at batch 1. A
cell is the median time and the median over rounds of the ratio stock / ours. Expected: at least 1.8 where the stock
export holds a Loop, and 0.95 or more (the same operator, within noise) elsewhere.
"""

import argparse
import itertools
import os
import sys
import tempfile
from functools import partial
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
import onnx
import tensorflow as tf
from harness.report import table
from keras import layers, ops
from timing import compared, seconds, write

from serving.export.onnx.convert import convert, load
from serving.export.onnx.graphs import walk
from zoo.core.signatures import Signature, TensorSpec

KINDS = {"GRU": layers.GRU, "LSTM": layers.LSTM}
CELLS = ("layer", "masked", "units", "batch", "time")
FULL = list(itertools.product(KINDS, (False, True), (256, 512), (1, 16), (64, 256)))
QUICK = [("GRU", True, 256, 16, 64), ("LSTM", True, 256, 1, 64), ("LSTM", False, 256, 1, 64)]
FASTER, EQUAL = 1.8, 0.95


class Encoder(keras.Model):
    """One recurrent layer over sequences, padded ones if `masked`."""

    def __init__(self, kind, units, masked):
        super().__init__()
        self.layer = KINDS[kind](units, return_sequences=True)
        self.masked = masked

    def call(self, sequences, lengths=None):
        mask = None
        if self.masked:
            mask = ops.arange(ops.shape(sequences)[1])[None, :] < lengths[:, None]
        return self.layer(sequences, mask=mask)


def exported(kind, masked, units, folder):
    """ONNX models by engine, and whether the stock one holds a Loop."""
    keras.utils.set_random_seed(0)
    model = Encoder(kind, units, masked)
    specs = [TensorSpec("sequences", "float32", ("batch", "time", units))]
    if masked:
        specs.append(TensorSpec("lengths", "int32", ("batch",)))
    model(*(np.ones([axis or 2 for axis in spec.static_shape], spec.dtype) for spec in specs))
    path = str(Path(folder) / "stock.onnx")
    tensors = [tf.TensorSpec(s.static_shape, s.dtype, name=s.name) for s in specs]
    model.export(path, format="onnx", verbose=False, input_signature=tensors)
    stock = onnx.load(path)
    output = TensorSpec("outputs", "float32", ("batch", "time", units))
    signature = Signature("encoder", tuple(specs), (output,))
    ours = convert(lambda **inputs: {"outputs": model(**inputs)}, signature)
    models = {"stock": stock, "ours": ours}
    loop = any(node.op_type == "Loop" for graph in walk(stock.graph) for node in graph.node)
    return models, loop


def data(masked, units, batch, time):
    """Random sequences; where masked, the first row is full and the others at least half full."""
    random = np.random.default_rng(0)
    inputs = {"sequences": random.normal(size=(batch, time, units)).astype("float32")}
    if masked:
        lengths = random.integers(time // 2, time + 1, batch)
        lengths[0] = time
        inputs["lengths"] = lengths.astype("int32")
    return inputs


def measure(models, inputs, rounds, least):
    """`{name: [seconds per call] * rounds}`; a turn is a fresh session, warmed up, for `least` seconds or more."""
    taken = {name: [] for name in models}
    for _ in range(rounds):
        for name, model in models.items():
            call = partial(load(model).run, None, inputs)
            call()
            taken[name].append(seconds(call, max(1, round(least / seconds(call, 1)))))
    return taken


def row_of(cell, models, loop, rounds, least):
    """The measured row of one cell; fails if the engines disagree."""
    inputs = data(*cell[1:])
    (stock,), (ours,) = (load(models[name]).run(None, inputs) for name in ("stock", "ours"))
    difference = float(np.abs(stock - ours).max())
    if difference > 1e-5:
        raise ValueError(f"{cell}: stock and ours differ: expected 1e-5, received {difference:.1e}.")
    row = dict(zip(CELLS, cell, strict=True)) | {"stock_has_loop": loop, "difference": difference}
    row |= compared(measure(models, inputs, rounds, least), "stock")
    row["met"] = row["stock/ours"] >= (FASTER if loop else EQUAL)
    return row


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="three cells; writes nothing")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args(arguments)
    cells, least, rows = (QUICK, 0.01, []) if options.quick else (FULL, 0.05, [])
    for (kind, masked, units), group in itertools.groupby(cells, lambda cell: cell[:3]):
        with tempfile.TemporaryDirectory() as folder:
            models, loop = exported(kind, masked, units, folder)
        for cell in group:
            print(f"\r{len(rows) + 1}/{len(cells)} {cell}  ", end="", file=sys.stderr, flush=True)
            rows.append(row_of(cell, models, loop, options.rounds, least))
    print(file=sys.stderr)
    print(table(rows))
    loops = [row["stock/ours"] for row in rows if row["stock_has_loop"]]
    missed = sum(not row["met"] for row in rows)
    print(f"\n{len(rows) - missed} of {len(rows)} cells met; least where stock loops: {min(loops)}")
    if not options.quick:
        bar = {"loop": FASTER, "same_operator": EQUAL}
        write("onnx_recurrent", rows, rounds=options.rounds, bar=bar)


if __name__ == "__main__":
    main()
