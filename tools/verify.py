"""`seqzoo verify`: checks the hashes, signatures and answers of an artefact again."""

import json

from serving.lazy import later
from serving.runtime.artefact import MANIFEST, read_manifest, resolve
from serving.runtime.errors import UnsupportedError
from zoo import hub

from . import shared
from .screen import aligned, log

verifying = later("serving.export.again")


def add_arguments(parser):
    parser.add_argument(
        "directory", metavar="MODEL", help="an artefact, NAME/VERSION, a folder that holds one, or the name of a model"
    )
    shared.add_imports(parser)
    parser.add_argument("--json", action="store_true", help="print the whole report as one JSON object")
    shared.add_offline(parser)


def main(args):
    path = _find_whole(args.directory)
    shared.import_modules(args)
    report = verifying.verify(path, log=log)
    if args.json:
        print(json.dumps({"path": str(path), **report}, indent=2))
    else:
        for line in aligned([(name, f"{value:.2e}") for name, value in report["largest"].items()]):
            print(line)
        print(f"{path} is intact: largest difference {report['max_abs_diff']:.2e}, allowed {report['tolerance']}.")
    return 0


def _find_whole(name):
    """The artefact in a folder, or all files of the model of that name."""
    model = shared.find_model(name)
    if model is None:
        return resolve(name)
    path = hub.fetch_files(model, [MANIFEST])
    lacks = sorted(read_manifest(path)["files"].keys() - model.entry["files"].keys())
    if lacks:
        raise UnsupportedError(
            f"{name} cannot be verified as a whole: {model.place.address} does not publish {', '.join(lacks)}. Each "
            "file that it publishes is compared with its SHA-256 whenever it is used."
        )
    return hub.fetch_files(model, list(model.entry["files"]))
