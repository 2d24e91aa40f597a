"""Pairs of texts: is the second the first in another order?

    python benchmarks/pairs.py           # writes benchmarks/results/pairs.json
    python benchmarks/pairs.py --quick   # 20 updates; writes nothing

A text is 6 to 10 of 20 symbols. Half of the pairs are a text and a permutation of it; in the other half one symbol of
the permutation is another one. A `PairClassifier` of 64 units with two layers of a star (4 heads), or two pre-norm
blocks of a Transformer with as many weights. Adam, peak 0.002, batches of 64 fresh pairs; accuracy on 2,000 others,
where guessing has 50 %.
"""

import argparse
import os
import time

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
from harness.report import table
from timing import write

from zoo.depth import make_stack, make_star_stack
from zoo.embeddings import ConcatenatedPositions
from zoo.models import PairClassifier
from zoo.training import SmoothedCrossEntropy, make_steps

FIRST, SYMBOLS, SHORTEST, LONGEST, BATCH = 4, 20, 6, 10, 64


def examples(random, count):
    lengths = random.integers(SHORTEST, LONGEST + 1, count).astype("int32")
    first, second = np.zeros((2, count, LONGEST), "int32")
    labels = random.integers(0, 2, count).astype("int32")
    for row, (length, same) in enumerate(zip(lengths, labels, strict=True)):
        first[row, :length] = random.integers(0, SYMBOLS, length)
        second[row, :length] = random.permutation(first[row, :length])
        if not same:
            second[row, random.integers(length)] += random.integers(1, SYMBOLS)
    inside = np.arange(LONGEST) < lengths[:, None]
    first, second = (np.where(inside, FIRST + side % SYMBOLS, 0).astype("int32") for side in (first, second))
    sides = {"first_ids": first, "first_lengths": lengths, "second_ids": second, "second_lengths": lengths}
    return {**sides, "labels": labels, "weights": np.ones(count, "float32")}


def encoder(name):
    if name == "star":
        return make_star_stack(2, 64, 4)
    return make_stack(2, 64, 4, 128, "pre_norm", dropout=0.0)


def train(name, updates, seed=1):
    """The model and the accuracy on other pairs."""
    keras.utils.set_random_seed(seed)
    random = np.random.default_rng(seed)
    model = PairClassifier(FIRST + SYMBOLS, 2, encoder(name), ConcatenatedPositions(LONGEST, 16), dropout=0.0)
    model.build()
    schedule = keras.optimizers.schedules.CosineDecay(0.0, updates, warmup_target=2e-3, warmup_steps=updates // 10)
    steps = make_steps(model, keras.optimizers.Adam(schedule, clipnorm=1.0), SmoothedCrossEntropy(smoothing=0.0))
    for update in range(updates):
        loss = steps.train(examples(random, BATCH))
        if update % 250 == 0:
            print(f"{name}, update {update}: {float(loss):.3f}", flush=True)
    batches, random = [], np.random.default_rng(99)
    for _ in range(2000 // BATCH + 1):
        batches.append(np.asarray(steps.evaluate(examples(random, BATCH)), "float64"))
    _, right, count = np.sum(batches, axis=0)
    return model, right / count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=1500)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    rows, updates = [], 20 if options.quick else options.updates
    for name in ("star", "transformer"):
        start = time.time()
        model, accuracy = train(name, updates)
        row = {"encoder": name, "parameters": model.count_params(), "accuracy": round(float(accuracy), 4)}
        rows.append({**row, "updates": updates, "seconds": round(time.time() - start)})
    if not options.quick:
        write("pairs", rows)
    print(table(rows))


if __name__ == "__main__":
    main()
