"""A Transformer's whole generation in one ONNX graph against CTranslate2 and the SavedModel, the same weights.

    python benchmarks/transformer_decoding.py               # all 12 cells; writes benchmarks/results/
    python benchmarks/transformer_decoding.py --quick       # 3+3 layers, batch 1; writes nothing
    python benchmarks/transformer_decoding.py --folder DIR  # keep what is exported there, and use what lies there

Pre-norm, 512 units, 8 heads, 2048 hidden units, vocabulary 8192; 32 source tokens, 48 steps (EOS is made impossible, so
that every engine does the same work). One process, one thread an engine, engines take turns; a cell is the median time
and the median over rounds of the ratios of times: below 1 is faster than the one behind the stroke. The float32 tokens
of all engines must be equal, else the benchmark fails; random weights say nothing about int8 tokens.
Expected: ours / CTranslate2 below 1, geometric mean of all cells and both precisions 0.85 or less.

The stock export (`model.export(format="onnx")`) has no column: it writes a file that onnxruntime refuses to load. The
run tries it and keeps the message.
"""

import argparse
import itertools
import os
import statistics
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import ctranslate2_peer
import keras
import numpy as np
import onnxruntime
import tensorflow as tf
from timing import measure, table, write

from serving.export.onnx.convert import convert
from serving.export.onnx.convert import write as write_onnx
from serving.export.onnx.quantize import quantize
from serving.export.signatures import find, generation
from serving.runtime.sessions import session_options
from zoo.decoding.loop import EOS
from zoo.depth import make_stack
from zoo.models import Transformer

SIZE = {"units": 512, "heads": 8, "hidden": 2048, "vocabulary": 8192, "source": 32, "steps": 48, "alpha": 0.6}
LAYERS, BEAMS, BATCHES = (3, 6), (1, 4), (1, 8, 32)
PAIRS = (("onnx", "ctranslate2"), ("onnx_int8", "ctranslate2_int8"), ("onnx", "saved_model"))
NOTES = (
    "Where the time goes (onnxruntime's profile, 3+3 layers, greedy). float32, batch 1: products 77 %, attention 7 %; "
    "batch 32: products 77 % (half of it the encoder), attention 15 %. int8, batch 1: products 71 %, attention 9 %; "
    "batch 32: products 74 % (half of it the encoder), attention with its float32 keys and values 19 %.",
    "Measured and left out: one product for query, key and value (0 to 2 % slower); SkipLayerNormalization (6 times as "
    "long as the addition and the norm); MatMulNBits, 8 bits, a scale per row (1.1 to 1.9 times as long at one row, 2 "
    "to 3 times from four on); a top-k in two stages (1 to 2 % faster at batch 32, 1 % slower at batch 1).",
)


def make_model(layers, size=SIZE):
    """Random weights: EOS never wins, and a token depends on more than the one before it."""
    keras.utils.set_random_seed(0)
    stacks = [
        make_stack(layers, size["units"], size["heads"], size["hidden"], cross=cross, dropout=0.0)
        for cross in (False, True)
    ]
    model = Transformer(size["vocabulary"], size["vocabulary"], *stacks, dropout=0.0)
    model.build()
    for block in model.decoder.blocks:  # branches that outweigh the embedding of the last token
        for layer in (block.attention, block.cross_attention, block.feedforward):
            kernel = layer.output_projection.kernel
            kernel.assign(16.0 * kernel)
    shift, matrix = np.zeros(size["units"], "float32"), keras.ops.convert_to_numpy(model.target_embedding.matrix).copy()
    shift[0], matrix[:, 0], matrix[EOS] = 5.0, 0.0, 0.0
    matrix[EOS, 0] = -200.0  # component 0 of what is multiplied by the matrix is about 5, and only EOS looks at it
    model.decoder.final_norm.beta.assign(shift)
    model.target_embedding.matrix.assign(matrix)
    return model


def export(layers, beams, folder):
    """Write what the engines of `(layers, beams)` load, unless it is there."""
    if (folder / "onnx_int8.onnx").exists():  # the last one
        return
    folder.mkdir(parents=True, exist_ok=True)
    model = make_model(layers)
    signature = find(model.signatures(), "tokens")
    function = generation(model, beams, SIZE["steps"], SIZE["alpha"])
    ctranslate2_peer.save(model, folder / "ctranslate2")
    specs = [tf.TensorSpec(spec.static_shape, spec.dtype, spec.name) for spec in signature.inputs]
    module = tf.Module()
    module.model_variables = [variable.value for variable in model.variables]
    module.tokens = tf.function(function, input_signature=specs, autograph=False)
    tf.saved_model.save(module, str(folder / "saved_model"), signatures={"tokens": module.tokens})
    graph = convert(function, signature.fix(beams=beams, output_time=SIZE["steps"]), folder / "onnx.onnx")
    write_onnx(quantize(graph), folder / "onnx_int8.onnx")


def engines(beams, folder, threads):
    """`{name: function of (token_ids, lengths) -> ids (batch, steps)}`."""
    peer = {"ctranslate2": "float32", "ctranslate2_int8": "int8"}
    found = {
        name: ctranslate2_peer.runner(folder / "ctranslate2", precision, beams, SIZE["steps"], threads)
        for name, precision in peer.items()
    }
    loaded = tf.saved_model.load(str(folder / "saved_model")).signatures["tokens"]

    def saved(token_ids, lengths):
        return loaded(token_ids=tf.constant(token_ids), lengths=tf.constant(lengths))["output_ids"].numpy()[:, 0]

    def onnx(name):
        session = onnxruntime.InferenceSession(str(folder / f"{name}.onnx"), session_options(threads))
        return lambda token_ids, lengths: session.run(["output_ids"], dict(token_ids=token_ids, lengths=lengths))[0][
            :, 0
        ]

    return {**found, "saved_model": saved, **{name: onnx(name) for name in ("onnx", "onnx_int8")}}


def stock():
    """What onnxruntime says to the stock export of a small model, or "loads"."""
    model = make_model(1, {**SIZE, "units": 16, "heads": 2, "hidden": 32, "vocabulary": 64})
    shapes = {"source_ids": (None, None), "source_lengths": (None,), "target_ids": (None, None)}
    model({name: np.ones([2] * len(shape), "int32") for name, shape in shapes.items()})
    specs = {name: tf.TensorSpec(shape, "int32", name) for name, shape in shapes.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "stock.onnx")
        try:
            model.export(path, format="onnx", verbose=False, input_signature=[specs])
            onnxruntime.InferenceSession(path, session_options(1))
        except Exception as error:  # onnxruntime's errors share no base but Exception
            return str(error).replace(folder, "")
    return "loads"


def row_of(cell, ready, rounds):
    """The measured row of one cell; fails if float32 engines disagree."""
    layers, beams, batch = cell
    ids = np.random.default_rng(0).integers(4, SIZE["vocabulary"], (batch, SIZE["source"])).astype("int32")
    lengths = np.full(batch, SIZE["source"], "int32")
    tokens = {name: run(ids, lengths) for name, run in ready.items() if "int8" not in name}
    for name, found in tokens.items():
        if not np.array_equal(found, tokens["onnx"]):
            raise ValueError(f"{cell}: expected the same tokens, but {name} and onnx differ.")
    taken = measure({name: (lambda run=run: run(ids, lengths)) for name, run in ready.items()}, rounds, 0.2)
    row = {"layers": layers, "beams": beams, "batch": batch}
    row |= {f"{name}_ms": round(1e3 * statistics.median(times), 1) for name, times in taken.items()}
    for ours, peer in PAIRS:
        ratios = [a / b for a, b in zip(taken[ours], taken[peer], strict=True)]
        row[f"{ours}/{peer}"] = round(statistics.median(ratios), 2)
    return row


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two small cells; writes nothing")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args(arguments)
    tf.config.threading.set_intra_op_parallelism_threads(options.threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    cells = [(3, beams, 1) for beams in BEAMS] if options.quick else list(itertools.product(LAYERS, BEAMS, BATCHES))
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        root = options.folder or Path(temporary)
        for (layers, beams), group in itertools.groupby(cells, lambda cell: cell[:2]):
            folder = root / f"{layers}_layers_beam_{beams}"
            export(layers, beams, folder)
            ready = engines(beams, folder, options.threads)
            for cell in group:
                rows.append(row_of(cell, ready, options.rounds))
                print(rows[-1], file=sys.stderr, flush=True)
    print(table(rows))
    ratios = [row[f"{ours}/{peer}"] for row in rows for ours, peer in PAIRS[:2]]
    mean = round(statistics.geometric_mean(ratios), 3)
    print(
        f"\nours / CTranslate2: geometric mean {mean}, below 1 in {sum(r < 1 for r in ratios)} of {len(ratios)} cells"
    )
    if not options.quick:
        more = {"rounds": options.rounds, "threads": options.threads, "size": SIZE, "geometric_mean": mean}
        write("transformer_decoding", rows, **more, notes=NOTES, stock=stock(), ctranslate2=version("ctranslate2"))


if __name__ == "__main__":
    main()
