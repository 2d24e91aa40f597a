"""Masked summation, the Star-Transformer's own task: with and without the connections to the relay.

    python benchmarks/star_summation.py           # writes results/star_summation.json and docs/zoo/figures/star.png
    python benchmarks/star_summation.py --quick   # 50 positions, 20 updates; writes nothing

A row of X (n, 10) has a mask in {0, 1} as its first number, k of n rows have 1, and the rest is uniform in [0, 1); the
target is the sum of the masked rows. Guessing k / 2 has a squared error of k / 12. 100 units, 10 heads, two steps, Adam
at 0.001, batches of 32, fresh examples in every update; 2,000 others are the test. "ring" sees neighbours alone, and is
summed up by max H + mean e.
"""

import argparse
import os
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
from harness.report import table
from timing import write

from zoo.reproduce.star import WIDTH, Summation, examples, squared_error
from zoo.training import make_steps

FIGURE = Path(__file__).parents[1] / "docs/zoo/figures/star.png"
TASKS = ((50, 5), (200, 10))  # n, k
BATCH, EVERY = 32, 25


def train(connections, n, k, updates, seed=1):
    """The test error and the curve of training errors."""
    keras.utils.set_random_seed(seed)
    random, model = np.random.default_rng(seed), Summation(connections, k, units=100, heads=10)
    model({"x": np.zeros((1, n, WIDTH), "float32")})
    schedule = keras.optimizers.schedules.CosineDecay(1e-3, updates)
    steps, curve = make_steps(model, keras.optimizers.Adam(schedule, clipnorm=5.0), squared_error), []
    for update in range(updates):
        x, y = examples(random, BATCH, n, k)
        loss = steps.train({"x": x, "labels": y, "weights": np.ones(BATCH, "float32")})
        if update % EVERY == 0:
            curve.append(float(loss))
    steps.sync()
    x, y = examples(np.random.default_rng(99), 2000, n, k)
    errors = [
        np.mean((keras.ops.convert_to_numpy(model({"x": x[at : at + 250]})) - y[at : at + 250]) ** 2)
        for at in range(0, len(x), 250)
    ]
    return float(np.mean(errors)), curve


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    rows, curves, updates = [], {}, 20 if options.quick else options.updates
    for n, k in TASKS[: 1 if options.quick else None]:
        for seed in range(1, 2 if options.quick else options.seeds + 1):
            for connections in ("star", "ring"):
                error, curve = train(connections, n, k, updates, seed)
                curves.setdefault((n, connections), curve)
                rows.append(
                    {
                        "n": n,
                        "k": k,
                        "connections": connections,
                        "seed": seed,
                        "updates": updates,
                        "squared error": round(error, 4),
                        "constant guess": round(k / 12, 4),
                    }
                )
                print(table(rows[-1:]).splitlines()[-1], flush=True)
    if not options.quick:
        write("star_summation", rows)
        draw(curves)
    print(table(rows))


def draw(curves):
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(TASKS), figsize=(8, 2.8), sharey=True)
    for axis, (n, k) in zip(axes, TASKS, strict=True):
        for connections, label in (("star", "star"), ("ring", "without the relay")):
            curve = curves[n, connections]
            axis.plot(np.arange(len(curve)) * EVERY, curve, label=label)
        axis.axhline(k / 12, color="grey", linestyle=":", label="guessing k / 2")
        axis.set(title=f"{n} rows, {k} to add", xlabel="update", yscale="log")
    axes[0].set_ylabel("squared error")
    axes[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(FIGURE, dpi=120)


if __name__ == "__main__":
    main()
