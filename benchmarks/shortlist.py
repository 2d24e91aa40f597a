"""Translation over a shortlist beside the whole vocabulary: BLEU, equal answers, processor time of a sentence.

    python benchmarks/shortlist.py --data CORPORA --work WORK       # writes benchmarks/results/PROCESSOR/shortlist.json
    python benchmarks/shortlist.py --data CORPORA --work WORK --sentences 32 --rounds 1 --dry    # whether it works

CORPORA has the folders tatoeba-en-de and tatoeba-en-zh. Two models of this checkout's hub are exported again with
shortlists that allow 50 and 100 target pieces for each source piece; WORK keeps what was exported. BLEU is that of the
whole test split, in batches of 32; `same` is the share of its answers that the whole vocabulary gives, too.
Milliseconds are of processor time by one thread, from strings to strings, medians of rounds in which all ways take
turns over the same test sentences, which are in batches of similar length; `speedup` is the median over the rounds of
the whole vocabulary's time by the shortlist's, with its quartiles.
"""

import argparse
import os
import statistics
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT)]

from harness import processor, report  # noqa: E402
from harness.apart import export_apart  # noqa: E402

MODELS = {"translate-de-en/5": "tatoeba-en-de", "translate-en-zh/4": "tatoeba-en-zh"}  # and the corpus of each
WIDTHS, BATCHES, BEAMS, PRECISIONS = (50, 100), (1, 8, 32), (4, 1), ("float32", "int8")


def export(model, data, width, out):
    """Export a model of the hub again with a shortlist of its training's pairs. It is not scored here."""
    from serving.export import export_again
    from serving.export.shortlist import estimate
    from zoo.recipes.files import read_stored
    from zoo.text import Tokenizer

    folder = ROOT / "hub" / model
    tokenizers = [Tokenizer.load(folder / f"{side}.spm") for side in ("source", "target")]
    found = estimate(read_stored(folder / "recipe.toml"), tokenizers, data, width)
    export_again(folder, out, version=width, shortlist=found)


def exported(model, data, width, work):
    """The artefact, made if it is not there."""
    path = work / model.partition("/")[0] / str(width)
    if not path.exists():
        print(f"exporting {model} with {width} pieces", file=sys.stderr)
        export_apart(export, model, data, width, work)
    return path


def runtimes(artefacts, precision):
    """`{width: Runtime}`; None is the whole vocabulary."""
    from serving import Runtime

    ways = {None: (artefacts[WIDTHS[0]], False)} | {width: (path, True) for width, path in artefacts.items()}
    return {
        width: Runtime(path, threads=1, precision=precision, shortlist=narrow) for width, (path, narrow) in ways.items()
    }


def milliseconds(opened, texts, batch, beams, rounds):
    """`{width: [milliseconds of processor time of a sentence] * rounds}`."""
    groups = [texts[first : first + batch] for first in range(0, len(texts), batch)]
    taken = {each: [] for each in opened}
    for number in range(rounds + 1):
        for width, runtime in opened.items():
            before = time.process_time()
            for group in groups:
                runtime.run(group, beam=beams)
            if number:  # the first round warms up
                taken[width].append(1e3 * (time.process_time() - before) / len(texts))
    return taken


def measure(model, recipe, artefacts, data, options):
    """The rows of a model: one for each precision, beam width and width of the shortlist."""
    from zoo.recipes import read

    texts, references = read(recipe, "test", data)
    rows = []
    for precision in PRECISIONS:
        opened = runtimes(artefacts, precision)
        some = texts[:: max(1, len(texts) // options.sentences)][: options.sentences]
        some = [some[at] for at in sorted(range(len(some)), key=opened[None].lengths(some).__getitem__)][::-1]
        for beams in BEAMS:
            answers = {width: [each.answer for each in one.run(texts, beam=beams)] for width, one in opened.items()}
            taken = {batch: milliseconds(opened, some, batch, beams, options.rounds) for batch in BATCHES}
            for width, found in answers.items():
                scores = recipe.job.score(recipe, found, references)
                row = {"model": model, "precision": precision, "beams": beams, "width": width}
                row |= {"bleu": round(scores["bleu"], 2), "interval": [round(x, 1) for x in scores["bleu_interval"]]}
                row["same"] = round(sum(a == b for a, b in zip(found, answers[None], strict=True)) / len(found), 4)
                for batch, times in taken.items():
                    row[f"ms_{batch}"] = round(statistics.median(times[width]), 3)
                    row[f"speedup_{batch}"], row[f"spread_{batch}"] = report.ratio(times[None], times[width])
                rows.append(row)
                print(row, file=sys.stderr, flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of tatoeba-en-de and tatoeba-en-zh")
    parser.add_argument("--work", type=Path, required=True, help="where exports are kept; those that are there count")
    parser.add_argument("--sentences", type=int, default=192, help="that are timed")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--dry", action="store_true", help="write nothing")
    options = parser.parse_args()
    from zoo.recipes.files import read_stored

    rows, load = [], round(os.getloadavg()[0], 2)
    for model, corpus in MODELS.items():
        data = options.data / corpus
        artefacts = {width: exported(model, data, width, options.work) for width in WIDTHS}
        rows += measure(model, read_stored(ROOT / "hub" / model / "recipe.toml"), artefacts, data, options)
    here = processor.processor()
    result = {"benchmark": "shortlist", "processor": here, "load": load, "rounds": options.rounds}
    result |= {"sentences": options.sentences, "date": datetime.now(UTC).date().isoformat()}
    result |= {"commit": processor.commit(), "versions": processor.versions(("onnxruntime", "numpy")), "cells": rows}
    print(report.table(rows))
    if not options.dry:
        print(f"written: {report.write(processor.slug(here), 'shortlist', result)}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
