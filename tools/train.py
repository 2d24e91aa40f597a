"""`seqzoo train`: trains a recipe and writes a run directory; or several runs, with other seeds or other settings.

With `--plan` it says what a training would need on an accelerator that is not here.
"""

import os
import shlex
from importlib.util import find_spec
from pathlib import Path

from serving.lazy import later
from serving.runtime.percent import percent
from zoo import recipes, runs
from zoo.core.storage import json_text
from zoo.core.wording import quantity
from zoo.recipes import folder
from zoo.recipes.checkpoint import is_checkpoint
from zoo.runs import repeats

from . import shared, teacher
from .screen import aligned, log
from .shared import positive

forecasting = later("zoo.runs.forecast")
training = later("zoo.training")

ACCELERATORS = ("h200", "h100", "a100", "l4", "tpu-v5e")  # of `zoo.runs.forecast`, which needs Keras; a test compares
SMALL = 2e-3  # seconds of a step below which other things than its products decide


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
        choices=ACCELERATORS,
        help="train nothing: tell the memory and time that the training would need on this accelerator",
    )
    parser.add_argument("--resume", action="store_true", help="continue the run (or the runs) from the last checkpoint")
    parser.add_argument("--json", action="store_true", help="print the summary as one JSON object")
    parser.epilog = "The backend is that of Keras: KERAS_BACKEND=tensorflow (default) or jax."


def main(args):
    """Train, and print the run directory and the last validation, or a table of several runs."""
    recipe = recipes.load_for_training(args.recipe, args.set, args.imports, args.data)
    if args.plan:
        return _plan(args, recipe)
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


def _plan(args, recipe):
    """Print what the training would need; nothing is trained, and nothing is written."""
    options = {"--out": args.out, "--resume": args.resume, "--seeds": args.seeds, "--sweep": args.sweep}
    options |= {"--devices": args.devices}
    if names := [name for name, value in options.items() if value]:
        raise ValueError(f"--plan trains nothing, so it takes no {' and no '.join(names)}.")
    os.environ.setdefault("KERAS_BACKEND", "jax")
    if find_spec("jax") is None:
        raise ValueError("--plan needs JAX, which traces the step: pip install 'seqzoo[jax]'.")
    forecast = forecasting.forecast(recipe, args.plan, args.data, log=log)
    print(json_text(forecast) if args.json else describe_plan(forecast))
    return 0


def describe_plan(forecast):
    """The forecast as lines of a table."""
    memory, capacity = sum(forecast["memory"].values()), forecast["device_memory"]
    parts = ", ".join(f"{name} {_bytes(size)}" for name, size in forecast["memory"].items())
    fits = "it fits" if forecast["fits"] else "it does not fit: lower training.batch_size, or raise training.parts"
    reached = f"if matrix products reach {forecast['utilisation']:.0%} of the peak"
    if forecast["step_seconds"] < SMALL:
        reached += "; so small a step takes longer to start than to compute, rather some milliseconds"
    whole = forecast["trained"] == forecast["parameters"]
    trained = "" if whole else f", of which {forecast['trained']:,} are trained"
    rows = [
        ("parameters", f"{forecast['parameters']:,}{trained}, computed in {forecast['precision']}"),
        *((f"step of {_lengths(forecast, each)}", _cost(each)) for each in forecast["shapes"]),
        ("memory", f"about {_bytes(memory)} of {_bytes(capacity)}, so {fits} ({parts})"),
        ("one step", f"{_seconds(forecast['step_seconds'])}, {reached}"),
        (f"{forecast['steps']:,} steps", f"{_seconds(forecast['training_seconds'])} of computing, without validations"),
    ]
    if forecast["assumed"]:
        rows.append(("assumed", "; ".join(forecast["assumed"])))
    recipe, device, source = (forecast[name] for name in ("recipe", "device", "source"))
    title = f"{recipe} on one {device} ({source}). Its steps lower for it; none was run."
    return "\n".join([title, *(f"  {line}" for line in aligned(rows))])


def _lengths(forecast, shape):
    return f"{forecast['batch_size']} x {' + '.join(map(str, shape['lengths']))} tokens"


def _cost(shape):
    share = "" if shape["share"] == 1 else f"{shape['share']:.0%} of the steps: "
    part = shape["matrix"] / max(1, shape["operations"])
    return f"{share}{_count(shape['operations'])} floating-point operations, {part:.0%} of them in matrix products"


def _count(number):
    for unit, size in (("tera", 1e12), ("giga", 1e9), ("mega", 1e6)):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:,}"


def _bytes(size):
    for unit, least in (("GiB", 2**30), ("MiB", 2**20)):
        if size >= least:
            return f"{size / least:.1f} {unit}"
    return f"{size / 2**10:.0f} KiB"


def _seconds(seconds):
    for unit, size in (("days", 86_400), ("hours", 3_600), ("minutes", 60), ("s", 1)):
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{1e3 * seconds:.3g} ms"
