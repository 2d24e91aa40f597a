"""When a recurrent model is the better choice: speed, size and errors of the hub's models of one task."""

import json
from pathlib import Path

import shared

HUB = Path(__file__).resolve().parents[2] / "hub"
TASK = "dates"
NAMES = {
    "dates": "GRU",
    "dates-post-norm": "post-LN",
    "dates-pre-norm": "pre-LN",
    "dates-macaron": "Macaron",
    "dates-depth-adaptive": "depth-adaptive",
}


def measure():
    """The entries of the hub's index: each was scored and timed when it was published."""
    from zoo.hub.index import choose, run_files

    entries = json.loads((HUB / "index.json").read_text("utf-8"))["models"]
    rows = []
    for name, said in NAMES.items():
        entry = choose(entries, name)
        low, high = entry["scores"]["exact_match_interval"]
        row = {"name": name, "said": said, "ms": entry["speed"]["milliseconds"], "parameters": entry["parameters"]}
        row |= {"mb": round(sum(entry["bytes"][file] for file in run_files(entry)) / 1e6, 2)}
        row |= {"errors": round(100 - entry["scores"]["exact_match"], 2), "interval": [100 - high, 100 - low]}
        rows.append(row | {"processor": entry["speed"]["processor"], "count": entry["scores"]["count"]})
    return {"rows": rows}


def draw(found):
    figure, axes = shared.axes_of("Dates of 13 languages: errors and time for one text")
    for row in found["rows"]:
        color = shared.BLUE if row["said"] == "GRU" else shared.RED
        low, high = row["interval"]
        axes.plot([row["ms"]] * 2, [max(low, 0), high], color=color, lw=1.4, alpha=0.5)
        axes.plot(row["ms"], row["errors"], "o", color=color, ms=7, clip_on=False, zorder=3)
        left = row["said"] == "Macaron"
        place = {
            "xytext": (-6 if left else 6, -12 if left else 4),
            "textcoords": "offset points",
            "ha": "right" if left else "left",
        }
        axes.annotate(row["said"], (row["ms"], row["errors"]), fontsize=8.5, **place)
    axes.set(xlabel="ms for one text, one thread, int8", ylabel="wrong, %", xlim=(0, 12), ylim=(0, None))
    return figure


def says(found):
    return [f"{row['ms']:.1f}" for row in found["rows"]] + [f"{row['errors']:.2f} %" for row in found["rows"]]
