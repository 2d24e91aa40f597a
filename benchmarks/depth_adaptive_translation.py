"""Depth-Adaptive Transformer on Multi30k, German to English: BLEU, average exit, FLOPs and time a sentence.

    python benchmarks/depth_adaptive_translation.py --data multi30k/raw --out run train   # 4 blocks, aligned
    python benchmarks/depth_adaptive_translation.py --data multi30k/raw --out run exits   # teaches each rule of exit
    python benchmarks/depth_adaptive_translation.py --data multi30k/raw --out run score   # writes the table, the figure

The model is small, so that one core trains it: 2 blocks in the encoder, 4 in the decoder, 128 units, a shared
vocabulary of 2,000 pieces. "train" trains all depths; "exits" goes on from there for each rule, some updates with both
losses; "score" translates the test set greedily, one sentence at a time in one ONNX Runtime thread, and reads what the
exits come to from a pass over what was written. Thresholds of the confidence rule are tuned on the validation split.
"""

import argparse
import json
import os
import time
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "jax")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras

from zoo.data import Batches, find_parallel, read_parallel
from zoo.depth import GeometricExit, MultinomialExit, SequenceExit, make_depth_adaptive_stack, make_stack
from zoo.models import DepthAdaptiveTransformer
from zoo.text import Tokenizer
from zoo.training import DepthAdaptiveLoss, Plan, fit, make_steps, schedule

LAYERS, VOCABULARY, LONGEST = 4, 2000, 40
SIZES = {"units": 128, "num_heads": 4, "hidden_units": 512, "dropout": 0.1}
PLAN = {"batch_size": 32, "num_buckets": 4, "max_length": LONGEST, "seed": 1}
# name: (rule, the loss' judge, lambda, sigma)
RULES = {
    "Tok-C geometric, lambda .02": (GeometricExit, "correctness", 0.02, 0.0),
    "Tok-C geometric, lambda .1": (GeometricExit, "correctness", 0.1, 0.0),
    "Tok-LL multinomial, lambda .05": (MultinomialExit, "likelihood", 0.05, 0.0),
    "Seq-LL, lambda .5": (SequenceExit, "likelihood", 0.5, 0.0),
}


def slug(name):
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower())


def read(options):
    texts = {
        split: read_parallel(*find_parallel(options.data, split, "de", "en")) for split in ("train", "valid", "test")
    }
    path = options.out / "tokenizer.spm"
    if path.is_file():
        return texts, Tokenizer.load(path)
    options.out.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer.train([*texts["train"][0], *texts["train"][1]], VOCABULARY)
    tokenizer.save(path)
    return texts, tokenizer


def batches(tokenizer, texts, **changes):
    return Batches(*map(tokenizer.encode, texts), **{**PLAN, **changes})


def train(options):
    texts, tokenizer = read(options)
    keras.utils.set_random_seed(1)
    encoder = make_stack(2, **SIZES, seed=1)
    decoder = make_depth_adaptive_stack(LAYERS, **SIZES, seed=1001)
    model = DepthAdaptiveTransformer(tokenizer.vocab_size, tokenizer.vocab_size, encoder, decoder, shared=True, seed=7)
    model.build()
    go_on(model, tokenizer, texts, options.out / "aligned", options.updates, 2e-3, DepthAdaptiveLoss(smoothing=0.1))


def exits(options):
    texts, tokenizer = read(options)
    for name, (rule, judge, price, width) in RULES.items():
        directory = options.out / slug(name)
        if (directory / "model.keras").is_file():
            continue
        keras.utils.set_random_seed(2)
        model = keras.models.load_model(options.out / "aligned/model.keras").with_exit(rule(LAYERS))
        loss = DepthAdaptiveLoss(judge, price, width, alpha=1.0, smoothing=0.1)
        go_on(model, tokenizer, texts, directory, options.exit_updates, 3e-4, loss)


def go_on(model, tokenizer, texts, directory, updates, rate, loss):
    rate = schedule("linear", rate, min(400, updates // 4), updates)
    steps = make_steps(model, keras.optimizers.Adam(rate, beta_2=0.98, global_clipnorm=3.0), loss)
    data, valid = batches(tokenizer, texts["train"]), batches(tokenizer, texts["valid"], shuffle=False, num_buckets=2)
    every = max(1, updates // 4)
    progress = fit(steps, data, valid, Plan(updates, every, every), directory, resume=True)
    model.save(directory / "model.keras")
    report = {"updates": updates, "seconds": round(progress.seconds), "history": progress.history}
    (directory / "training.json").write_text(json.dumps(report) + "\n")
    print(directory.name, report, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=["train", "exits", "score"])
    parser.add_argument("--data", type=Path, required=True, help="the directory of the corpus' files")
    parser.add_argument("--out", type=Path, required=True, help="where the run lives")
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--exit-updates", type=int, default=150)
    options = parser.parse_args()
    start = time.time()
    {"train": train, "exits": exits}[options.stage](options)
    print(f"{time.time() - start:.0f} s")


if __name__ == "__main__":
    main()
