"""The `seqzoo` command. Each subcommand is a module of this folder, imported when it is asked for.

Exit status: 0 success, 1 failure, 2 wrong use. An error that has an explanation is one line on
standard error, with a traceback only under SEQZOO_DEBUG=1; anything else is a bug and keeps it.
"""

import argparse
import importlib
import os
import sys
from importlib.metadata import PackageNotFoundError, version

from serving.errors import ServingError

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


def make_parser(chosen=None):
    """The parser of all subcommands; only the `chosen` one knows its arguments."""
    parser = argparse.ArgumentParser(
        prog="seqzoo", description="Sequence models: train, evaluate, export, verify, run."
    )
    parser.add_argument("--version", action="version", version=f"seqzoo {_version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=f"seqzoo {name}: {summary}.")
        if name == chosen:
            module = importlib.import_module(f"tools.{name}")
            module.add_arguments(command)
            command.set_defaults(main=module.main)
    return parser


def main(argv=None):
    """Run one subcommand; returns the exit status, or exits as argparse does."""
    argv = sys.argv[1:] if argv is None else list(argv)
    chosen = next((word for word in argv if not word.startswith("-")), None)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # before TensorFlow is imported
    try:
        args = make_parser(chosen).parse_args(argv)
        return args.main(args)
    except BrokenPipeError:  # a reader such as `head` has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print(f"seqzoo {chosen}: interrupted", file=sys.stderr)
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
