"""Time against length: a Star-Transformer and a Transformer's encoder of the same units.

    python benchmarks/star_time.py           # writes benchmarks/results/star_time.json
    python benchmarks/star_time.py --quick   # two lengths, one round; writes nothing

One text, 128 units, 4 heads, two layers, compiled by XLA (backend of KERAS_BACKEND, JAX unless said otherwise), without
training. Rivals: "block", attention and a feed-forward layer of 256; "attention", the attentions of those blocks alone.
Milliseconds of the process's CPU time, which a busy machine disturbs less: the median of five measurements.
"""

import argparse
import os
import statistics
import time

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
from harness.report import table
from timing import write

from zoo.attention import MultiHeadAttention
from zoo.depth import make_stack, make_star_stack

LENGTHS = 32, 64, 128, 256, 512, 1024, 2048
UNITS, HEADS = 128, 4


def compiled(layers, x):
    """Runs the layers one after the other on `x`."""
    for layer in layers:
        layer(x)

    def run(x):
        for layer in layers:
            x = layer(x)
        return x

    if keras.backend.backend() == "jax":
        import jax

        program, x = jax.jit(run), jax.device_put(x)
        return lambda: jax.block_until_ready(program(x))
    import tensorflow as tf

    program, x = tf.function(run, jit_compile=True, autograph=False), tf.constant(x)
    return lambda: program(x).numpy()


def milliseconds(call, rounds):
    """The median, over rounds of at least 30 ms each."""
    call()
    start = time.process_time()
    call()
    times, taken = max(1, round(0.03 / max(time.process_time() - start, 1e-4))), []
    for _ in range(rounds):
        start = time.process_time()
        for _ in range(times):
            call()
        taken.append(1e3 * (time.process_time() - start) / times)
    return statistics.median(taken)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    engines = {
        "star": [make_star_stack(2, UNITS, HEADS)],
        "block": [make_stack(2, UNITS, HEADS, 256, "post_norm", dropout=0.0)],
        "attention": [MultiHeadAttention(UNITS, HEADS) for _ in range(2)],
    }
    lengths = LENGTHS[:2] if options.quick else LENGTHS
    rows = [{"positions": length} for length in lengths]
    for name, layers in engines.items():
        for row in rows:
            x = np.random.default_rng(0).normal(size=(1, row["positions"], UNITS)).astype("float32")
            row[f"{name}_ms"] = round(milliseconds(compiled(layers, x), 1 if options.quick else options.rounds), 2)
    if not options.quick:
        write("star_time", rows, backend=keras.backend.backend())
    print(table(rows))


if __name__ == "__main__":
    main()
