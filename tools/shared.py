"""The options that several commands have, and the types of their arguments: each is declared here once."""

import argparse
import re

from serving.lazy import later

hub = later("zoo.hub")
occupants = later("zoo.settings.occupants")
reading = later("serving.runtime.reading")
rules = later("serving.kinds.rules")
sessions = later("serving.runtime.sessions")

TASKS = ("translate", "transduce", "classify", "compare", "rate", "rate_pairs", "tag", "embed", "continue")
METAVARS = {int: "N", float: "X", str: "TEXT", list: "TEXT"}
UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}


def positive(text):
    """The `type` of an option that is a whole number of at least 1.

    Raises:
        argparse.ArgumentTypeError: the text is anything else; argparse adds the option's name and exits with status 2.
    """
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, received {text!r}")
    return int(text)


def size(text):
    """The `type` of an option that is a number of bytes: with bytes, kB, MB, GB (thousands), KiB, MiB or GiB (1024)."""
    parts = re.fullmatch(r"\s*([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*([A-Za-z]*)\s*", text)
    if not parts or parts[2].lower() not in UNITS:
        raise argparse.ArgumentTypeError(f"expected a size such as 500kB, 5MB or 1GiB; received {text!r}")
    return int(float(parts[1]) * UNITS[parts[2].lower()])


def add_offline(parser):
    """The option of a command that may download a model; the command line makes it hold."""
    parser.add_argument("--offline", action="store_true", help="do not use the network: only what is here already")


def find_model(name, what="artefact"):
    """The model of this name in a hub, or None for a path.

    Args:
        name: a path or a name.
        what: what could lie at a path, for the message.

    Raises:
        ValueError: there is neither such a folder nor such a model.
        zoo.hub.HubError: the index of a hub cannot be read.
    """
    if hub.is_path(name):
        return None
    try:
        return hub.find(name)
    except ValueError as error:
        raise ValueError(f"No {what} at {name}: there is no such directory, and {error}") from error


def fetch_whole(name, what="artefact"):
    """A path as it is given, or the folder of the model of this name with all files that its hub publishes.

    Args: as of `find_model`.

    Raises:
        ValueError: there is neither such a folder nor such a model.
        zoo.hub.HubError: the model cannot be downloaded.
    """
    model = find_model(name, what)
    return name if model is None else hub.fetch_files(model, list(model.entry["files"]))


def add_imports(parser):
    """The option of a command that opens a model which may have layers of one's own."""
    parser.add_argument(
        "--import",
        dest="imports",
        metavar="MODULE",
        action="append",
        default=[],
        help="a module that brings layers of your own, from the working folder, too; may be given many times. "
        "It is run as a program: what a run or an artefact names itself is not imported",
    )


def import_modules(args):
    """Import the modules that were asked for.

    Raises:
        ValueError: one is not found, or cannot be imported.
    """
    if args.imports:
        occupants.import_modules(args.imports)


def add_changes(parser, about):
    """The option that changes settings of a recipe."""
    more = {"action": "append", "default": [], "help": f"{about}; may be given many times"}
    parser.add_argument("--set", metavar="TABLE.KEY=VALUE", **more)


def add_split(parser):
    parser.add_argument("--split", help="which part of the data (default: test, or valid if there is no test)")


def add_model(parser, dest):
    """The first argument of a command that answers with an artefact."""
    what = "the name of a model (`seqzoo list`), an artefact, NAME/VERSION, or a folder that holds one"
    parser.add_argument(dest, metavar="MODEL", help=what)


def add_precision(parser):
    what = "default: float32, or int8 where the hub says that it loses nothing"
    parser.add_argument("--precision", choices=sessions.PRECISIONS, help=what)


def add_overlong(parser, texts):
    what = f"how {texts} are treated (default: the artefact's setting)"
    parser.add_argument("--overlong", choices=reading.OVERLONG, help=what)


def add_no_verify(parser):
    parser.add_argument("--no-verify", action="store_true", help="do not compare files with their recorded SHA-256")


def numbers():
    """The names of the rules of a search that are numbers."""
    return [name for name, rule in rules.RULES.items() if rule.kind in (int, float)]


def add_rules(parser, names=None):
    """An option for each of these rules of a search, or for all, made of the table that says what they mean."""
    group = parser.add_argument_group("rules of the search", "of models that write; default: the artefact's own")
    for name in names or rules.RULES:
        rule = rules.RULES[name]
        more = {"action": "append"} if rule.kind is list else {"type": rule.kind}
        about = f"{rule.meaning}{'; repeatable' if rule.kind is list else ''}"
        group.add_argument(flag(name), metavar=METAVARS[rule.kind], help=about, **more)


def given_rules(args, names=None):
    """The rules that were given.

    Raises:
        ValueError: a value is out of its range.
    """
    return rules.checked({name: vars(args)[name] for name in names or rules.RULES})


def flag(name):
    """How an option is written whose value has this name: --max-input of max_input."""
    return f"--{name.replace('_', '-')}"
