"""Draws the figures of the pages that show ideas, not measurements: `python docs/figures.py`."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

FOLDER = Path(__file__).parent / "zoo" / "figures"
COLORS = {"norm": "#fbe7a1", "attention": "#f7c9a8", "cross": "#e9b7ce", "feedforward": "#b5d8f0", "plain": "#eeeeee"}
INK = "#333333"
WIRINGS = {  # from the input upwards: (kind, text); "+" joins the branch to the stream
    "PostNorm": [("attention", "attention"), "+", ("norm", "norm"), ("cross", "cross-attention"), "+",
                 ("norm", "norm"), ("feedforward", "feed-forward"), "+", ("norm", "norm")],
    "PreNorm": [("norm", "norm"), ("attention", "attention"), "+", ("norm", "norm"), ("cross", "cross-attention"), "+",
                ("norm", "norm"), ("feedforward", "feed-forward"), "+"],
    "Macaron": [("norm", "norm"), ("feedforward", "½ feed-forward"), "+", ("norm", "norm"), ("attention", "attention"),
                "+", ("norm", "norm"), ("cross", "cross-attention"), "+", ("norm", "norm"),
                ("feedforward", "½ feed-forward"), "+"],
}  # fmt: skip


def box(axes, x, y, text, kind, width=1.6, height=0.42):
    patch = FancyBboxPatch(
        (x - width / 2, y - height / 2), width, height, boxstyle="round,pad=0.02", fc=COLORS[kind], ec=INK, lw=0.8
    )
    axes.add_patch(patch)
    axes.text(x, y, text, ha="center", va="center", fontsize=9, color=INK)


def arrow(axes, start, end, curve=None):
    style = curve or "arc3"
    patch = FancyArrowPatch(
        start, end, arrowstyle="-|>", mutation_scale=8, lw=0.9, color=INK, connectionstyle=style, shrinkA=0, shrinkB=0
    )
    axes.add_patch(patch)


def block(axes, x, title, parts):
    """One wiring: the residual stream straight up, a by-pass around each branch."""
    y, step = 0.0, 0.62
    arrow(axes, (x, y - 0.5), (x, y - 0.23))
    left = y - 0.38  # where the stream leaves for the next "+"
    for index, part in enumerate(parts):
        if part == "+":
            axes.text(x, y, "+", ha="center", va="center", fontsize=11, color=INK)
            axes.add_patch(plt.Circle((x, y), 0.14, fc="white", ec=INK, lw=0.8, zorder=0))
            axes.plot([x, x - 1.05, x - 1.05, x - 0.3], [left, left, y, y], color=INK, lw=0.9)
            arrow(axes, (x - 0.3, y), (x - 0.14, y))
            left = y + 0.24
        else:
            box(axes, x, y, part[1], part[0])
            if part[0] == "norm" and index and parts[index - 1] == "+" and title == "PostNorm":
                left = y + 0.31
            if part[0] == "cross":
                axes.text(x + 1.55, y, "memory", ha="center", va="center", fontsize=8, color=INK, style="italic")
                arrow(axes, (x + 1.16, y), (x + 0.82, y))
        low = 0.14 if part == "+" else 0.23
        high = 0.14 if index + 1 < len(parts) and parts[index + 1] == "+" else 0.23
        arrow(axes, (x, y + low), (x, y + (step - high if index + 1 < len(parts) else 0.55)))
        y += step
    if title != "PostNorm":
        axes.text(
            x, y + 0.05, "… and one norm after the last block", ha="center", fontsize=8, color=INK, style="italic"
        )
    axes.text(x, -0.85, title, ha="center", fontsize=11, weight="bold", color=INK)


def wirings():
    figure, axes = plt.subplots(figsize=(9, 7), layout="constrained")
    for index, (title, parts) in enumerate(WIRINGS.items()):
        block(axes, 3.6 * index, title, parts)
    axes.set(xlim=(-1.4, 9.4), ylim=(-1.1, 8.0), aspect="equal")
    axes.axis("off")
    figure.savefig(FOLDER / "transformer-blocks.png", dpi=150, bbox_inches="tight")


def tree_beam():
    """Two beams, three steps; before step 3 beam 1 goes on from beam 0."""
    figure, (tree, table) = plt.subplots(1, 2, figsize=(9, 3.1), layout="constrained", width_ratios=(1.25, 1))
    words = [("a", "the"), ("dog", "cat"), ("runs", "sleeps")]
    for step, pair in enumerate(words):
        for beam, word in enumerate(pair):
            on = not (step == 1 and beam == 1) and not (step == 0 and beam == 1)
            box(tree, 2.0 * step, -beam, f"{word}", "feedforward" if on else "plain", width=1.2)
            tree.text(2.0 * step, -beam - 0.36, f"slot {2 * step + beam}", ha="center", fontsize=8, color=INK)
    for start, end in (((0, 0), (1, 0)), ((0, 1), (1, 1)), ((1, 0), (2, 0)), ((1, 0), (2, 1))):
        arrow(tree, (2.0 * start[0] + 0.63, -start[1]), (2.0 * end[0] - 0.63, -end[1]))
    for beam in range(2):
        tree.text(-1.3, -beam, f"beam {beam}", ha="center", va="center", fontsize=9, color=INK)
    tree.set(xlim=(-1.8, 4.8), ylim=(-1.7, 0.6), aspect="equal")
    tree.set_title("one pool of keys and values per sentence", fontsize=10)
    seen = [[1, 0, 1, 0, 1, 0], [1, 0, 1, 0, 0, 1]]
    for beam, row in enumerate(seen):
        for slot, yes in enumerate(row):
            table.add_patch(plt.Rectangle((slot, -beam), 1, 1, fc="#b5d8f0" if yes else "white", ec=INK, lw=0.8))
    table.set_xticks([slot + 0.5 for slot in range(6)], range(6))
    table.set_yticks([0.5, -0.5], ["beam 0", "beam 1"])
    table.set(xlim=(-0.05, 6.05), ylim=(-1.05, 1.05), aspect="equal", xlabel="slot")
    table.set_title("seen, after step 3", fontsize=10)
    table.tick_params(length=0)
    table.spines[:].set_visible(False)
    tree.axis("off")
    figure.savefig(FOLDER / "tree-beam.png", dpi=150, bbox_inches="tight")


if __name__ == "__main__":
    wirings()
    tree_beam()
