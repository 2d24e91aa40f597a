"""`seqzoo train`: trains a recipe and writes a run directory; or several runs, with other seeds or other settings."""

import shlex
from pathlib import Path

from serving.lazy import later
from serving.runtime.percent import percent
from zoo import recipes, runs
from zoo.core.storage import json_text
from zoo.core.wording import quantity
from zoo.recipes import folder
from zoo.recipes.checkpoint import is_checkpoint
from zoo.runs import repeats

from . import forecast, shared, teacher
from .screen import aligned
from .shared import positive

training = later("zoo.training")


def add_arguments(parser):
    parser.add_argument(
        "recipe",
        metavar="RECIPE",
        help="a name that `seqzoo list` shows, or the path of a .toml; or a checkpoint, such as "
        "runs/NAME/checkpoint/state.npz of another machine, whose training goes on in OUT",
    )
    parser.add_argument("--data", metavar="PATH", help="directory of the corpus, or a file of examples to train on")
    parser.add_argument(
        "--out", metavar="DIR", help="run directory (default: runs/NAME, the recipe's and that of a file of other data)"
    )
    shared.add_changes(parser, "change a setting of the recipe, such as training.steps=100")
    shared.add_imports(parser)
    parser.add_argument(
        "--seeds", type=positive, metavar="N", help="train with N seeds in OUT/seed-..., and tell mean and deviation"
    )
    parser.add_argument(
        "--sweep",
        metavar="TABLE.KEY=A,B,C",
        action="append",
        default=[],
        help="train with each value in OUT/tried/..., and keep the run with the best validation in OUT; given many "
        "times, every combination is tried",
    )
    parser.add_argument(
        "--teacher",
        metavar="MODEL",
        help="an artefact, a run or the name of a published model, whose answers to the training's sources are learnt "
        "in the place of the references (kept in OUT/teacher)",
    )
    parser.add_argument(
        "--teacher-texts",
        metavar="FILE",
        action="append",
        default=[],
        help="more texts, a line each, without an answer; the student learns the teacher's answers to these, too",
    )
    parser.add_argument(
        "--devices",
        type=_devices,
        metavar="all|N",
        help="split each batch among so many devices; needs JAX, and works over several processes (docs/devices.md)",
    )
    parser.add_argument(
        "--plan",
        choices=forecast.NAMES,
        help="train nothing: tell the memory and time that the training would need on this accelerator",
    )
    parser.add_argument("--resume", action="store_true", help="continue the run (or the runs) from the last checkpoint")
    parser.add_argument("--json", action="store_true", help="print the summary as one JSON object")
    parser.epilog = "The backend is that of Keras: KERAS_BACKEND=tensorflow (default) or jax."


def main(args):
    """Train, and print the run directory and the last validation, or a table of several runs."""
    recipe = recipes.load_for_training(args.recipe, args.set, args.imports, args.data)
    if args.plan:
        return forecast.main(args, recipe)
    if args.teacher and (args.seeds or args.sweep or is_checkpoint(args.recipe)):
        raise ValueError(
            "--teacher makes the data of one training, which begins anew: leave --seeds, --sweep and checkpoints out. "
            "What it makes, OUT/teacher, is data for others."
        )
    if args.teacher_texts and not args.teacher:
        raise ValueError("--teacher-texts is about what a teacher answers: give --teacher, too.")
    out = Path(args.out or Path("runs") / recipe.name)
    if args.seeds or args.sweep:
        return _series(args, recipe, out)
    data, resume = args.data, folder.resume_from(args.recipe, out, args.resume)
    try:
        if args.teacher:
            recipe = teacher.replace_answers(recipe, args.teacher, args.teacher_texts, out, data, resume)
            data = None  # it names its files now
        summary = runs.train(recipe, out, data=data, resume=resume, devices=args.devices)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(describe_resuming(args, out, recipe.training.steps)) from None
    if args.json:
        print(json_text(summary))
        return 0
    valid = summary["valid"]
    steps = quantity(summary["steps"], "step")
    print(f"{out}: {steps} in {summary['training_seconds']:,.0f} s, validation {_describe(valid)}")
    return 0


def _describe(valid):
    if "perplexity" not in valid:
        return f"squared error {valid['nll']:.4f}"
    return f"perplexity {valid['perplexity']:.3f}, accuracy {percent(100 * valid['accuracy'], 2)}%"


def _devices(word):
    return word if word == "all" else positive(word)


def _series(args, recipe, out):
    if args.seeds and args.sweep:
        raise ValueError("--seeds and --sweep are two kinds of series: sweep first, then repeat the best with --seeds.")
    if is_checkpoint(args.recipe):
        raise ValueError(f"{args.recipe} is a checkpoint: one training goes on from it. Leave --seeds and --sweep out.")
    try:
        if args.seeds:
            summary = repeats.repeat(recipe, args.seeds, out, args.data, args.resume)
        else:
            trials = repeats.sweep(args.recipe, args.sweep, [*args.set, f"name={recipe.name}"], args.imports)
            summary = repeats.search(trials, out, args.data, args.resume)
    except repeats.Stopped as stop:
        raise KeyboardInterrupt(describe_resuming(args, stop.directory, stop.steps, f" in {stop.place}")) from None
    print(json_text(summary) if args.json else table(summary))
    if args.sweep and not args.json:
        print(f"{out}: {summary['best']}, the best by {summary['monitor']}")
    return 0


def table(summary):
    """A row for each run of a series (`zoo.runs.repeats`), and the means of repeated ones; * marks the best one."""
    rows = summary["runs"]
    scores = [row["valid"] for row in rows if "valid" in row]
    names = [name for name in scores[0] if all(isinstance(each[name], float) for each in scores)]
    lines = [["run", "steps", *names]]
    for row in rows:
        mark = " *" if row["run"] == summary.get("best") else ""
        cells = ["", "failed"] if "failed" in row else [f"{row['steps']:,}", *_numbers(row["valid"], names)]
        lines.append([row["run"] + mark, *cells])
    if "valid" in summary:
        for what in ("mean", "deviation"):
            lines.append([what, "", *_numbers({name: each[what] for name, each in summary["valid"].items()}, names)])
    return "\n".join(aligned(lines, right=range(1, len(lines[0]))))


def _numbers(values, names):
    return ["-" if values[name] is None else f"{values[name]:,.4f}" for name in names]


def describe_resuming(args, out, steps, place=""):
    """A message about what an interrupted training has saved, with the command that continues it."""
    step = 0
    if (out / "checkpoint").is_dir():  # without a checkpoint, Keras need not be imported
        step = training.saved_step(out)
    saved = f"{out} is saved at step {step:,} of {steps:,}" if step else "nothing of the training was saved yet"
    options = [
        ("--data", args.data),
        ("--teacher", args.teacher),
        *(("--teacher-texts", each) for each in args.teacher_texts),
        ("--out", args.out),
        *(("--set", each) for each in args.set),
    ]
    options += [("--import", each) for each in args.imports]
    options += [("--devices", args.devices and str(args.devices))]
    options += [("--seeds", args.seeds and str(args.seeds)), *(("--sweep", each) for each in args.sweep)]
    command = ["seqzoo", "train", args.recipe, *(word for pair in options if pair[1] for word in pair)]
    command += ["--json"] if args.json else []
    return f"interrupted{place}; {saved}. Continue with: {shlex.join([*command, '--resume'])}"
