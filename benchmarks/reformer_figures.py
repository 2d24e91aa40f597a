"""Draws what benchmarks/reformer_memory.py and run.py reformer measured: `python benchmarks/reformer_figures.py`."""

import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from timing import RESULTS

FIGURES = Path(__file__).parent.parent / "docs" / "zoo" / "figures"


def read(name):
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def memory():
    """MiB of one training step against the number of layers."""
    rows = read("reformer_memory")["rows"]
    figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.6), sharey=True)
    for axes, backend in zip(panels, ("tensorflow", "jax"), strict=True):
        for row in (row for row in rows if row["backend"] == backend):
            depths = [key for key in row if key.endswith(" layers")]
            axes.plot(
                [int(key.split()[0]) for key in depths], [row[key] for key in depths], "o-", label=row["activations"]
            )
        axes.set(title={"tensorflow": "TensorFlow", "jax": "JAX"}[backend], xlabel="layers", xscale="log", yscale="log")
        axes.set_xticks([2, 4, 8, 16, 32], ["2", "4", "8", "16", "32"])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    panels[0].set_yticks([50, 100, 200, 500, 1000, 2000], ["50", "100", "200", "500", "1000", "2000"])
    panels[0].set_ylabel("temporary memory of a step, MiB")
    panels[0].legend(title="activations=")
    figure.tight_layout()
    figure.savefig(FIGURES / "reformer-memory.png", dpi=130)


def times():
    """Microseconds a token against the length of a sequence."""
    rows = read("reformer_time")["rows"]
    figure, axes = plt.subplots(figsize=(6.4, 4))
    names = [key for key in dict.fromkeys(key for row in rows for key in row) if key != "length"]
    for name in names:
        points = [(row["length"], row[name]) for row in rows if row.get(name)]
        kind, _, rounds = name.partition("-")
        color = f"C{int(rounds).bit_length()}" if rounds else "black"
        style = "--s" if kind == "Hugging Face" else "-o"
        axes.plot(*zip(*points, strict=True), style, color=color, markersize=4, label=name)
    lengths = [row["length"] for row in rows]
    axes.set(xscale="log", yscale="log", xlabel="positions", ylabel="µs a token, one layer, forward and backward")
    axes.set_xticks(lengths, [f"{length:,}" for length in lengths], rotation=30)
    axes.set_yticks([50, 100, 200, 500], ["50", "100", "200", "500"])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.tight_layout()
    figure.savefig(FIGURES / "reformer-time.png", dpi=130)


if __name__ == "__main__":
    memory()
    times()
