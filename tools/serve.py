"""`seqzoo serve`: a server of texts, over HTTP and gRPC."""

import argparse
import importlib.util
import math

from serving.runtime.artefact import locate, open_artefact
from serving.server.limits import Batching, Limits

from . import shared
from .shared import positive

EPILOG = """examples:
  seqzoo serve dates intents-en
  seqzoo serve out/de-en --http-port 8080 --grpc-port 8081 --host 0.0.0.0
  curl -d '{"instances": ["3. März 2021"]}' localhost:8080/v1/models/dates:predict

A folder with numbered versions is watched: a newer version that appears in it is checked, loaded and then answers, and
the older one finishes what it has begun. Events are JSON lines on standard error, and metrics are at /metrics."""


def add_arguments(parser):
    parser.epilog = EPILOG
    parser.add_argument(
        "models",
        metavar="MODEL",
        nargs="+",
        help="the name of a model (`seqzoo list`), an artefact, or its versions' folder",
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    parser.add_argument("--http-port", type=port, default=8080, metavar="N", help="0 takes a free one (default: 8080)")
    parser.add_argument("--grpc-port", type=port, default=8081, metavar="N", help="0 takes a free one (default: 8081)")
    parser.add_argument("--threads", type=positive, default=1, metavar="N", help="threads of one operator (default: 1)")
    shared.add_precision(parser)
    shared.add_overlong(parser, "texts that are too long")
    parser.add_argument(
        "--shortlist", action="store_true", help="search over the shortlist with which the models were exported"
    )
    shared.add_no_verify(parser)
    shared.add_offline(parser)
    batches = parser.add_argument_group("batches")
    batches.add_argument(
        "--max-delay", type=float, default=2.0, metavar="MS", help="the longest wait for other texts (default: 2)"
    )
    batches.add_argument("--max-batch-tokens", type=positive, default=4096, metavar="N", help="default: 4096")
    batches.add_argument(
        "--max-batch-texts", type=positive, default=32, metavar="N", help="default: 32; 1 answers texts one by one"
    )
    network = parser.add_argument_group("on a network")
    network.add_argument(
        "--keys",
        metavar="FILE",
        help="a name and a key in each line: who has none of them is not answered (Authorization)",
    )
    network.add_argument(
        "--proxy",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="of a proxy, or its network, whose X-Forwarded-For names the caller (may be repeated)",
    )
    bounds = parser.add_argument_group("bounds")
    bounds.add_argument("--queue", type=positive, default=4096, metavar="N", help="texts that may wait (default: 4096)")
    bounds.add_argument("--max-texts", type=positive, default=1024, metavar="N", help="of a request (default: 1024)")
    bounds.add_argument(
        "--max-bytes", type=positive, default=8 << 20, metavar="N", help="of a request (default: 8 MiB)"
    )
    bounds.add_argument(
        "--max-connections-of-one",
        type=positive,
        default=256,
        metavar="N",
        help="over HTTP, of one address (default: 256; of all together 900)",
    )
    bounds.add_argument("--deadline", type=float, default=60.0, metavar="SECONDS", help="of a request (default: 60)")
    bounds.add_argument(
        "--drain", type=float, default=20.0, metavar="SECONDS", help="for what is queued when it stops (default: 20)"
    )
    running = parser.add_argument_group("while it runs")
    running.add_argument(
        "--version-poll",
        type=float,
        default=5.0,
        metavar="SECONDS",
        help="look for new versions (default: 5; 0: never)",
    )
    running.add_argument("--log-requests", action="store_true", help="log every request, without its texts")


def port(text):
    """A port number.

    >>> from seqzoo.serve import port
    >>> port("8080")
    8080
    """
    number = int(text) if text.isdecimal() and text.isascii() and len(text) < 6 else -1
    if not 0 <= number < 65536:
        raise argparse.ArgumentTypeError(f"expected a number from 0 to 65535; received {text!r}")
    return number


def main(args):
    """Serve until the process is told to stop, and return the exit status: 0 if everything was answered, else 1."""
    if importlib.util.find_spec("starlette") is None:
        raise ImportError("starlette is not installed", name="starlette")
    if not 0 <= args.version_poll < math.inf:
        raise ValueError(f"--version-poll must be a number of seconds, 0 or more; received {args.version_poll}.")
    batching = Batching(args.max_delay / 1e3, args.max_batch_tokens, args.max_batch_texts)
    limits = Limits(
        *(args.queue, args.max_texts, args.max_bytes, args.deadline),
        drain=args.drain,
        connections_of_one=args.max_connections_of_one,
    )
    for model in args.models:
        open_artefact(locate(model), verify=not args.no_verify)
    from serving.server import door, models, process  # after all checks, because this takes seconds

    opening = models.Opening(args.threads, args.precision, not args.no_verify, args.overlong, args.shortlist)
    ports = args.host, args.http_port, args.grpc_port
    who = door.Door(door.read_keys(args.keys) if args.keys else (), args.proxy)
    settings = process.Settings(*ports, batching, limits, opening, who, args.version_poll, args.log_requests)
    return process.run(args.models, settings)
