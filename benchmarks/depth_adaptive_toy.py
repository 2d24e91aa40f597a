"""When a Depth-Adaptive Transformer leaves: digits to copy, and digits to add up, in one text.

    python benchmarks/depth_adaptive_toy.py           # writes results/depth_adaptive_toy.json and the figure
    python benchmarks/depth_adaptive_toy.py --quick   # a few updates; writes nothing

A source is 8 digits, each in one of two fonts. What is to be written for a digit of the first font is the digit itself,
and for one of the second the sum modulo 5 of all digits up to it: easy and hard tokens side by side. 4 blocks in the
decoder, 64 units. One model learns all depths; then each rule goes on from it with both losses. Reported, on 512 other
texts: accuracy, the average exit of all tokens, of easy and of hard ones (from a pass that is given the right text).
Oracles: correctness, for the geometric-like rule; lambda, the price of a layer, and sigma, the width of the kernel.
"""

import argparse
import os
import time
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
from timing import table, write

from zoo.decoding.loop import BOS
from zoo.depth import FixedExit, GeometricExit, make_depth_adaptive_stack, make_stack
from zoo.models import DepthAdaptiveTransformer
from zoo.training import DepthAdaptiveLoss, make_steps

FIGURE = Path(__file__).parents[1] / "docs/zoo/figures/depth-adaptive-toy.png"
LAYERS, DIGITS, TIME, FIRST, BATCH = 4, 5, 8, 4, 64
SIZES = {"units": 64, "num_heads": 4, "hidden_units": 128, "dropout": 0.0}
PRICES, WIDTHS = (0.003, 0.03, 0.1, 0.3, 1.1), (0.0, 0.5, 2.0, 8.0)
FIXED_PRICE = 0.3  # of the sweep over sigma


def examples(random, count):
    """A batch, and which of its tokens are hard."""
    digits, hard = random.integers(0, DIGITS, (count, TIME)), random.random((count, TIME)) < 0.5
    labels = FIRST + np.where(hard, np.cumsum(digits, axis=1) % DIGITS, digits)
    batch = {
        "source_ids": FIRST + digits + DIGITS * hard,
        "source_lengths": np.full(count, TIME),
        "target_ids": np.pad(labels[:, :-1], ((0, 0), (1, 0)), constant_values=BOS),
        "labels": labels,
    }
    batch = {name: value.astype("int32") for name, value in batch.items()}
    return {**batch, "weights": np.ones((count, TIME), "float32")}, hard


def train(model, loss, updates, rate, seed):
    random = np.random.default_rng(seed)
    schedule = keras.optimizers.schedules.CosineDecay(0.0, updates, warmup_target=rate, warmup_steps=updates // 10 + 1)
    steps = make_steps(model, keras.optimizers.Adam(schedule, clipnorm=1.0), loss)
    for update in range(updates):
        loss = steps.train(examples(random, BATCH)[0])
        if update % 250 == 0:
            print(f"update {update}: {float(loss):.3f}", flush=True)
    steps.sync()
    return model


def judge(model):
    """Accuracy and average exits."""
    batch, hard = examples(np.random.default_rng(99), 512)
    labels = batch.pop("labels")
    right = keras.ops.convert_to_numpy(model(batch)).argmax(-1) == labels
    exits = keras.ops.convert_to_numpy(model.think(batch)["exits"])
    return {
        "accuracy, easy": round(float(right[~hard].mean()), 4),
        "accuracy, hard": round(float(right[hard].mean()), 4),
        "average exit": round(float(exits.mean()), 3),
        "exit, easy": round(float(exits[~hard].mean()), 3),
        "exit, hard": round(float(exits[hard].mean()), 3),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--exit-updates", type=int, default=300)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    updates, more = (5, 3) if options.quick else (options.updates, options.exit_updates)
    keras.utils.set_random_seed(1)
    start, words = time.time(), FIRST + 2 * DIGITS
    decoder = make_depth_adaptive_stack(LAYERS, **SIZES)
    model = DepthAdaptiveTransformer(words, words, make_stack(1, **SIZES), decoder, dropout=0.0)
    model.build()
    train(model, DepthAdaptiveLoss(), updates, 2e-3, 1)
    rows = [{"rule": f"all at {n}", **judge(model.with_exit(FixedExit(LAYERS, n)))} for n in range(1, LAYERS + 1)]
    print(table(rows), flush=True)
    sweeps = [(price, 0.0) for price in PRICES] + [(FIXED_PRICE, width) for width in WIDTHS[1:]]
    for price, width in sweeps:
        keras.utils.set_random_seed(2)
        loss = DepthAdaptiveLoss("correctness", price, width, alpha=1.0)
        taught = train(model.with_exit(GeometricExit(LAYERS)), loss, more, 5e-4, 2)
        rows.append({"rule": "Tok-C geometric", "lambda": price, "sigma": width, **judge(taught)})
        print(table(rows[-1:]).splitlines()[-1], flush=True)
    if not options.quick:
        write("depth_adaptive_toy", rows, updates=updates, exit_updates=more, seconds=round(time.time() - start))
        draw(rows)
    print(table(rows))


def draw(rows):
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    taught = [row for row in rows if "lambda" in row]
    sweeps = {
        "lambda, sigma 0": sorted((row["lambda"], row) for row in taught if not row["sigma"]),
        f"sigma, lambda {FIXED_PRICE}": sorted((row["sigma"], row) for row in taught if row["lambda"] == FIXED_PRICE),
    }
    figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True)
    for axis, (name, sweep) in zip(axes, sweeps.items(), strict=True):
        places = range(len(sweep))
        for key in ("exit, hard", "average exit", "exit, easy"):
            axis.plot(places, [row[key] for _, row in sweep], marker="o", label=key)
        axis.set(xticks=places, xticklabels=[f"{value:g}" for value, _ in sweep], xlabel=name, ylim=(0.9, 4.1))
    axes[0].set(ylabel="exit")
    axes[0].legend()
    figure.tight_layout()
    figure.savefig(FIGURE, dpi=120)


if __name__ == "__main__":
    main()
