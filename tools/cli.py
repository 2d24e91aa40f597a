"""The `seqzoo` command. Each subcommand is a module of this folder, imported when it is asked for.

Options and other arguments may come in any order. A command that imports TensorFlow does so in a calm process (`calm`).

Exit status: 0 success, 1 failure, 2 wrong use. An error that has an explanation is one line on
standard error, with a traceback only under SEQZOO_DEBUG=1; anything else is a bug and keeps it.
"""

import argparse
import contextlib
import importlib
import os
import sys
from importlib.metadata import PackageNotFoundError, version

from serving.errors import ServingError

from .calm import calm

COMMANDS = {
    "train": "train a recipe",
    "evaluate": "score a trained run on a test set",
    "export": "write a run as an artefact: Keras, SavedModel and ONNX",
    "verify": "re-check an artefact: hashes, signatures, parity",
    "run": "texts in, texts out, on ONNX Runtime alone",
    "list": "list the entries of the zoo and their scores",
    "plot": "draw figures of measured scores",
    "bench": "measure speed",
}
LOUD = ("train", "evaluate", "export", "verify")  # these import TensorFlow
EXTRAS = {  # what a missing module is part of
    "keras": "tensorflow",
    "tensorflow": "tensorflow",
    "tensorflow_text": "tensorflow",
    "onnx": "tensorflow",
    "tf2onnx": "tensorflow",
    "jax": "jax",
    "babel": "train",
    "rich": "train",
    "sacrebleu": "train",
    "tensorboard": "train",
    "matplotlib": "plot",
}


def make_parser():
    """The parser of what stands before a subcommand; it lists them all."""
    parser = argparse.ArgumentParser(
        prog="seqzoo", description="Sequence models: train, evaluate, export, verify, run."
    )
    parser.add_argument("--version", action="version", version=f"seqzoo {_version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        commands.add_parser(name, help=summary)
    return parser


def parse(argv):
    """The arguments of a subcommand, in any order, or argparse's exit for wrong ones, `--help` and `--version`."""
    if not argv or argv[0] not in COMMANDS:
        return make_parser().parse_args(argv)
    name = argv[0]
    module = importlib.import_module(f".{name}", __package__)
    parser = argparse.ArgumentParser(prog=f"seqzoo {name}", description=f"seqzoo {name}: {COMMANDS[name]}.")
    parser.set_defaults(main=module.main)
    module.add_arguments(parser)
    return parser.parse_intermixed_args(argv[1:])


def main(argv=None):
    """Run one subcommand; returns the exit status, or exits as argparse does.

    As a program (`argv` is None), the process keeps the lines of native libraries from standard error.
    """
    if argv is not None:
        return _main(list(argv))
    with calm() if sys.argv[1:2] and sys.argv[1] in LOUD else contextlib.nullcontext():
        return _main(sys.argv[1:])


def _main(argv):
    chosen = argv[0] if argv else None
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # before TensorFlow is imported
    try:
        args = parse(argv)
        return args.main(args)
    except BrokenPipeError:  # a reader such as `head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt as stop:
        print(f"seqzoo {chosen}: {str(stop) or 'interrupted'}", file=sys.stderr)
        return 130
    except (ImportError, ValueError, OSError, FloatingPointError) as error:
        if os.environ.get("SEQZOO_DEBUG"):
            raise
        message = _missing(error, chosen) if isinstance(error, ImportError) else str(error)
        misused = isinstance(error, ValueError) and not isinstance(error, ServingError)
    print(f"seqzoo {chosen}: {' '.join(message.split())}", file=sys.stderr)
    return 2 if misused else 1


def _missing(error, chosen):
    module = (error.name or "").split(".")[0]
    extra = EXTRAS.get(module)
    if extra is None:
        return str(error)
    trains = module == "tensorflow" and chosen in ("train", "evaluate")  # the rest needs TensorFlow itself
    other = " (or set KERAS_BACKEND=jax)" if trains else ""
    return f"{module} is not installed: pip install 'seqzoo[{extra}]'{other}"


def _version():
    try:
        return version("seqzoo")
    except PackageNotFoundError:
        return "from a source tree"


if __name__ == "__main__":
    sys.exit(main())
