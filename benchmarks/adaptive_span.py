"""Adaptive spans: what heads learn where one symbol matters, 40 back; and what a short span saves.

    python benchmarks/adaptive_span.py            # writes benchmarks/results/adaptive_span.json and the figure
    python benchmarks/adaptive_span.py --quick    # 20 updates, one small size; writes nothing

Planted: random symbols (16 of them), each a copy of the one 41 places before, so that position t must look back
exactly 40; S = 128, R = 8, two blocks of 4 heads and 64 units, spans starting at 64, Adam, batch 8 x 164. A head's
*reach* is R + z, where its mask ends. Savings: one layer of 512 units, 8 heads, S = 1024, 2048 positions, with all its
heads at one span, trimmed.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np
from harness.report import table
from keras import ops
from timing import compared, measure, write

from zoo.attention import AdaptiveSpanAttention, MultiHeadAttention
from zoo.reproduce.adaptive_span import BLOCKS, HEADS, RAMP, model as spanning, planted, reaches
from zoo.training import SmoothedCrossEntropy, SpanSteps

BACK, TIME, BATCH, SPAN = 40, 164, 8, 128
FIGURE = Path(__file__).parents[1] / "docs" / "zoo" / "figures" / "adaptive-span.png"


def learned(penalty, seed, updates):
    """`(model, loss of the last 50 updates)`."""
    keras.utils.set_random_seed(seed)
    model = spanning(penalty, SPAN, start=64)
    steps = SpanSteps(model, keras.optimizers.Adam(2e-3), SmoothedCrossEntropy(), every=100, multiple=32)
    losses = [steps.train(planted(step, BACK, TIME, BATCH)) for step in range(updates)]
    steps.sync()
    penalties = penalty * sum(float(ops.mean(block.attention.spans())) for block in model.decoder.blocks)
    return model, float(np.mean([float(loss) for loss in losses[-50:]])) - penalties, steps


def learn(penalties, seeds, updates):
    rows, found = [], {}
    for penalty in penalties:
        for seed in range(seeds):
            model, loss, steps = learned(penalty, seed, updates)
            reach = np.sort(reaches(model).ravel())[::-1]
            found.setdefault(penalty, []).append(reaches(model))
            row = {"penalty": str(penalty), "seed": seed, "nats per symbol": round(loss, 4)}
            row |= {"widest": round(float(reach[0]), 1), "heads beyond 40": int((reach > 40).sum())}
            row |= {"median": round(float(np.median(reach)), 1), "mean": round(float(reach.mean()), 1)}
            rows.append({**row, "windows at the end": str(steps.windows), "programs": steps.num_programs})
            print(rows[-1], file=sys.stderr, flush=True)
    return rows, found


def savings(spans, units, heads, longest, time, rounds, least):
    """Forward time of one layer, trimmed to each span, and the keys and values that decoding holds."""
    import jax

    layer = AdaptiveSpanAttention(units, heads, longest, ramp=32)
    layer.build((None, None, units))
    full = MultiHeadAttention(units, heads)
    full.build((None, None, units))
    x = ops.convert_to_tensor(np.random.default_rng(0).normal(size=(1, time, units)).astype("float32"))
    calls, windows = {}, {}
    for span in spans:
        layer.fractions.assign(np.full(heads, span / longest))
        windows[span] = layer.trim()
        compiled = jax.jit(lambda x: layer(x, causal=True)).lower(x).compile()
        calls[f"span {span}"] = lambda compiled=compiled: jax.block_until_ready(compiled(x))
    whole = jax.jit(lambda x: full(x, causal=True)).lower(x).compile()
    calls["multi-head"] = lambda: jax.block_until_ready(whole(x))
    widest = f"span {spans[-1]}"
    row = compared(measure(calls, rounds, least), widest)
    rows = []
    for name in calls:
        window = windows.get(int(name.split()[-1])) if name != "multi-head" else time
        size = 2 * 4 * units * (window + 1 if name != "multi-head" else time) / 2**20
        rows.append(
            {"layer": name, "window": window, "forward, ms": row[f"{name}_ms"]}
            | {"full span / this": row.get(f"{widest}/{name}", 1), "cache a beam, MiB": round(size, 2)}
        )
    return rows


def draw(found, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(found), figsize=(8, 3.4), layout="constrained", sharey=True)
    for panel, (penalty, runs) in zip(axes, found.items(), strict=True):
        for block in range(BLOCKS):
            for index, run in enumerate(runs):
                heads = np.sort(run[block])[::-1]
                places = block * (HEADS + 1) + np.arange(HEADS)
                panel.plot(
                    places, heads, "o", ms=6, alpha=0.75, color=f"C{index}", label=None if block else f"seed {index}"
                )
        panel.axhline(BACK, color="0.4", lw=0.8, ls=":")
        panel.text(2 * HEADS + 0.7, BACK - 1, "what matters: 40 back", fontsize=8, color="0.4", ha="right", va="top")
        panel.axhline(RAMP, color="0.4", lw=0.8, ls=":")
        panel.text(-0.6, RAMP - 1, "R", fontsize=8, color="0.4", va="top")
        panel.set_xticks([1.5, HEADS + 2.5], ["block 1", "block 2"])
        panel.set(title=f"penalty {penalty:g}", xlim=(-0.8, 2 * HEADS + 0.8), ylim=(0, None))
        panel.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("reach of a head, R + z (widest first)")
    # Above the panels, so that no mark of the legend is taken for a head.
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=len(labels), fontsize=9)
    figure.savefig(path, dpi=150)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="20 updates, one small size; writes nothing")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--updates", type=int, default=900)
    options = parser.parse_args(arguments)
    if options.quick:
        print(table(learn([1e-3], 1, 20)[0]))
        print(table(savings([0, 32], 16, 2, 64, 128, 1, 0.01)))
        return
    rows, found = learn([0.0, 1e-3], options.seeds, options.updates)
    saved = savings([0, 32, 96, 224, 480, 992], 512, 8, 1024, 2048, 5, 0.5)
    print(table(rows), table(saved), sep="\n\n")
    write("adaptive_span", rows, savings=saved)
    draw(found, FIGURE)


if __name__ == "__main__":
    main()
