"""`seqzoo run --server URL NAME`: the model is one that a server has."""

import os

from serving.lazy import later

from .shared import flag

serving_client = later("serving.client")

KEY = "SEQZOO_SERVER_KEY"  # a variable of the environment, because anybody on the machine may read a command line
# Options of what a server has decided already, or does not send.
LOCAL = ("precision", "overlong", "threads", "no_verify", "plot_attention", "shortlist")


def add_arguments(parser):
    group = parser.add_argument_group("a server")
    group.add_argument(
        "--server",
        metavar="URL",
        help="ask MODEL of a server: http://HOST:PORT or grpc://HOST:PORT of `seqzoo serve`, KServe or Triton; "
        "tfs+http://HOST:PORT or tfs+grpc://HOST:PORT of TensorFlow Serving; a key it wants is taken from the "
        f"environment, {KEY}",
    )
    group.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="for each request, all of its tries together (default: 60)"
    )


def check(args):
    """Refuse wrong use.

    Raises:
        ValueError: the options do not go together.
    """
    if args.timeout is not None and not args.server:
        raise ValueError("--timeout is about a server: give --server URL, too.")
    flags = [flag(name) for name in LOCAL if getattr(args, name)]
    if args.server and flags:
        raise ValueError(f"{flags[0]} is not for a server, which has opened the model already. Leave it out.")


def open_client(args):
    """The `Client`.

    Raises:
        ValueError: the address is none, or the timeout is no number of seconds.
    """
    settings = {} if args.timeout is None else {"timeout": args.timeout}
    if key := os.environ.get(KEY, "").strip():
        settings["headers"] = {"Authorization": f"Bearer {key}"}
    client = serving_client.Client(args.server, args.directory, **settings)
    if args.out:  # the answers of one file are those of one version
        client.pin()
    return client
