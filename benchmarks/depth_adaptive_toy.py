"""At which depth a Depth-Adaptive Transformer leaves: letters to copy, and pointers to follow, in one text.

    python benchmarks/depth_adaptive_toy.py           # writes results/depth_adaptive_toy.json and the figure
    python benchmarks/depth_adaptive_toy.py --quick   # a few updates; writes nothing

A source is 10 tokens: letters, and pointers to one of the three places to their right. What is to be written for a
letter is itself, for a pointer the label of where it points, maybe a pointer again: the number of hops says how hard a
token is, and what has been written before does not help. One block in the encoder, 4 in the decoder, 64 units. One
model learns all depths; then the geometric-like rule goes on from it with both losses, once for each lambda (the price
of a layer, in nats) and each sigma (width of the kernel), by the likelihood oracle. Reported, on 512 other texts:
accuracy and average exit, by hops, in a pass that is given the right text.
"""

import argparse
import os
import time
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
from harness.report import table
from timing import write

from zoo.depth import FixedExit, GeometricExit, make_depth_adaptive_stack, make_stack
from zoo.models import DepthAdaptiveTransformer
from zoo.reproduce.depth_adaptive import HOPS, LETTERS, POINTERS, examples
from zoo.reproduce.tasks import FIRST
from zoo.training import DepthAdaptiveLoss, make_steps

FIGURE = Path(__file__).parents[1] / "docs/zoo/figures/depth-adaptive-toy.png"
LAYERS, BATCH = 4, 64
SIZES = {"units": 64, "num_heads": 4, "hidden_units": 128, "dropout": 0.0}
PRICES, WIDTHS = (0.01, 0.03, 0.1, 0.3), (0.0, 0.5, 2.0, 8.0)
FIXED_PRICE = 0.1  # the price of the sweep over sigma


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


def measured(model):
    """Accuracy and average exits."""
    batch, hops = examples(np.random.default_rng(99), 512)
    labels = batch.pop("labels")
    right = keras.ops.convert_to_numpy(model(batch)).argmax(-1) == labels
    exits = keras.ops.convert_to_numpy(model.think(batch)["exits"])
    row = {"average exit": round(float(exits.mean()), 3), "accuracy": round(float(right.mean()), 4)}
    for hop in range(HOPS + 1):
        row[f"exit, {hop}"] = round(float(exits[hops == hop].mean()), 2)
    for hop in range(HOPS + 1):
        row[f"accuracy, {hop}"] = round(float(right[hops == hop].mean()), 3)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=1000)
    parser.add_argument("--exit-updates", type=int, default=200)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    updates, more = (5, 3) if options.quick else (options.updates, options.exit_updates)
    keras.utils.set_random_seed(1)
    start, words = time.time(), FIRST + LETTERS + POINTERS
    decoder = make_depth_adaptive_stack(LAYERS, **SIZES)
    model = DepthAdaptiveTransformer(words, words, make_stack(1, **SIZES), decoder, dropout=0.0)
    model.build()
    train(model, DepthAdaptiveLoss(), updates, 2e-3, 1)
    rows = [{"rule": f"all at {n}", **measured(model.with_exit(FixedExit(LAYERS, n)))} for n in range(1, LAYERS + 1)]
    print(table(rows), flush=True)
    sweeps = [(price, 0.0) for price in PRICES] + [(FIXED_PRICE, width) for width in WIDTHS[1:]]
    for price, width in sweeps:
        keras.utils.set_random_seed(2)
        loss = DepthAdaptiveLoss("likelihood", price, width, alpha=1.0)
        taught = train(model.with_exit(GeometricExit(LAYERS)), loss, more, 5e-4, 2)
        rows.append({"rule": "Tok-LL geometric", "lambda": price, "sigma": width, **measured(taught)})
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
        for hop in range(HOPS + 1):
            label = f"{hop} hops" if hop < HOPS else f"{hop} or more"
            axis.plot(places, [row[f"exit, {hop}"] for _, row in sweep], marker="o", label=label)
        axis.plot(places, [row["average exit"] for _, row in sweep], "k--", label="all")
        axis.set(xticks=places, xticklabels=[f"{value:g}" for value, _ in sweep], xlabel=name, ylim=(0.9, 4.1))
    axes[0].set(ylabel="exit")
    axes[0].legend()
    figure.tight_layout()
    figure.savefig(FIGURE, dpi=120)


if __name__ == "__main__":
    main()
