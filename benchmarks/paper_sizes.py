"""Training steps of the recipes of the papers' sizes on this processor, on JAX, with few and shorter texts.

    python benchmarks/paper_sizes.py                       # all; writes benchmarks/results/paper_sizes.json
    python benchmarks/paper_sizes.py enwik8-reformer       # some; writes nothing

What it shows is that the step of the whole model runs, and that it learns: the loss of a batch of random tokens begins
near the logarithm of the vocabulary, and is lower after three updates of that same batch. Each recipe has a process of
its own, whose most memory is told.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import timing

ROOT = Path(__file__).resolve().parents[1]
PAIRS = "training.batch_size=4 training.parts=1 training.num_buckets=1 training.max_length=32".split()
CHANGES = {
    "wmt14-en-de-transformer-base": PAIRS,
    "wmt14-en-de-universal-base": PAIRS,
    "enwik8-adaptive-span": "training.batch_size=1 training.parts=1 model.context=1024".split(),
    "enwik8-reformer": "training.batch_size=1 training.parts=1 model.context=4096 positions.columns=64".split(),
    "cc-news-product-key": "training.batch_size=1 model.context=128".split(),
}
UPDATES = 3


def random_batch(batches, vocabulary):
    """The longest batch with random tokens, none of them padding."""
    import numpy as np

    batch, random = dict(batches.longest()), np.random.default_rng(0)
    for key, value in batch.items():
        if key == "labels" or key.endswith("_ids"):
            batch[key] = random.integers(4, vocabulary, value.shape).astype(value.dtype)
        elif key == "weights":
            batch[key] = np.ones_like(value)
        elif key.endswith("lengths"):
            batch[key] = np.full_like(value, batch[key.replace("lengths", "ids")].shape[1])
    return batch


def measure(name):
    """The row of a recipe; in a process of its own."""
    import keras
    import numpy as np

    from zoo import recipes
    from zoo.runs.forecast import make_steps

    keras.utils.set_random_seed(0)
    recipe = recipes.load(name, [*CHANGES[name], "training.warmup=1"])
    steps, batches, _ = make_steps(recipe)
    vocabulary = recipe.text.vocab_size
    batch = random_batch(batches, vocabulary)
    started, losses, seconds = time.perf_counter(), [], []
    for _ in range(UPDATES + 1):
        losses.append(round(float(steps.train(batch)), 4))
        seconds.append(round(time.perf_counter() - started, 2))
        started = time.perf_counter()
    return {
        "recipe": name,
        "changes": CHANGES[name],
        "parameters": steps.model.count_params(),
        "tokens": int(np.prod(batch["labels"].shape)),
        "ln of the vocabulary": round(math.log(vocabulary), 3),
        "losses": losses,
        "first_step_seconds": seconds[0],
        "step_seconds": min(seconds[1:]),
        "most_megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", metavar="RECIPE", nargs="*", help="default: all")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(args.names[0])))
        return 0
    rows = []
    for name in args.names or CHANGES:
        words = [sys.executable, __file__, name, "--one"]
        environment = os.environ | {"KERAS_BACKEND": "jax", "PYTHONPATH": str(ROOT)}
        done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True, check=True)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
        print(json.dumps(rows[-1]), flush=True)
        assert rows[-1]["losses"][-1] < rows[-1]["losses"][0], "it does not learn its one batch"
    if not args.names:
        timing.write("paper_sizes", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
