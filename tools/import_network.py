"""`seqzoo import`: writes a network that somebody else has trained as a run, as `seqzoo train` writes one."""

from pathlib import Path

from zoo.core.storage import json_text
from zoo.pretrained import import_network
from zoo.pretrained.writing import describe_parity

from . import shared


def add_arguments(parser):
    parser.add_argument(
        "source",
        metavar="SOURCE",
        help="a folder with its files, a zip or tar of them, or a repository: hf://OWNER/NAME[@REVISION]",
    )
    parser.add_argument("--out", required=True, metavar="RUN", help="the run directory to write")
    parser.add_argument("--name", help="name of its recipe; default: that of the run directory")
    for side, verb in (("source", "read"), ("target", "write")):
        of = f"the language to {verb}, of a network for many languages, as it names it; default: what its files state"
        parser.add_argument(f"--{side}-language", metavar="CODE", default="", help=of)
    parser.add_argument("--force", action="store_true", help="take the place of an imported run that is there")
    shared.add_imports(parser)
    parser.add_argument("--json", action="store_true", help="print what import.json says as one JSON object")


def main(args):
    """Import, and print where the run is and what it was compared with."""
    options = {"name": args.name or "", "imports": tuple(args.imports)}
    options |= {"source_language": args.source_language, "target_language": args.target_language}
    record = import_network(args.source, args.out, force=args.force, **options)
    if args.json:
        print(json_text(record))
        return 0
    print(f"{Path(args.out)}: {record['parameters']:,} parameters of the family {record['family']}. ", end="")
    print(f"{describe_parity(record['parity'])} Licence: {record['licence'] or 'none is stated'}.")
    return 0
