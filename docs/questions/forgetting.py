"""Why attention does not forget: sequences written backwards, by their length, with and without attention."""

import json
from pathlib import Path

import numpy as np
import shared

SOURCE = "zoo/catalogue/scores.json"  # which `seqzoo evaluate` wrote, of the two recipes
CASES = {"no attention": "reversal-gru-none", "additive attention": "reversal-gru-additive"}


def measure():
    """The scores of the catalogue: exact match by length, and of how many sequences."""
    kept = json.loads((Path(__file__).resolve().parents[2] / SOURCE).read_text("utf-8"))
    right = {
        name: [[row["from"], row["to"], row["sentences"], round(row["exact_match"], 2)] for row in own["by_length"]]
        for name, own in ((name, kept[recipe]) for name, recipe in CASES.items())
    }
    return {"processor": "one core", "source": SOURCE, "recipes": list(CASES.values()), "right": right}


def wilson(share, count, z=1.96):
    """The 95 % interval of a share, by Wilson."""
    middle, half = share + z * z / (2 * count), z * np.sqrt(share * (1 - share) / count + z * z / (4 * count**2))
    return (middle - half) / (1 + z * z / count), (middle + half) / (1 + z * z / count)


def draw(found):
    figure, axes = shared.axes_of("Sequences written backwards without an error")
    for (name, rows), color, place in zip(found["right"].items(), (shared.RED, shared.BLUE), (-0.2, 0.2), strict=True):
        for at, (_, _, count, right) in enumerate(rows):
            axes.bar(at + place, right, 0.36, color=color, label=None if at else name)
            axes.plot([at + place] * 2, 100 * np.array(wilson(right / 100, count)), color="black", lw=1.2)
    rows = next(iter(found["right"].values()))
    axes.set_xticks(range(len(rows)), [f"{max(low, 3)} to {high}" for low, high, *_ in rows])
    axes.set(xlabel="symbols of a sequence", ylabel="%", ylim=(0, 125))
    axes.set_yticks(range(0, 101, 20))
    axes.legend(loc="upper right", ncols=2)
    return figure


def says(found):
    return [f"{row[-1]:.0f} %" for row in found["right"]["no attention"][1:]]
