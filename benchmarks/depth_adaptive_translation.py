"""Depth-Adaptive Transformer on Multi30k, German to English: BLEU against average exit, FLOPs and time a sentence.

    python benchmarks/depth_adaptive_translation.py --data multi30k/raw --out run train  # 4 blocks, aligned
    python benchmarks/depth_adaptive_translation.py --data multi30k/raw --out run exits  # teaches each rule
    python benchmarks/depth_adaptive_translation.py --data multi30k/raw --out run score  # BLEU, exits, FLOPs, figure
    python benchmarks/depth_adaptive_translation.py --data multi30k/raw --out run time   # in ONNX Runtime

The model is small, so that one core trains it: 2 blocks in the encoder, 4 in the decoder, 128 units, a shared
vocabulary of 2,000 pieces. "train" trains all depths; "exits" goes on from there for each rule, with both losses;
"score" writes the test set greedily, and reads what the exits come to from a pass over what was written; the thresholds
of the confidence rule are the best of 10,000 draws by the accuracy of tokens on the validation split. "time" decodes
200 sentences, one at a time, in one thread, the models taking turns.
"""

import argparse
import json
import os
import sys
import time
from functools import partial
from pathlib import Path

os.environ.setdefault("KERAS_BACKEND", "tensorflow" if "time" in sys.argv else "jax")  # only TensorFlow exports
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras
import numpy as np
from harness.report import table
from keras import ops
from sacrebleu.metrics import BLEU
from timing import write

from zoo.data import Batches, find_parallel, pad, read_lines
from zoo.decoding.loop import BOS, EOS
from zoo.depth import (
    ConfidenceExit,
    GeometricExit,
    MultinomialExit,
    SequenceExit,
    make_depth_adaptive_stack,
    make_stack,
)
from zoo.depth.flops import decoder_flops
from zoo.depth.thresholds import scored, tune
from zoo.models import DepthAdaptiveTransformer
from zoo.tasks.parts.answering import Compiled, Searcher
from zoo.text import Tokenizer
from zoo.training import DepthAdaptiveLoss, TrainingPlan, fit, make_steps, schedule

LAYERS, VOCABULARY, LONGEST, MOST, TIMED = 4, 2000, 40, 50, 200
RESAMPLED = 1000  # draws of the test set for the interval of a BLEU
FIGURE = Path(__file__).parents[1] / "docs/zoo/figures/depth-adaptive-bleu.png"
SIZES = {"units": 128, "num_heads": 4, "hidden_units": 512, "dropout": 0.1}
PLAN = {"batch_size": 32, "num_buckets": 4, "max_length": LONGEST, "seed": 1}
# name: (rule, the loss' oracle, lambda, sigma)
RULES = {
    "Tok-C geometric, lambda .1": (GeometricExit, "correctness", 0.1, 0.0),
    "Tok-C geometric, lambda .02": (GeometricExit, "correctness", 0.02, 0.0),
    "Tok-LL geometric, lambda .05": (GeometricExit, "likelihood", 0.05, 0.0),
    "Tok-LL geometric, lambda .02": (GeometricExit, "likelihood", 0.02, 0.0),
    "Tok-LL multinomial, lambda .05": (MultinomialExit, "likelihood", 0.05, 0.0),
    "Tok-LL multinomial, lambda .02": (MultinomialExit, "likelihood", 0.02, 0.0),
    "Seq-LL, lambda .5": (SequenceExit, "likelihood", 0.5, 0.0),
}


def slug(name):
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower())


def read(options):
    texts = {
        split: [read_lines(path) for path in find_parallel(options.data, split, "de", "en")]
        for split in ("train", "valid", "test")
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
    for name, (rule, oracle, price, width) in list(RULES.items())[: options.rules]:
        directory = options.out / slug(name)
        if (directory / "model.keras").is_file():
            continue
        keras.utils.set_random_seed(2)
        model = keras.models.load_model(options.out / "aligned/model.keras").with_exit(rule(LAYERS))
        loss = DepthAdaptiveLoss(oracle, price, width, alpha=1.0, smoothing=0.1)
        go_on(model, tokenizer, texts, directory, options.exit_updates, options.exit_rate, loss)


def go_on(model, tokenizer, texts, directory, updates, rate, loss):
    rate = schedule("linear", rate, min(400, updates // 10), updates)
    steps = make_steps(model, keras.optimizers.Adam(rate, beta_2=0.98, global_clipnorm=3.0), loss)
    data, valid = batches(tokenizer, texts["train"]), batches(tokenizer, texts["valid"], shuffle=False, num_buckets=2)
    every = max(1, updates // 2)
    progress = fit(steps, data, valid, TrainingPlan(updates, every, 100), directory, resume=True)
    model.save(directory / "model.keras")
    report = {"updates": updates, "seconds": round(progress.seconds), "history": progress.history}
    (directory / "training.json").write_text(json.dumps(report) + "\n")
    print(directory.name, report, flush=True)


def trained(options):
    """`(name, model)` of all depths, and of each rule that has been taught."""
    for name in ("aligned", *RULES):
        if (options.out / slug(name) / "model.keras").is_file():
            yield name, keras.models.load_model(options.out / slug(name) / "model.keras")


class Writer:
    """Writes all sources greedily, in batches of one shape, and says at which depth each token left."""

    def __init__(self, model, sources):
        self.model, self.sources = model, sources
        self.searcher = Searcher(model, 1, 0.0, MOST)
        self.thinker = Compiled(model, lambda inputs: model.think(inputs)["exits"])
        self.longest = max(map(len, sources))

    def write(self, size=100):
        texts, left = [], []
        for start in range(0, len(self.sources), size):
            part = self.sources[start : start + size]
            ids, lengths = pad(part + [[EOS]] * (size - len(part)), self.longest)
            written, ends, _ = self.searcher.predict_on_batch((ids, lengths))
            targets = np.concatenate([np.full((size, 1), BOS), written[:, :-1]], axis=1).astype("int32")
            inputs = {"source_ids": ids, "source_lengths": lengths, "target_ids": targets}
            exits = np.asarray(self.thinker.predict_on_batch(inputs))
            for row, end in zip(range(len(part)), np.minimum(ends + 1, MOST), strict=False):
                texts.append(written[row, : ends[row]])
                left.append(exits[row, :end])
        return texts, left


def score(options):
    """The table and the figure: all at one depth, the rules, and the confidence rule at tuned thresholds."""
    texts, tokenizer = read(options)
    sources = [ids + [EOS] for ids in tokenizer.encode(texts["test"][0])][: options.sentences]
    references, rows = texts["test"][1][: options.sentences], []

    def enter(name, writer, classifiers=1.0):
        written, left = writer.write()
        exits = np.concatenate(left)
        sizes = LAYERS, SIZES["units"], SIZES["hidden_units"]
        flops = [
            [decoder_flops(each, *sizes, len(source)) for each, source in zip(some, sources, strict=True)]
            for some in (left, [np.full_like(each, LAYERS) for each in left])
        ]
        bleu = BLEU(trg_lang="en").corpus_score(tokenizer.decode(list(map(list, written))), [references], RESAMPLED)
        row = {
            "rule": name,
            "BLEU": round(bleu.score, 2),
            "interval": round(bleu._ci, 2),  # 95 %, to both sides, over resampled sentences
            "average exit": round(float(exits.mean()), 2),
            "FLOPs, of all blocks": round(sum(flops[0]) / sum(flops[1]), 3),
            "classifiers a token": round(float(exits.mean()) if classifiers is None else classifiers, 2),
        }
        rows.append(row)
        print(table(rows[-1:]).splitlines()[-1], flush=True)

    for name, model in trained(options):
        if name == "aligned":
            sure = model.with_exit(ConfidenceExit(LAYERS))
            writer = Writer(sure, sources)
            for depth in range(1, LAYERS + 1):  # thresholds that nobody reaches, and then one that everybody does
                sure.decoder.exit.tau.assign([2.0] * (depth - 1) + [-1.0] * (LAYERS - depth))
                enter(f"all at {depth}", writer)
            for found in tuned(sure, tokenizer, texts["valid"], options.segments):
                sure.decoder.exit.tau.assign(found["thresholds"])
                enter(f"confidence {', '.join(f'{each:.2f}' for each in found['thresholds'])}", writer, None)
        else:
            enter(name, Writer(model, sources))
    write("depth_adaptive_translation", rows, aligned=report(options, "aligned"), sentences=len(sources))
    draw(rows)
    print(table(rows))


def report(options, name):
    return json.loads((options.out / name / "training.json").read_text())


def tuned(model, tokenizer, texts, segments):
    """Thresholds by the tokens of the validation split, each given the right ones before it."""
    look = Compiled(model, lambda inputs: sureness_and_right(model.depth_logits(inputs), inputs["labels"]))
    sureness, right = [], []
    for batch in batches(tokenizer, texts, shuffle=False, num_buckets=1, batch_size=64):
        weights = batch.pop("weights") > 0
        for found, part in zip((sureness, right), look.predict_on_batch(batch), strict=True):
            found.append(np.moveaxis(np.asarray(part), 1, 2)[weights])
    sureness, right = np.concatenate(sureness)[:4000], np.concatenate(right)[:4000]
    return tune(partial(scored, sureness, right), LAYERS, segments=segments)


def sureness_and_right(logits, labels):
    """`(batch, N, time)`: the probability of the best token, and whether it is the label."""
    surest = ops.max(logits, axis=-1)
    picked = ops.take_along_axis(logits, ops.cast(labels, "int32")[:, None, :, None], axis=-1)[..., 0]
    return ops.exp(surest - ops.logsumexp(logits, axis=-1)), ops.cast(picked >= surest, "float32")


def clock(options):
    """Milliseconds of processor time a sentence: nobody leaves, and the rules."""
    import onnxruntime

    from serving.export.onnx.convert import convert
    from serving.export.signatures import find, generation

    texts, tokenizer = read(options)
    sources = [ids + [EOS] for ids in tokenizer.encode(texts["test"][0])][:TIMED]
    sessions, settings = {}, onnxruntime.SessionOptions()
    settings.intra_op_num_threads = 1
    for name, model in trained(options):
        signature = find(model.signatures(), "greedy").fix(beams=1, output_time=MOST)
        graph = convert(generation(model, 1, MOST, 0.6), signature).SerializeToString()
        rule = "all at the last" if name == "aligned" else name
        sessions[rule] = onnxruntime.InferenceSession(graph, settings, providers=["CPUExecutionProvider"])
    taken, tokens = dict.fromkeys(sessions, 0.0), dict.fromkeys(sessions, 0)
    for number, source in enumerate(sources * 2):
        ids = {"token_ids": np.array([source], "int32"), "lengths": np.array([len(source)], "int32")}
        for rule, session in sessions.items():
            start = time.process_time()
            _, length, _ = session.run(None, ids)
            if number >= len(sources):  # the first round warms up
                taken[rule] += time.process_time() - start
                tokens[rule] += min(int(length[0, 0]) + 1, MOST)
    rows = [
        {
            "rule": rule,
            "ms a sentence": round(1e3 * taken[rule] / len(sources), 2),
            "us a token": round(1e6 * taken[rule] / tokens[rule]),
        }
        for rule in sessions
    ]
    write("depth_adaptive_translation_time", rows, sentences=len(sources))
    print(table(rows))


def draw(rows):
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(6.5, 4), layout="constrained")
    kinds = {"all at": "all at one depth", "confidence": "confidence, tuned", "": "learned"}
    left = list(rows)
    for start, label in kinds.items():
        chosen = [row for row in left if row["rule"].startswith(start)]
        chosen = sorted((row["average exit"], row["BLEU"], row.get("interval", 0)) for row in chosen)
        left = [row for row in left if not row["rule"].startswith(start)]
        exits, bleu, interval = zip(*chosen, strict=True)
        axis.errorbar(exits, bleu, interval if any(interval) else None, fmt="o-" if start else "o", ms=4, label=label)
    axis.set(xlabel="average exit, of 4 blocks", ylabel="BLEU", xlim=(0, LAYERS + 0.2), ylim=(0, 36))
    axis.legend(loc="lower right")
    axis.grid(alpha=0.3)
    figure.savefig(FIGURE, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=["train", "exits", "score", "time"])
    parser.add_argument("--data", type=Path, required=True, help="the directory of the corpus' files")
    parser.add_argument("--out", type=Path, required=True, help="where the run lives")
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--exit-updates", type=int, default=150)
    parser.add_argument("--exit-rate", type=float, default=3e-4)
    parser.add_argument("--rules", type=int, default=len(RULES), help="how many of the rules, from the first")
    parser.add_argument("--sentences", type=int, default=1000, help="of the test set")
    parser.add_argument("--segments", type=int, default=6, help="of average exits, each with thresholds of its own")
    options = parser.parse_args()
    start = time.time()
    {"train": train, "exits": exits, "score": score, "time": clock}[options.stage](options)
    print(f"{time.time() - start:.0f} s")


if __name__ == "__main__":
    main()
