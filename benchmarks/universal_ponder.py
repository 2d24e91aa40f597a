"""How long a Universal Transformer thinks about a token: chains of pointers.

    python benchmarks/universal_ponder.py           # writes results/universal_ponder.json, docs/zoo/figures/ponder.png
    python benchmarks/universal_ponder.py --quick   # 20 updates; writes nothing

A text is 12 tokens: letters, and pointers to one of the three places to their left. A letter's label is itself, a
pointer's is the label of where it points, which may be a pointer again: the number of hops says how hard a token is. A
`Tagger` of 64 units, its block applied up to 6 times, with Graves' rule. Accuracy and the mean number of steps that a
token took, by hops, on 1,000 other texts.
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

from zoo.depth import Halting, make_universal_stack
from zoo.models import Tagger
from zoo.reproduce.tasks import FIRST, pointers
from zoo.training import SmoothedCrossEntropy, make_steps

FIGURE = Path(__file__).parents[1] / "docs/zoo/figures/ponder.png"
LETTERS, POINTERS, TIME, BATCH = 8, 3, 12, 64


def train(updates, ponder, seed=1):
    keras.utils.set_random_seed(seed)
    stack = make_universal_stack(6, 64, 4, 128, Halting(ponder=ponder), dropout=0.0, seed=seed)
    model, random = Tagger(FIRST + LETTERS + POINTERS, LETTERS, stack, dropout=0.0), np.random.default_rng(seed)
    model.build()
    schedule = keras.optimizers.schedules.CosineDecay(0.0, updates, warmup_target=2e-3, warmup_steps=updates // 10)
    steps = make_steps(model, keras.optimizers.Adam(schedule, clipnorm=1.0), SmoothedCrossEntropy(smoothing=0.0))
    start, lengths = time.time(), np.full(BATCH, TIME, "int32")
    for update in range(updates):
        ids, labels, _ = pointers(random, BATCH, TIME)
        batch = {"token_ids": ids, "lengths": lengths, "labels": labels, "weights": np.ones((BATCH, TIME), "float32")}
        loss = steps.train(batch)
        if update % 100 == 0:
            print(f"update {update}: {float(loss):.3f}", flush=True)
    steps.sync()
    return model, time.time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=1500)
    parser.add_argument("--ponder", type=float, default=0.02)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    updates = 20 if options.quick else options.updates
    model, taken = train(updates, options.ponder)
    ids, labels, hops = pointers(np.random.default_rng(99), 1000, TIME)
    embedded = model.positions(model.embedding(ids))
    states, thought = model.encoder.ponder(embedded)
    right = keras.ops.convert_to_numpy(model.logits(states)).argmax(-1) == labels
    each = keras.ops.convert_to_numpy(thought["updates"])
    rows = []
    for hop in range(6):
        chosen = hops == hop
        rows.append(
            {
                "hops": hop,
                "tokens": int(chosen.sum()),
                "accuracy": round(float(right[chosen].mean()), 4),
                "mean steps": round(float(each[chosen].mean()), 2),
            }
        )
    more = {"updates": updates, "ponder": options.ponder, "seconds": round(taken), "all": round(float(right.mean()), 4)}
    if not options.quick:
        write("universal_ponder", rows, **more)
        draw(rows, ids[:3], each[:3], hops[:3])
    print(table(rows))
    print(more)


def draw(rows, ids, each, hops):
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 2.6), width_ratios=(2, 1))
    names = {FIRST + letter: "abcdefgh"[letter] for letter in range(LETTERS)}
    names |= {FIRST + LETTERS + pointer: f"-{pointer + 1}" for pointer in range(POINTERS)}
    image = axes[0].imshow(each, cmap="Blues", vmin=0, vmax=6, aspect="auto")
    for row in range(len(ids)):
        for at in range(TIME):
            dark = "white" if each[row, at] > 3.5 else "black"
            axes[0].text(at, row, names[ids[row, at]], ha="center", va="center", color=dark)
    axes[0].set(xticks=[], yticks=[], title="steps that each token took; -2 points two places to the left")
    figure.colorbar(image, ax=axes[0])
    axes[1].plot([row["hops"] for row in rows], [row["mean steps"] for row in rows], marker="o")
    axes[1].set(xlabel="hops to the letter", ylabel="mean steps", ylim=(0, 6.2))
    figure.tight_layout()
    figure.savefig(FIGURE, dpi=120)


if __name__ == "__main__":
    main()
