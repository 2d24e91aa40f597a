"""`seqzoo plot`: draws figures of measured runs: scores, scores by length, confused labels, the validation loss."""

import csv
from pathlib import Path

from serving.runtime.percent import percent
from zoo.core.escaping import in_figure
from zoo.recipes import evaluations
from zoo.recipes.evaluations import check_folder
from zoo.scores import plots
from zoo.tasks import TASKS

from .figures import SUFFIXES, check, save

TITLE = 100  # characters
FEWEST = 10  # a length with fewer sentences is not drawn


def add_arguments(parser):
    parser.add_argument("figure", choices=FIGURES, help="what to draw")
    parser.add_argument("runs", metavar="RUN", nargs="+", help="run directories; one for confusion")
    parser.add_argument("--out", required=True, metavar="FILE", help=f"one of {', '.join(SUFFIXES)}")
    parser.add_argument("--title", default="", help="what stands above the figure")
    parser.add_argument("--split", help="of scores and confusion (default: test, or the only one that was evaluated)")
    parser.add_argument("--score", action="append", metavar="NAME", help="of scores: one to draw, repeatable")


def main(args):
    out = Path(args.out)
    check(out)
    runs = [Path(run) for run in args.runs]
    for run in runs:
        check_folder(run)
    figure = (
        WHOLE[args.figure](runs, args) if args.figure in WHOLE else draw_lines(FIGURES[args.figure], runs, args.title)
    )
    save(figure, out)
    print(out)
    return 0


def draw_lines(draw, runs, title):
    """A figure with one line for each run."""
    figure, axes = plots.new_figure(7, 4.2)
    axes.grid(alpha=0.3)
    axes.set_title(in_figure(title, TITLE))
    draw(axes, runs)  # raises an error for a run without such values
    axes.legend()
    return figure


def draw_by_length(axes, runs):
    """BLEU, or exact match if the target is not a language, against the source length; below, the sentence counts."""
    metrics, counts = set(), set()
    for run in runs:
        scores = evaluations.read_scores(_require(run / "scores.json", "seqzoo evaluate").parent)
        if "by_length" not in scores:
            raise ValueError(f"{run} has no scores by length: expected a run of a model that writes sentences.")
        rows = [row for row in scores["by_length"] if row["sentences"] >= FEWEST]
        if not rows:
            raise ValueError(
                f"{run} has no length with at least {FEWEST} sentences, so there is nothing to draw. Evaluate it on "
                "more sentences: leave out --limit."
            )
        metric = "bleu" if "bleu" in rows[0] else "exact_match"
        metrics.add(metric)
        if len(metrics) > 1:
            raise ValueError(
                f"{run} was scored by {metric} and a run before it by another metric: one axis cannot show both. Draw "
                "only runs of one metric in a figure."
            )
        middles = [(row["from"] + row["to"]) / 2 for row in rows]
        label = f"{in_figure(run.name)} ({percent(scores[metric])})"
        axes.plot(middles, [row[metric] for row in rows], marker="o", label=label)
        counts.add(", ".join(f"{row['from']}-{row['to']}: {row['sentences']}" for row in rows))
    axes.set_xlabel("source length" + (f"\n(sentences: {counts.pop()})" if len(counts) == 1 else ""))
    axes.set_ylabel({"bleu": "BLEU", "exact_match": "exact match, %"}[metric])
    axes.set_ylim(bottom=0)


def draw_training(axes, runs):
    """The validation loss against the step."""
    for run in runs:
        with open(_require(run / "metrics.csv", "seqzoo train"), encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row.get("valid_nll")]
        if not rows:
            raise ValueError(
                f"{run} has no validation yet: {run / 'metrics.csv'} holds none to draw. Continue the training until "
                f"the first one with `seqzoo train --resume`, or set validate_every to fewer steps."
            )
        steps, losses = ([float(row[name]) for row in rows] for name in ("step", "valid_nll"))
        axes.plot(steps, losses, marker=".", label=in_figure(run.name))
    axes.set_xlabel("step")
    axes.set_ylabel("validation loss")  # of a rating it is a squared error


def draw_confusion(runs, args):
    """Which labels, or tags, a run takes for which."""
    if len(runs) > 1:
        raise ValueError(f"A figure of confusion shows one run; received {len(runs)}. Draw each by itself.")
    (run,) = runs
    answers = evaluations.read(run, args.split or evaluations.shared_split(runs))
    task = TASKS[answers["task"]]
    if not task.labelled:
        raise ValueError(f"{run} is a run of {task.name}: expected one whose answers are labels or tags.")
    sides = answers["outputs"], answers["references"]
    sides = ([label for answer in side for label in task.split(answer)] for side in sides)
    return plots.draw_confusion(*sides, title=in_figure(args.title or f"{run.name}, {answers['split']}", TITLE))


def draw_scores(runs, args):
    """The scores of each run, with their intervals."""
    split = args.split or evaluations.shared_split(runs)
    records = [evaluations.read(run, split) for run in runs]
    for run, own in zip(runs, records, strict=True):
        evaluations.check_same(runs[0], run, records[0], own)
    names = short_names(runs)
    count = f"{split}, {records[0]['count']:,} examples, 95 % intervals"
    reports = {name: own["scores"] for name, own in zip(names, records, strict=True)}
    return plots.draw_scores(reports, args.score, title=in_figure(args.title or count, TITLE))


def short_names(runs):
    """A short name for each run: the end of its path, from where no two runs have the same."""
    parts = [Path(run).parts for run in runs]
    for ending in range(1, max(map(len, parts)) + 1):
        names = [str(Path(*each[-ending:])) for each in parts]
        if len(set(names)) == len(names):
            break
    return names


WHOLE = {"confusion": draw_confusion, "scores": draw_scores}  # figures that are no lines
FIGURES = {"by-length": draw_by_length, "training": draw_training, **WHOLE}


def _require(path, command):
    if not path.is_file():
        raise ValueError(f"There is no {path}: make it with `{command}` first.")
    return path
