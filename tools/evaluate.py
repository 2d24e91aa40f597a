"""`seqzoo evaluate`: what a trained run scores on a test set: BLEU, exact match, accuracy, nats per character."""

import json
import sys
import time
from pathlib import Path

from .counts import positive

RECORD = "scores.json"
SHOWN = ("sentences", "labels", "accuracy", "cut", "characters", "nats_per_character", "token_accuracy")


def add_arguments(parser):
    parser.add_argument("run", metavar="RUN", help="a run directory of `seqzoo train`")
    parser.add_argument("--data", metavar="DIR", help="directory of the corpus, unless it is generated")
    parser.add_argument("--split", help="which part of the data (default: test, or valid if there is no test)")
    parser.add_argument("--beam", type=positive, metavar="N", help="beam width of a search (default: the recipe's)")
    parser.add_argument(
        "--limit", type=positive, metavar="N", help="only the first N sentences (characters of a running text)"
    )
    parser.add_argument("--json", action="store_true", help="print the scores as one JSON object")
    parser.add_argument(
        "--record",
        action="store_true",
        help="also enter the scores into the zoo's own table, which `seqzoo list` shows",
    )


def main(args):
    """Score, write RUN/scores.json and RUN/SPLIT.hypotheses.txt, print."""
    from zoo import recipes

    recipe = recipes.check_run(args.run)
    split = args.split or recipes.corpora.last_split(recipe)
    recipes.check_data(recipe, (split,), args.data)
    labels = recipes.open_labels(args.run)
    run = recipes.open_run(args.run)
    import keras

    start = time.monotonic()
    options = {"beams": args.beam, "limit": args.limit, "progress": _progress(sys.stderr)}
    found, outputs = recipes.evaluate(run, labels, split, args.data, **options)
    seconds = round(time.monotonic() - start, 1)
    scores = {"split": split, **found, "seconds": seconds, "backend": keras.backend.backend()}
    directory = Path(args.run)
    if outputs:
        text = "".join(f"{output}\n" for output in outputs)
        (directory / f"{split}.hypotheses.txt").write_text(text, encoding="utf-8")
    _write(directory / RECORD, scores)
    if args.record:
        _record(recipe, scores, directory)
    print(json.dumps(scores) if args.json else _table(recipe.name, scores))
    return 0


def _progress(stream):
    """Ten lines or so over the whole, or one line that is rewritten on a terminal."""
    shown = 0

    def progress(done, total):
        nonlocal shown
        if stream.isatty():
            print(f"\r{done:,}/{total:,} sentences", end="\n" * (done == total), file=stream)
        elif done - shown >= total / 10 or done == total:
            print(f"{done:,}/{total:,} sentences", file=stream, flush=True)
            shown = done

    return progress


def _write(path, content):
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def _record(recipe, scores, directory):
    """Enter a measurement, and the training it belongs to, under the recipe's name, beside the recipes."""
    from zoo.recipes import files

    path = files.HERE / RECORD
    table = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    training = json.loads((directory / "training.json").read_text(encoding="utf-8"))
    kept = ("steps", "training_seconds", "parameters", "backend", "keras", "data_sha256")
    table[recipe.name] = scores | {"training": {key: training[key] for key in kept}}
    _write(path, dict(sorted(table.items())))


def _table(name, scores):
    if "by_length" not in scores:
        rows = (f"{key.replace('_', ' '):>20}  {value:,.4g}" for key, value in scores.items() if key in SHOWN)
        return "\n".join([f"{name}, {scores['split']}", *rows])
    shown = [key for key in ("bleu", "chrf", "exact_match") if key in scores]
    head = "".join(f"{key.replace('_', ' '):>14}" for key in shown)
    lines = [f"{name}, {scores['split']}, beam {scores['beam']}", f"{'length':>10}{'n':>7}{head}"]
    rows = [(f"{row['from']}-{row['to']}", row) for row in scores["by_length"]]
    for label, row in [*rows, ("all", scores)]:
        values = "".join(f"{row[key]:14.2f}" for key in shown)
        lines.append(f"{label:>10}{row['sentences']:7,}{values}")
    return "\n".join(lines)
