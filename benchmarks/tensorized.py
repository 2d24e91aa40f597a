"""Multi-linear attention: parameters beside multi-head attention's, the collapse of its cores, O(N^3) memory.

    python benchmarks/tensorized.py            # writes benchmarks/results/tensorized.json and the figure
    python benchmarks/tensorized.py --quick    # small sizes; writes nothing

Memory is XLA's own account of the temporary buffers of a compiled forward pass; time is the median of interleaved
rounds. Sizes: 256 units, rank 40, one sequence; multi-head attention has 8 heads.
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
PAPER = {  # table 4: units (ours to choose: d_model is d_head), rank, cores, length
    "released script, PTB": (256, 40, 1, 32),
    "PTB": (512, 40, 2, 30),
    "WikiText-103": (512, 100, 2, 100),
    "One-Billion": (1024, 40, 2, 30),
}


def parameter_rows():
    rows = []
    for name, (units, rank, cores, time) in PAPER.items():
        layer = MultiLinearAttention(units, rank, time, cores)
        layer.build((None, None, units))
        heads = MultiHeadAttention(units, 8, use_bias=False)
        heads.build((None, None, units))
        own, output = layer.attention_parameters, layer.count_params() - layer.attention_parameters
        rows.append(
            {"size": name, "d, R, h, N": f"{units}, {rank}, {cores}, {time}", "3 d R + h R": own, "W_O: N^2 d": output}
            | {"multi-head, 4 d^2": heads.count_params()}
            | {"without W_O, multi-head / ours": round(0.75 * heads.count_params() / own, 1)}
            | {"with W_O, multi-head / ours": round(heads.count_params() / (own + output), 2)}
        )
    return rows


def collapse():
    """Largest difference between the mean of four cores' tensors and the tensor of their mean, in float64."""
    random = np.random.default_rng(1)
    cores = np.exp(random.normal(size=(4, 40)))
    cores /= cores.sum(axis=1, keepdims=True)
    query, keys, values = (random.normal(size=(30, 40)) for _ in range(3))

    def tensor(core):
        return np.einsum("r,ir,jr,mr->ijm", core, query, keys, values)

    mean = np.mean([tensor(core) for core in cores], axis=0)
    corollary = np.einsum("ir,r,mr->im", query, cores[0] * keys.sum(axis=0), values)
    return {
        "four cores - their mean": float(np.abs(mean - tensor(cores.mean(axis=0))).max()),
        "sum_j A_ijm - (q g sum_j k_j) v": float(np.abs(tensor(cores[0]).sum(axis=1) - corollary).max()),
        "largest entry": float(np.abs(mean).max()),
    }


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
    parameters, found = parameter_rows(), collapse()
    rows = cost_rows((8, 16), 1, 0.01) if options.quick else cost_rows((16, 32, 64, 128, 256), 5, 0.3)
    print(table(parameters), table([found]), table(rows), sep="\n\n")
    if not options.quick:
        write("tensorized", rows, parameters=parameters, collapse=found)
        draw(rows, FIGURE)


if __name__ == "__main__":
    main()
