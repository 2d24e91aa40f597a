"""Multi-linear attention: memory of O(N^3) and time, beside multi-head attention.

    python benchmarks/tensorized.py            # writes benchmarks/results/tensorized.json and the figure
    python benchmarks/tensorized.py --quick    # small sizes; writes nothing

Memory is XLA's own account of the temporary buffers of a compiled forward pass; time is the median of interleaved
rounds. Sizes: 256 units, rank 40, one sequence; multi-head attention has 8 heads. `seqzoo reproduce tensorized` counts
parameters and compares cores.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")

import jax
import numpy as np
from harness.report import table
from timing import measure, write

from zoo.attention import MultiHeadAttention, MultiLinearAttention

FIGURE = Path(__file__).parents[1] / "docs" / "zoo" / "figures" / "tensorized.png"


def cost_rows(times, rounds, least):
    rows = []
    for time in times:
        layers = {
            "multi-linear": MultiLinearAttention(256, 40, time, 1),
            "reconstruct": MultiLinearAttention(256, 40, time, 1, "reconstruct"),
            "multi-head": MultiHeadAttention(256, 8),
        }
        x = np.random.default_rng(0).normal(size=(1, time, 256)).astype("float32")
        row, calls = {"N": time}, {}
        for name, layer in layers.items():
            layer.build((None, None, 256))
            program = jax.jit(lambda x, layer=layer: layer(x, causal=True)).lower(x).compile()
            row[f"{name}, MiB"] = round(program.memory_analysis().temp_size_in_bytes / 2**20, 2)
            calls[name] = lambda program=program, x=x: jax.block_until_ready(program(x))
        taken = measure(calls, rounds, least)
        rows.append(row | {f"{name}, ms": round(1e3 * float(np.median(each)), 2) for name, each in taken.items()})
    return rows


def draw(rows, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(5.5, 3.6), layout="constrained")
    times = np.array([row["N"] for row in rows])
    for name, style in (("multi-linear", "o-"), ("multi-head", "s--"), ("reconstruct", "^:")):
        axes.plot(times, [row[f"{name}, MiB"] for row in rows], style, label=name)
    axes.plot(times, 4 * times.astype(float) ** 3 / 2**20, color="0.6", lw=0.8, label="4 N^3 bytes")
    axes.set(xscale="log", yscale="log", xlabel="positions N", ylabel="temporary memory of a pass, MiB")
    axes.set_xticks(times, times)
    axes.minorticks_off()
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    figure.savefig(path, dpi=150)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes; writes nothing")
    options = parser.parse_args(arguments)
    rows = cost_rows((8, 16), 1, 0.01) if options.quick else cost_rows((16, 32, 64, 128, 256), 5, 0.3)
    print(table(rows))
    if not options.quick:
        write("tensorized", rows)
        draw(rows, FIGURE)


if __name__ == "__main__":
    main()
