"""Reversible and recomputed memory: what a training step holds, by depth, for three ways to keep activations."""

import json
from pathlib import Path

import shared

SOURCE = "benchmarks/results/reformer_memory.json"  # which `python benchmarks/reformer_memory.py` measures
WAYS = {"plain": "all kept", "checkpoint": "blocks' inputs kept", "reversible": "reversible"}


def measure():
    """What the benchmark has measured, on JAX."""
    kept = json.loads((Path(__file__).resolve().parents[2] / SOURCE).read_text("utf-8"))
    rows = {row["activations"]: row for row in kept["rows"] if row["backend"] == "jax"}
    depths = [int(name.split()[0]) for name in rows["plain"] if name.endswith(" layers")]
    mib = {way: [rows[way][f"{depth} layers"] for depth in depths] for way in WAYS}
    return {"processor": kept["machine"]["processor"], "source": SOURCE, "depths": depths, "mib": mib}


def draw(found):
    figure, axes = shared.axes_of("Memory of a training step, by depth")
    colors = (shared.RED, shared.YELLOW, shared.BLUE)
    for (way, values), color in zip(found["mib"].items(), colors, strict=True):
        axes.plot(found["depths"], values, "o-", color=color, label=WAYS[way], clip_on=False)
    axes.set(xlabel="blocks", ylabel="MiB", xlim=(0, None), ylim=(0, None))
    axes.set_xticks(found["depths"])
    axes.legend()
    return figure


def says(found):
    return [f"{values[-1]:,.0f}" for values in found["mib"].values()]
