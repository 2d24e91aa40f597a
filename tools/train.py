"""`seqzoo train`: a recipe in, a run directory out."""

import json
import shlex
from pathlib import Path


def add_arguments(parser):
    parser.add_argument("recipe", metavar="RECIPE", help="a name that `seqzoo list` shows, or the path of a .toml")
    parser.add_argument("--data", metavar="DIR", help="directory of the corpus, unless it is generated")
    parser.add_argument("--out", metavar="DIR", help="run directory (default: runs/NAME)")
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="change a setting of the recipe; may be given many times",
    )
    parser.add_argument("--resume", action="store_true", help="continue the run from its last checkpoint")
    parser.add_argument("--json", action="store_true", help="print the summary as one JSON object")
    parser.epilog = "The backend is Keras' own choice: KERAS_BACKEND=tensorflow (default) or jax."


def main(args):
    """Train and print where the run lies."""
    from zoo import recipes

    recipe = recipes.load(args.recipe, args.set)
    out = Path(args.out or Path("runs") / recipe.name)
    try:
        summary = recipes.train(recipe, out, data=args.data, resume=args.resume)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(how_to_go_on(args, out, recipe.steps)) from None
    if args.json:
        print(json.dumps(summary))
        return 0
    valid = summary["valid"]
    print(
        f"{out}: {summary['steps']:,} steps in {summary['training_seconds']:,.0f} s, "
        f"validation perplexity {valid['perplexity']:.3f}, accuracy {valid['accuracy']:.2%}"
    )
    return 0


def how_to_go_on(args, out, steps):
    """What an interrupted training has saved, and the command that continues it."""
    step = 0
    if (out / "checkpoint").is_dir():  # else one need not wait for Keras
        from zoo.training import saved_step

        step = saved_step(out)
    saved = f"{out} is saved at step {step:,} of {steps:,}" if step else "nothing of the training was saved yet"
    given = [("--data", args.data), ("--out", args.out), *(("--set", each) for each in args.set)]
    command = ["seqzoo", "train", args.recipe, *(word for pair in given if pair[1] for word in pair)]
    command += ["--json"] if args.json else []
    return f"interrupted; {saved}. Continue with: {shlex.join([*command, '--resume'])}"
