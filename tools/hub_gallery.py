"""`seqzoo hub gallery`: a folder with a page that runs models in the browser."""

import json
import sys
import time

from . import hub_options


def add_arguments(parser):
    parser.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help="a model, such as dates, or the folder of an artefact (default: every model that `seqzoo list` shows)",
    )
    parser.add_argument(
        "--out", required=True, metavar="DIR", help="the folder; a gallery that is there already is replaced"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object: path, models, bytes, seconds")
    hub_options.add_arguments(parser)


def main(args):
    """Write the folder, and print it."""
    from serving.gallery import write

    hub_options.apply(args)
    names, began = args.names or _all(), time.monotonic()
    out = write(names, args.out, log=lambda line: print(line, file=sys.stderr))
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    if args.json:
        told = {"path": str(out), "models": len(names), "bytes": size, "seconds": round(time.monotonic() - began, 2)}
        print(json.dumps(told, ensure_ascii=False))
        return 0
    print(f"{len(names)} models, {size / 1e6:,.1f} MB. To look at it: python -m http.server -d {out}", file=sys.stderr)
    print(out)
    return 0


def _all():
    from .list_models import models

    return [f"{each['name']}@{each['version']}" for each in models()]
