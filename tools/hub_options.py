"""What every command that may download a model has in common."""

import os

from serving.lazy import later

hub = later("zoo.hub")


def add_arguments(parser):
    parser.add_argument("--offline", action="store_true", help="do not use the network: only what is here already")


def apply(args):
    """Make the options hold for this process and those that it starts."""
    if args.offline:
        os.environ["SEQZOO_OFFLINE"] = "1"


def found(name, what="artefact"):
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
