"""What O(n^2) costs: the time of two layers by the length of a text, by attention among all positions and by a star."""

import json
from pathlib import Path

import shared

SOURCE = "benchmarks/results/star_time.json"  # which `python benchmarks/star_time.py` measures
WAYS = {"attention_ms": "attention", "block_ms": "Transformer blocks", "star_ms": "star"}


def measure():
    """What the benchmark has measured: milliseconds of processor time for one text."""
    kept = json.loads((Path(__file__).resolve().parents[2] / SOURCE).read_text("utf-8"))
    found = {way: [row[way] for row in kept["rows"]] for way in WAYS}
    lengths = [row["positions"] for row in kept["rows"]]
    return {"processor": kept["machine"]["processor"], "source": SOURCE, "lengths": lengths, "ms": found}


def draw(found):
    figure, axes = shared.axes_of("Two layers over one text, by its length")
    looks = zip(found["ms"].items(), (shared.RED, shared.YELLOW, shared.BLUE), ("--", "-", "-"), strict=True)
    for (way, values), color, style in looks:
        axes.plot(found["lengths"], values, "o", ls=style, color=color, label=WAYS[way])
    axes.set(xscale="log", yscale="log", xlabel="positions", ylabel="ms of processor time")
    axes.set_xticks(found["lengths"][::2], found["lengths"][::2])
    axes.set_yticks([1, 10, 100], ["1", "10", "100"])
    axes.minorticks_off()
    axes.legend()
    return figure


def says(found):
    last = [values[-1] for values in found["ms"].values()]
    grown = [values[-1] / values[-3] for values in found["ms"].values()]
    return [f"{last[0]:.0f} ms", f"{last[2]:.1f} ms", f"{grown[0]:.0f} times", f"{grown[2]:.1f} times"]
