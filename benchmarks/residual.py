"""Pre-LN learns without a warm-up at a learning rate where post-LN fails: five seeds of each.

    python benchmarks/residual.py            # writes benchmarks/results/residual.json and a figure of all curves
    python benchmarks/residual.py --quick    # two layers, one seed; writes nothing

Task: sequences of 16 random symbols (12 of them) to their reversal, one label a position: chance is log 12 = 2.48 nats.
Model: `Tagger` of 6 blocks, 64 units, 4 heads, 256 hidden units, no dropout; Adam (0.9, 0.98), batch 32, the same
batches for all. A run has learnt if the mean loss of its last 20 updates is below 0.1.
"""

import argparse
import os
import sys
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")

import keras
import numpy as np
from harness.report import table
from timing import write

from zoo.depth import make_stack
from zoo.models import Tagger
from zoo.training import ConstantRate, SmoothedCrossEntropy, make_steps

RATE, LEARNT, LAST = 3e-3, 0.1, 20
SYMBOLS, FIRST, TIME, BATCH = 12, 4, 16, 32
SETTINGS = {  # name: block, warm-up, updates
    "pre-LN, no warm-up": ("pre_norm", 0, 300),
    "post-LN, no warm-up": ("post_norm", 0, 300),
    "post-LN, warm-up of 300": ("post_norm", 300, 600),
}
FIGURE = Path(__file__).parents[1] / "docs" / "zoo" / "figures" / "residual.png"


def batch(step):
    ids = np.random.default_rng(step).integers(FIRST, FIRST + SYMBOLS, (BATCH, TIME)).astype("int32")
    lengths, weights = np.full(BATCH, TIME, "int32"), np.ones((BATCH, TIME), "float32")
    return {"token_ids": ids, "lengths": lengths, "labels": ids[:, ::-1].copy(), "weights": weights}


def make_model(block, layers, seed):
    keras.utils.set_random_seed(seed)
    stack = make_stack(layers, units=64, num_heads=4, hidden_units=256, block=block, dropout=0.0)
    model = Tagger(FIRST + SYMBOLS, FIRST + SYMBOLS, stack, dropout=0.0)
    model.build()
    return model


def curves(block, warmup, updates, layers, seeds):
    """The loss of every update, a row a seed. One compiled step serves all seeds."""
    model = make_model(block, layers, 0)
    optimizer = keras.optimizers.Adam(ConstantRate(RATE, warmup), beta_2=0.98, epsilon=1e-9)
    steps = make_steps(model, optimizer, SmoothedCrossEntropy())
    fresh = [np.array(variable) for variable in optimizer.variables]
    found = []
    for seed in range(seeds):
        for variable, value in zip(model.variables, make_model(block, layers, seed).variables, strict=True):
            variable.assign(value)
        for variable, value in zip(optimizer.variables, fresh, strict=True):
            variable.assign(value)
        steps.reload()
        found.append([float(loss) for loss in [steps.train(batch(step)) for step in range(updates)]])
        print(f"{block}, warm-up {warmup}, seed {seed}: {np.mean(found[-1][-LAST:]):.4f}", file=sys.stderr, flush=True)
    return np.array(found)


def draw(losses, path):
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
    for (name, rows), color in zip(losses.items(), ("#0072b2", "#d55e00", "#009e73"), strict=True):
        for index, row in enumerate(rows):
            smooth = np.convolve(row, np.ones(10) / 10, mode="valid")
            axes.plot(np.arange(len(smooth)) + 10, smooth, color=color, lw=1.2, label=None if index else name)
    axes.axhline(np.log(SYMBOLS), color="0.5", lw=0.8, ls=":")
    axes.text(600, np.log(SYMBOLS) + 0.03, "chance", ha="right", va="bottom", color="0.4", fontsize=9)
    axes.set(xlabel="updates", ylabel="loss (nats per symbol)", ylim=(0, None), xlim=(0, None))
    axes.set_title(f"6 blocks, learning rate {RATE}, every seed", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two layers, one seed; writes nothing")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args(arguments)
    layers, seeds = (2, 1) if options.quick else (6, options.seeds)
    losses = {name: curves(*setting, layers, seeds) for name, setting in SETTINGS.items()}
    rows = []
    for name, found in losses.items():
        last = found[:, -LAST:].mean(axis=1)
        learnt = f"{int((last < LEARNT).sum())} of {seeds}"
        rows.append({"wiring": name, "learnt": learnt, "last losses": ", ".join(f"{loss:.3f}" for loss in last)})
    print(table(rows))
    if not options.quick:
        write(
            "residual",
            rows,
            learning_rate=RATE,
            curves={n: found[:, ::10].round(4).tolist() for n, found in losses.items()},
        )
        draw(losses, FIGURE)


if __name__ == "__main__":
    main()
