"""`seqzoo plot`: figures of measured runs: score by source length, or the course of training."""

import csv
import json
from pathlib import Path

from .attention_map import SUFFIXES, check

FEWEST = 10  # sentences that a length must have to be drawn


def add_arguments(parser):
    parser.add_argument("figure", choices=FIGURES, help="what to draw")
    parser.add_argument("runs", metavar="RUN", nargs="+", help="run directories, a line each")
    parser.add_argument("--out", required=True, metavar="FILE", help=f"one of {', '.join(SUFFIXES)}")
    parser.add_argument("--title", default="")


def main(args):
    out = Path(args.out)
    check(out)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.2), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    axes.grid(alpha=0.3)
    axes.set_title(args.title)
    FIGURES[args.figure](axes, [Path(run) for run in args.runs])  # refuses a run that it has nothing of
    axes.legend()
    out.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(out)
    print(out)
    return 0


def by_length(axes, runs):
    """BLEU (exact match where there is no language) against source length, with the sentences of a length below."""
    for run in runs:
        scores = json.loads(_needed(run / "scores.json", "seqzoo evaluate").read_text(encoding="utf-8"))
        if "by_length" not in scores:
            raise ValueError(f"{run} has no scores by length: expected a run of a model that writes sentences.")
        rows = [row for row in scores["by_length"] if row["sentences"] >= FEWEST]
        if not rows:
            raise ValueError(
                f"{run} has no length with at least {FEWEST} sentences, so there is nothing to draw. Evaluate it on "
                "more sentences: leave out --limit."
            )
        metric = "bleu" if "bleu" in rows[0] else "exact_match"
        middles = [(row["from"] + row["to"]) / 2 for row in rows]
        axes.plot(middles, [row[metric] for row in rows], marker="o", label=f"{run.name} ({scores[metric]:.1f})")
    counts = ", ".join(f"{row['from']}-{row['to']}: {row['sentences']}" for row in rows)
    axes.set_xlabel(f"source length\n(sentences: {counts})")
    axes.set_ylabel({"bleu": "BLEU", "exact_match": "exact match, %"}[metric])
    axes.set_ylim(bottom=0)


def training(axes, runs):
    """Validation loss against steps."""
    for run in runs:
        with open(_needed(run / "metrics.csv", "seqzoo train"), encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row.get("valid_nll")]
        if not rows:
            raise ValueError(
                f"{run} has no validation yet: {run / 'metrics.csv'} holds none to draw. Train on until the first one "
                f"with `seqzoo train --resume`, or set validate_every to fewer steps."
            )
        axes.plot([int(row["step"]) for row in rows], [float(row["valid_nll"]) for row in rows], label=run.name)
    axes.set_xlabel("step")
    axes.set_ylabel("validation loss, nats per token")


FIGURES = {"by-length": by_length, "training": training}


def _needed(path, command):
    if not path.is_file():
        raise ValueError(f"There is no {path}: make it with `{command}` first.")
    return path
