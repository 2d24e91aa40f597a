"""`seqzoo verify`: checks the hashes, signatures and answers of an artefact again."""

import json
import sys

from serving.runtime.artefact import resolve


def add_arguments(parser):
    parser.add_argument("directory", metavar="DIR", help="an artefact, NAME/VERSION, or a folder that holds one")
    parser.add_argument(
        "--import",
        dest="imports",
        metavar="MODULE",
        action="append",
        default=[],
        help="a module that brings layers of your own, which the model needs; may be given many times",
    )
    parser.add_argument("--json", action="store_true", help="print the whole report as one JSON object")


def main(args):
    from serving.export.verify import verify

    path = resolve(args.directory)
    if args.imports:
        from zoo.core.occupants import bring

        bring(args.imports)
    report = verify(path, log=lambda stage: print(stage, file=sys.stderr))
    if args.json:
        print(json.dumps({"path": str(path), **report}, indent=2))
    else:
        width = max(map(len, report["largest"]))
        for name, value in report["largest"].items():
            print(f"{name:<{width}}  {value:.2e}")
        print(f"{path} is intact: largest difference {report['max_abs_diff']:.2e}, allowed {report['tolerance']}.")
    return 0
