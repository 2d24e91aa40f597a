"""Copying at lengths beyond those of training: Universal Transformer, a Transformer of untied blocks, an LSTM.

    python benchmarks/universal_copy.py           # three seeds; writes benchmarks/results/universal_copy.json
    python benchmarks/universal_copy.py --quick   # one seed, 10 updates; writes nothing

Texts of 10 symbols, 1 to 10 of them in training, 20 and 40 in the test (500 of each length, greedy decoding). 64 units,
4 heads, 128 hidden units; four steps of one block, or four blocks; the LSTM encodes and decodes without attention.
Training starts every row at a random place up to 40 in both Transformers, the same for source and target, so that no
place of the test is new. Adam, peak 0.002, batches of 64. Accuracy of symbols (at their own place) and of whole texts.
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

from zoo.depth import Halting, make_stack, make_universal_stack
from zoo.models import Seq2Seq, Transformer
from zoo.reproduce.tasks import FIRST
from zoo.reproduce.universal import OffsetPositions, copies
from zoo.tasks.parts.answering import Searcher
from zoo.training import SmoothedCrossEntropy, make_steps

SYMBOLS, LONGEST, TESTS, OFFSET, BATCH = 10, 10, (10, 20, 40), 40, 64
SIZES = {"units": 64, "num_heads": 4, "hidden_units": 128, "dropout": 0.0}


def universal(seed, halting=None):
    stacks = [
        make_universal_stack(4, **SIZES, halting=halting and Halting(), cross=cross, max_offset=OFFSET, seed=seed)
        for cross in (False, True)
    ]
    return Transformer(FIRST + SYMBOLS, FIRST + SYMBOLS, *stacks, dropout=0.0)


def transformer(seed):
    stacks = [make_stack(4, **SIZES, block="post_norm", cross=cross) for cross in (False, True)]
    model = Transformer(FIRST + SYMBOLS, FIRST + SYMBOLS, *stacks, dropout=0.0)
    model.source_positions, model.positions = OffsetPositions(seed, OFFSET), OffsetPositions(seed, OFFSET)
    return model


def lstm(seed):
    return Seq2Seq(FIRST + SYMBOLS, FIRST + SYMBOLS, units=128, cell="lstm", attention=None)


MODELS = {
    "universal": universal,
    "universal, ACT": lambda seed: universal(seed, True),
    "transformer": transformer,
    "lstm": lstm,
}


def train(make, seed, updates):
    keras.utils.set_random_seed(seed)
    model, random = make(seed), np.random.default_rng(seed)
    batch = copies(random, BATCH, (1, LONGEST), LONGEST)
    model({name: batch[name] for name in ("source_ids", "source_lengths", "target_ids")})
    schedule = keras.optimizers.schedules.CosineDecay(0.0, updates, warmup_target=2e-3, warmup_steps=updates // 10)
    steps = make_steps(model, keras.optimizers.Adam(schedule, clipnorm=1.0), SmoothedCrossEntropy())
    for _ in range(updates):
        steps.train(copies(random, BATCH, (1, LONGEST), LONGEST))
    steps.sync()
    return model


def scores(model):
    """Accuracy of symbols and of texts, by length, under greedy decoding: one program for all lengths."""
    longest = max(TESTS)
    searcher, found = Searcher(model, beams=1, alpha=0.0, max_length=longest + 2), {}
    searcher.compile(jit_compile=True)
    for length in TESTS:
        batch = copies(np.random.default_rng(99), 500, (length, length), length)
        sources = batch["source_ids"]
        padded = np.pad(sources, ((0, 0), (0, longest - length)))
        written, lengths, _ = searcher.predict_on_batch((padded, batch["source_lengths"]))
        right = np.asarray(written)[:, :length] == sources
        texts = right.all(axis=1) & (np.asarray(lengths) == length)
        found |= {
            f"symbols, {length}": round(float(right.mean()), 4),
            f"texts, {length}": round(float(texts.mean()), 4),
        }
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=4000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    rows, updates = [], 10 if options.quick else options.updates
    for seed in range(1 if options.quick else options.seeds):
        for name in options.models:
            start = time.time()
            model = train(MODELS[name], seed, updates)
            row = {"model": name, "seed": seed, "parameters": model.count_params(), **scores(model)}
            rows.append({**row, "seconds": round(time.time() - start)})
            print(table(rows[-1:]).splitlines()[-1], flush=True)
            if not options.quick:
                write("universal_copy", rows, updates=updates)
    print(table(rows))


if __name__ == "__main__":
    main()
