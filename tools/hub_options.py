"""What every command that may download a model has in common."""

import os


def add_arguments(parser):
    parser.add_argument("--offline", action="store_true", help="do not use the network: only what is here already")


def apply(args):
    """Make the options hold for this process and those that it starts."""
    if args.offline:
        os.environ["SEQZOO_OFFLINE"] = "1"
