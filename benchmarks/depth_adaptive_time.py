"""What a token costs that leaves a depth-adaptive decoder early: ONNX Runtime, one sentence at a time, one thread.

    python benchmarks/depth_adaptive_time.py           # writes results/depth_adaptive_time.json
    python benchmarks/depth_adaptive_time.py --quick   # one round; writes nothing

A decoder of the paper's size on IWSLT (6 blocks, 256 units, 1,024 hidden units), its weights untrained and its
vocabulary 10,000, so that nothing but the blocks differs: the depth at which all tokens leave is an input of the graph,
in the place of what `SequenceExit` would have chosen. The last row is a Transformer without exits. Greedy, 30 tokens;
the rows take turns; milliseconds of processor time a sentence, and the paper's FLOPs of the blocks beside them.
"""

import argparse
import os
import statistics
import time

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import onnxruntime
from harness.report import table
from timing import write

from serving.export.onnx.convert import convert
from serving.export.signatures import RESULTS
from zoo.core.signatures import Signature, TensorSpec
from zoo.decoding import greedy
from zoo.depth import SequenceExit, make_depth_adaptive_stack, make_stack
from zoo.depth.flops import decoder_flops
from zoo.models import DepthAdaptiveTransformer, Transformer

LAYERS, SIZES, WORDS, MOST, SOURCE = 6, {"units": 256, "num_heads": 4, "hidden_units": 1024}, 10_000, 30, 12
INPUTS = (
    TensorSpec("token_ids", "int32", ("batch", "time")),
    TensorSpec("lengths", "int32", ("batch",)),
    TensorSpec("depth", "int32", ("batch", 1)),
)
OUTPUTS = (
    TensorSpec("output_ids", "int32", ("batch", 1, MOST)),
    TensorSpec("output_lengths", "int32", ("batch", 1)),
    TensorSpec("scores", "float32", ("batch", 1)),
)


def session(model, fed):
    def write_(token_ids, lengths, depth=None):
        memory = model.encode(token_ids, lengths)
        memory = {**memory, "exit": depth} if fed else memory
        return dict(zip(RESULTS, greedy(model, memory, MOST, growing=True), strict=True))

    graph = convert(write_, Signature("greedy", INPUTS if fed else INPUTS[:2], OUTPUTS)).SerializeToString()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    encoder, decoder = make_stack(2, **SIZES), make_depth_adaptive_stack(LAYERS, **SIZES, exit=SequenceExit(LAYERS))
    adaptive = DepthAdaptiveTransformer(WORDS, WORDS, encoder, decoder)
    plain = Transformer(WORDS, WORDS, encoder, make_stack(LAYERS, **SIZES, cross=True))
    for model in (adaptive, plain):
        model.build()
    graphs = session(adaptive, True), session(plain, False)
    inputs = {"token_ids": np.arange(4, 4 + SOURCE, dtype="int32")[None], "lengths": np.array([SOURCE], "int32")}
    calls = {f"all at {n}": (graphs[0], {**inputs, "depth": np.full((1, 1), n, "int32")}) for n in range(1, LAYERS + 1)}
    calls["no exits"] = graphs[1], inputs
    taken, tokens = {name: [] for name in calls}, {}
    for _ in range(1 if options.quick else options.rounds + 1):
        for name, (graph, feed) in calls.items():
            start = time.process_time()
            _, lengths, _ = graph.run(None, feed)
            taken[name].append(1e3 * (time.process_time() - start))
            tokens[name] = min(int(lengths[0, 0]) + 1, MOST)
    rows = []
    for depth, name in enumerate(calls, start=1):
        spent = statistics.median(taken[name][1:] or taken[name])
        exits = np.full(tokens[name], min(depth, LAYERS))
        flops = decoder_flops(exits, LAYERS, SIZES["units"], SIZES["hidden_units"], SOURCE)
        row = {"leave": name, "tokens": tokens[name], "ms a sentence": round(spent, 2)}
        rows.append(
            {
                **row,
                "us a token": round(1e3 * spent / tokens[name]),
                "MFLOPs a token": round(flops / tokens[name] / 1e6, 2),
            }
        )
    if not options.quick:
        write("depth_adaptive_time", rows, rounds=options.rounds)
    print(table(rows))


if __name__ == "__main__":
    main()
