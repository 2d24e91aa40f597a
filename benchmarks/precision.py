"""Training in bfloat16 against float32: the same recipes, seeds and batches, and the validation losses reached.

    KERAS_BACKEND=jax python benchmarks/precision.py CORPORA        # writes benchmarks/results/precision.json
    KERAS_BACKEND=jax python benchmarks/precision.py CORPORA dates-gru-additive --seeds 2   # writes nothing

CORPORA holds a folder for each corpus. Trainings are shorter than those of the recipes, of 3 seeds each. Of the three
differences there is a mean and a 95 % interval by Student's t; "within" says that it holds 0. Expected: all are within.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import timing  # noqa: E402

T95 = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}  # by the number of seeds
RECIPES = {  # the folder of the corpus, and what is changed
    "dates-gru-additive": (None, ["training.steps=500", "training.validate_every=250"]),
    "tinyshakespeare-transformer-pre-norm": (
        "tinyshakespeare",
        ["training.steps=200", "training.validate_every=100"],
    ),
    "ewt-pos-transformer-pre-norm": (
        "ud-english-ewt",
        ["training.steps=150", "training.validate_every=150", "training.warmup=50"],
    ),
    "multi30k-de-en-transformer-pre-norm": (
        "multi30k/raw",
        [
            "training.steps=150",
            "training.validate_every=150",
            "training.warmup=50",
            "model.units=64",
            "model.hidden_units=128",
        ],
    ),
}
PRECISIONS = ("float32", "mixed_bfloat16")


def reached(name, corpora, precision, seed, home):
    """The best validation scores of a training, and its seconds."""
    import zoo

    folder, changes = RECIPES[name]
    settings = [*changes, f'training.precision="{precision}"', f"training.seed={seed}"]
    out, started = home / f"{name}-{precision}-{seed}", time.monotonic()
    zoo.train(name, folder and corpora / folder, out, settings=settings, log=lambda line: None)
    held = json.loads((out / "training.json").read_text())
    return held, round(time.monotonic() - started, 1)


def row_of(name, found):
    """A row: the mean of each precision, and the mean difference with its interval."""
    float32, bfloat16 = ([nll for nll, _ in found[precision]] for precision in PRECISIONS)
    differences = [b - a for a, b in zip(float32, bfloat16, strict=True)]
    mean, count = statistics.mean(differences), len(differences)
    half = T95[count] * statistics.stdev(differences) / count**0.5
    return {
        "recipe": name,
        "changes": RECIPES[name][1],
        "float32": [round(value, 5) for value in float32],
        "mixed_bfloat16": [round(value, 5) for value in bfloat16],
        "difference": round(mean, 5),
        "interval": [round(mean - half, 5), round(mean + half, 5)],
        "within": mean - half <= 0 <= mean + half,
        "seconds": {precision: [seconds for _, seconds in found[precision]] for precision in PRECISIONS},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path)
    parser.add_argument("names", metavar="RECIPE", nargs="*", help="default: all")
    parser.add_argument("--seeds", type=int, default=3, choices=sorted(T95))
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as home:
        for name in args.names or RECIPES:
            found = {precision: [] for precision in PRECISIONS}
            for seed in range(1, args.seeds + 1):
                for precision in PRECISIONS:
                    held, seconds = reached(name, args.corpora, precision, seed, Path(home))
                    found[precision].append((held["valid"]["nll"], seconds))
                    print(json.dumps([name, precision, seed, *found[precision][-1]]), file=sys.stderr, flush=True)
            rows.append(row_of(name, found))
            print(json.dumps(rows[-1]), flush=True)
    if not args.names:
        timing.write("precision", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
