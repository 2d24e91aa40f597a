"""`seqzoo hub publish`: an artefact becomes a version of a model in a hub."""

import json
import sys

from . import own_modules
from .counts import positive


def add_arguments(parser):
    parser.add_argument("artefact", metavar="ARTEFACT", help="what `seqzoo export` wrote, or a folder that holds one")
    parser.add_argument("--run", required=True, metavar="RUN", help="the run that it was exported from")
    parser.add_argument("--hub", default="hub", metavar="DIR", help="the folder of the hub; default: hub")
    parser.add_argument("--licence", required=True, metavar="SPDX", help="of the weights, such as CC-BY-4.0")
    parser.add_argument("--data", required=True, metavar="NAME", help="the name of the training data")
    parser.add_argument(
        "--data-licence",
        action="append",
        default=[],
        metavar="SPDX",
        help="of the data; repeatable. Default: the licence in the run's data.json",
    )
    parser.add_argument("--attribution", default="", metavar="TEXT", help="who made the data, and where they are")
    parser.add_argument(
        "--language", action="append", default=[], metavar="CODE", help="repeatable. Default: those of the recipe"
    )
    parser.add_argument("--core-hours", type=float, metavar="H", help="of the training, if they were measured")
    parser.add_argument("--test", metavar="PATH", help="the folder of the corpus, or a file of examples, to score on")
    parser.add_argument("--split", help="which part of it (default: test)")
    parser.add_argument("--version", type=positive, metavar="N", help="default: the artefact's")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--light", action="store_true", help="leave out what can be made again; this is the default")
    size.add_argument("--full", action="store_true", help="publish every file of the artefact")
    own_modules.add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print the entry as one JSON object")


def main(args):
    from serving.hub.facts import Facts, licence_of
    from serving.runtime.artefact import resolve

    own_modules.apply(args)
    licences = args.data_licence or licence_of(args.run)
    facts = Facts(
        args.licence, args.data, tuple(licences), args.attribution, tuple(args.language), core_hours=args.core_hours
    )
    from serving.hub.measure import TestSet
    from serving.hub.publishing import publish

    entry = publish(
        resolve(args.artefact),
        args.run,
        args.hub,
        facts,
        light=not args.full,
        test=TestSet(args.test, args.split),
        version=args.version,
        log=lambda line: print(line, file=sys.stderr),
    )
    print(json.dumps(entry, ensure_ascii=False) if args.json else f"{args.hub}/{entry['name']}/{entry['version']}")
    return 0
