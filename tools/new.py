"""`seqzoo new`: a recipe for files of one's own, written after looking at them."""

import re
import shlex
import sys
from pathlib import Path

from zoo.core.storage import write_text
from zoo.recipes.proposal import dumps_with_comments, propose

from . import shared
from .screen import escape


def add_arguments(parser):
    parser.add_argument("task", metavar="TASK", help=f"one of {', '.join(shared.TASKS)}")
    parser.add_argument(
        "files", metavar="FILE", nargs="+", help="examples; a name with valid, dev or test says the split"
    )
    parser.add_argument("--out", metavar="FILE.toml", required=True, help="the recipe to write")
    shared.add_changes(parser, "decide a setting, such as data.columns.text=2 or data.encoding=cp1252")
    parser.add_argument(
        "--from",
        dest="network",
        metavar="NETWORK",
        help="begin with a network that is trained already: the folder of a run, such as `seqzoo import` writes, or of "
        "an artefact's version, or the name of a model (`seqzoo list`)",
    )
    parser.add_argument("--force", action="store_true", help="write over a file that is there")


def main(args):
    """Write the recipe and print what to do with it."""
    out = Path(args.out)
    if out.suffix != ".toml":
        raise ValueError(f"--out is the name of a recipe, a file that ends in .toml; received {args.out!r}.")
    if out.exists() and not args.force:
        raise ValueError(f"{out} exists. Choose another --out, or write over it with --force.")
    settings, notes = propose(args.task, args.files, _name(out), args.set, args.network)
    text = dumps_with_comments(settings, notes)
    write_text(out, text)
    for note in notes:
        print(escape(note), file=sys.stderr)
    train = shlex.join(["seqzoo", "train", str(out), "--out", (Path("runs") / _name(out)).as_posix()])
    print(f"{out}: train it with `{train}`")
    return 0


def _name(out):
    """The name of the recipe: that of its file, with a hyphen for what no name may have, such as spaces."""
    return re.sub(r"[^\w.+-]+", "-", out.stem)
