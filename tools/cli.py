"""The `seqzoo` command. Each subcommand is a module of this folder, which is imported only when it runs.

Options and other arguments may come in any order. For a subcommand that imports TensorFlow, the log lines of native
libraries are filtered (`calm`).

Exit status: 0 success, 1 failure, 2 wrong use. An expected error is one line on standard error (several problems in
data take a line each), with a traceback only under SEQZOO_DEBUG=1. Any other error is a bug and always has a traceback.
"""

import argparse
import contextlib
import errno
import importlib
import os
import sys

from serving.lazy import later
from serving.runtime.errors import ServingError

from .calm import calm
from .screen import screen_output
from .startup import free_memory, keep_memory, keep_programs, lean

packages = later("zoo.core.later")

COMMANDS = {
    "new": "write a recipe for files of your own",
    "import": "write a network that somebody else has trained as a run",
    "train": "train a recipe",
    "evaluate": "score a trained run on a test set",
    "compare": "test whether one run is better than another",
    "export": "write a run, or an artefact again, as an artefact: Keras, SavedModel and ONNX",
    "verify": "check an artefact again: hashes, signatures, parity",
    "run": "answer texts with an artefact, on ONNX Runtime alone",
    "serve": "serve models to texts over HTTP and gRPC",
    "deploy": "write what a server's operator needs, and move the labels stable and canary",
    "list": "list the trained models and the recipes with their scores, or all that is known of one",
    "hub": "fetch, check and publish trained models",
    "reproduce": "measure what each paper claims, in minutes, and say what holds",
    "plot": "draw figures of runs: validation loss, scores, scores by length, confused labels",
    "bench": "measure the speed of a model on this machine",
}
MODULES = {"import": "import_network"}  # of commands whose name is a word of Python
# These import TensorFlow, or may.
LOUD = ("import", "train", "evaluate", "export", "verify", "deploy", "reproduce", "hub publish", "hub card")
FULL = "Free some space there, and try again."
OCCUPIED = "A file lies where a folder is needed: choose another place, or remove it."
CLOSED = "Choose another place, or change the rights of this one."
TOO_LARGE = "Make the batches or the model smaller, or free some memory."
MENDS = {errno.ENOSPC: FULL, errno.EDQUOT: FULL, errno.ENOTDIR: OCCUPIED, errno.EEXIST: OCCUPIED}
MENDS |= dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), CLOSED)
TEXTS = ("texts", "prefix", "bad_words")  # arguments that may be empty
HYPHEN = "\0"  # before a text that begins with a hyphen; no argument of a process can hold this character
EXTRAS = {  # the extra of this package that installs a module
    "keras": "tensorflow",
    "tensorflow": "tensorflow",
    "tensorflow_text": "tensorflow",
    "onnx": "tensorflow",
    "tf2onnx": "tensorflow",
    "jax": "jax",
    "model_signing": "sign",
    "babel": "train",
    "packaging": "train",
    "rich": "train",
    "sacrebleu": "train",
    "tensorboard": "train",
    "matplotlib": "plot",
    "huggingface_hub": "huggingface",
    "tensorflow_serving": "deploy",
    "yaml": "train",
    "pyarrow": "huggingface",
    "starlette": "serve",
    "grpc": "client",
}
EXAMPLES = {
    "new": (
        "seqzoo new classify reviews.csv --out reviews.toml",
        "seqzoo new translate train.de train.en valid.de valid.en --out de-en.toml",
        "seqzoo new tag train.conll dev.conll test.conll --out tags.toml --set data.columns.tags=4",
        "seqzoo new continue novel.txt.gz --out novel.toml",
    ),
    "import": (
        "seqzoo import opus-mt-de-en --out runs/de-en",
        "seqzoo import hf://Helsinki-NLP/opus-mt-de-en --out runs/de-en",
        "seqzoo import hf://facebook/nllb-200-distilled-600M --out runs/de-en --source-language deu_Latn "
        "--target-language eng_Latn",
    ),
    "train": (
        "seqzoo train reviews.toml --out runs/reviews",
        "seqzoo train multi30k-de-en-gru-additive --data multi30k --out runs/de-en --resume",
        "seqzoo train reviews.toml --out runs/five --seeds 5",
        "seqzoo train reviews.toml --out runs/tried --sweep model.dropout=0.1,0.3 --sweep model.units=64,128",
        "KERAS_BACKEND=jax seqzoo train reviews.toml --out runs/jax",
    ),
    "evaluate": (
        "seqzoo evaluate runs/reviews",
        "seqzoo evaluate runs/de-en --data multi30k --split valid --beam 1 --json",
        "seqzoo evaluate runs/five/seed-1 --ensemble runs/five/seed-2",
    ),
    "compare": (
        "seqzoo compare runs/first runs/second --out differences.png",
        "seqzoo compare pronounce-hu-gru-none pronounce-hu-lstm",
    ),
    "export": (
        "seqzoo export runs/reviews",
        "seqzoo export runs/de-en --out models --beam 4 --beam 1 --max-input 256",
        "seqzoo export runs/one --ensemble runs/two --name together",
        "seqzoo export dates --beam 8",
    ),
    "deploy": (
        "seqzoo deploy artefacts/dates --target tf-serving --out server",
        "seqzoo deploy --out server --canary 2",
        "seqzoo deploy --out server --promote",
        "seqzoo deploy --out server --rollback",
        "seqzoo deploy artefacts/dates --target kserve --out cluster --storage s3://bucket/models",
    ),
    "verify": ("seqzoo verify artefacts/reviews", "seqzoo verify dates"),
    "list": (
        "seqzoo list --task translate --language de",
        "seqzoo list --max-size 2MB --sort speed",
        "seqzoo list dates",
        "seqzoo list trec-star",
    ),
    "plot": (
        "seqzoo plot training runs/first runs/second --out loss.png",
        "seqzoo plot scores runs/first runs/second --score accuracy --out scores.pdf",
        "seqzoo plot confusion runs/reviews --out confusion.svg",
        "seqzoo plot by-length runs/de-en --out lengths.png",
    ),
    "reproduce": (
        "seqzoo reproduce star",
        "seqzoo reproduce --all --out reproduced",
        "seqzoo reproduce star --check",
        "seqzoo reproduce --all --draw",
        "seqzoo reproduce reformer --json",
    ),
    "bench": ("seqzoo bench dates", "seqzoo bench artefacts/reviews --file texts.txt --batch 1 --batch 64 --threads 2"),
    "hub fetch": ("seqzoo hub fetch dates", "seqzoo hub fetch dates@2 --files model.keras recipe.toml"),
    "hub validate": ("seqzoo hub validate", "seqzoo hub validate ./hub", "seqzoo hub validate https://example.org/hub"),
    "hub publish": (
        "seqzoo hub publish artefacts/reviews --run runs/reviews --licence CC-BY-4.0 --data 'My reviews, 2026' "
        "--data-licence CC0-1.0",
    ),
    "hub card": ("seqzoo hub card dates", "seqzoo hub card dates --check --only scores"),
    "hub sign": (
        "seqzoo hub sign --key key.pem --hub hub",
        "seqzoo hub sign dates@2 --key key.pem --hub hub --days 30",
    ),
    "hub withdraw": ("seqzoo hub withdraw dates@2 --reason 'Two labels were exchanged.'",),
    "hub gallery": ("seqzoo hub gallery --out site", "seqzoo hub gallery --out site dates pos-en-star"),
    "hub package": ("seqzoo hub package dates --out wheels",),
}
ENVIRONMENT = """environment:
  SEQZOO_HUB       the hubs in which models are looked up, separated by commas: folders and addresses
  SEQZOO_HUB_KEYS  files of public keys: a hub is used only if the owner of one of them signed its index
  SEQZOO_CACHE     the folder in which downloaded models and compiled programs are kept
  SEQZOO_OFFLINE   1: do not use the network
  SEQZOO_TIMEOUT   seconds without a byte after which a hub counts as stalled
  SEQZOO_DEBUG     1: show tracebacks, and every line of TensorFlow's libraries
  KERAS_BACKEND    tensorflow (default) or jax, for train, evaluate and reproduce (there jax is the default)

`seqzoo COMMAND --help` shows the options of a command, and examples."""


def make_parser():
    """The parser for `seqzoo` without a known subcommand; its help lists all of them."""
    parser = argparse.ArgumentParser(
        prog="seqzoo",
        description="Sequence models: train, evaluate, export, verify, run.",
        epilog=ENVIRONMENT,
        formatter_class=_make_formatter,
    )
    own = packages.installed_version("seqzoo") or "from a source tree"
    parser.add_argument("--version", action="version", version=f"seqzoo {own}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        commands.add_parser(name, help=summary)
    return parser


def _make_formatter(prog):
    """A formatter that leaves room for the longest command, whose indentation argparse forgets to count."""
    formatter = argparse.RawDescriptionHelpFormatter(prog)
    formatter._action_max_length = 4 + max(map(len, COMMANDS))
    return formatter


def parse(argv):
    """The arguments of a subcommand, in any order. After `--` nothing is an option, whatever it begins with.

    Exits, as argparse does, for wrong arguments, `--help` and `--version`.
    """
    if not argv:
        make_parser().print_help(sys.stderr)
        sys.exit(2)
    if argv[0] not in COMMANDS:
        return make_parser().parse_args(argv)
    name, summary, words = argv[0], COMMANDS[argv[0]], argv[1:]
    module = importlib.import_module(f".{MODULES.get(name, name)}", __package__)
    if name == "hub":  # a subcommand with verbs of its own
        verb, module, words = module.choose_verb(words)
        name, summary = f"hub {verb}", module.summary
    parser = argparse.ArgumentParser(prog=f"seqzoo {name}", description=f"seqzoo {name}: {summary}.")
    parser.set_defaults(main=module.main, offline=False)
    module.add_arguments(parser)
    parser.epilog, parser.formatter_class = _epilog(name, parser.epilog), argparse.RawDescriptionHelpFormatter
    place = words.index("--") if "--" in words else len(words)
    options, rest = words[:place], words[place + 1 :]
    args = parser.parse_intermixed_args([*options, *(HYPHEN + each if each.startswith("-") else each for each in rest)])
    _refuse_empty(parser, args)
    return _remove_marks(args) if rest else args


def _epilog(name, own):
    """What stands below the help of a subcommand: its examples, and what it says itself."""
    parts = ["examples:\n" + "\n".join(f"  {each}" for each in EXAMPLES[name])] if name in EXAMPLES else []
    return "\n\n".join([*parts, *([own] if own else [])]) or None


def _refuse_empty(parser, args):
    """Exit if an argument is empty, as `--keys "$KEYS"` is without the variable: it would count as not given."""
    given = vars(args)
    for action in parser._actions:
        value = given.get(action.dest)
        if value == action.default or action.dest in TEXTS:
            continue
        if value == "" or isinstance(value, list) and "" in value:
            name = "/".join(action.option_strings) or action.metavar
            why = "expected a value, received an empty one; is a variable of the shell not set?"
            parser.error(f"argument {name}: {why}")


def _remove_marks(args):
    """The namespace without `HYPHEN`, with which texts after `--` are marked because argparse would lose the `--`."""

    def remove_mark(value):
        return value.removeprefix(HYPHEN) if isinstance(value, str) else value

    for name, value in vars(args).items():
        setattr(args, name, list(map(remove_mark, value)) if isinstance(value, list) else remove_mark(value))
    return args


def main(argv=None):
    """Run one subcommand and return its exit status, or exit as argparse does.

    When it runs as a program (`argv` is None), the log lines of native libraries are filtered, optional packages that
    no command uses are not imported, a training keeps its memory and the programs that it compiles, and an import or
    export frees its memory.
    """
    if argv is not None:
        return _main(list(argv))
    if sys.stdout is not None:  # a character that the locale's encoding lacks is shown as Python writes it
        sys.stdout.reconfigure(errors="backslashreplace")
    if sys.argv[1:2] in (["train"], ["reproduce"]):
        keep_memory()
    if sys.argv[1:2] in (["train"], ["evaluate"], ["reproduce"]):
        keep_programs()
    if sys.argv[1:2] in (["import"], ["export"], ["verify"]):
        free_memory()
    lean()
    loud = " ".join(sys.argv[1:2]) in LOUD or " ".join(sys.argv[1:3]) in LOUD
    with calm() if loud else contextlib.nullcontext():
        return _main(sys.argv[1:])


def _main(argv):
    command = " ".join(argv[: 2 if argv[:1] == ["hub"] else 1])
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # before TensorFlow is imported
    try:
        args = parse(argv)
        if args.offline:  # for this process and those that it starts
            os.environ["SEQZOO_OFFLINE"] = "1"
        with screen_output():
            return args.main(args)
    except BrokenPipeError:  # a program such as `head` stopped reading the output
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt as stop:
        with screen_output():
            print(f"seqzoo {command}: {str(stop) or 'interrupted'}", file=sys.stderr)
        return 130
    except (ImportError, ValueError, OSError, FloatingPointError, MemoryError) as error:
        if os.environ.get("SEQZOO_DEBUG"):
            raise
        message = _describe_missing(error, command) if isinstance(error, ImportError) else _describe(error)
        is_misuse = isinstance(error, ValueError) and not isinstance(error, ServingError)
    with screen_output():
        print(f"seqzoo {command}: {_layout(message)}", file=sys.stderr)
    return 2 if is_misuse else 1


def _layout(message):
    """A message in one line; of one that counts several problems, each in a line of its own, as it was written."""
    first, *others = message.split("\n")
    if first.endswith(":") and others and all(each.startswith("  ") and each.strip() for each in others):
        return "\n".join([first, *(f"  {' '.join(each.split())}" for each in others)])
    return " ".join(message.split())


def _describe(error):
    """The message of an error: of the operating system's errors without their number, and with a remedy."""
    if isinstance(error, MemoryError):
        return f"{str(error).removesuffix('.') or 'this machine has too little memory'}. {TOO_LARGE}"
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    mend = f". {MENDS[error.errno]}" if error.errno in MENDS else ""
    return f"{error.filename}: {error.strerror}{mend}" if error.filename else f"{error.strerror}{mend}"


def _describe_missing(error, command):
    module = (error.name or "").split(".")[0]
    extra = EXTRAS.get(module)
    if extra is None:
        return str(error)
    if extra == "train" and command in LOUD:  # the backend's extra has it, so that the backend is not missed afterwards
        extra = "deploy" if command == "deploy" else "tensorflow"
    # Other subcommands need TensorFlow itself.
    either = extra == "tensorflow" and command in ("train", "evaluate", "reproduce")
    other = " (or 'seqzoo[jax]', with KERAS_BACKEND=jax)" if either else ""
    return f"{module} is not installed: pip install 'seqzoo[{extra}]'{other}"


if __name__ == "__main__":
    sys.exit(main())
