"""`seqzoo hub fetch`: downloads a model, or some of its files, and prints the folder that holds them."""

import json

from . import hub_options


def add_arguments(parser):
    parser.add_argument(
        "name", metavar="NAME", help="a model that `seqzoo list` shows, or one version of it, NAME@VERSION"
    )
    parser.add_argument("--files", nargs="+", metavar="FILE", help="only these (default: what `seqzoo run NAME` needs)")
    parser.add_argument("--all", action="store_true", help="every file that the hub has of the model")
    parser.add_argument(
        "--public-key", metavar="PEM", help="with --all: refuse it unless the owner of this key signed it and the index"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object: path, name, version, files, hub")
    hub_options.add_arguments(parser)


def main(args):
    """Download what is not in the cache, and print the folder."""
    from zoo import hub

    if args.files and args.all:
        raise ValueError("received --files and --all: give one of them.")
    if args.public_key and not args.all:
        raise ValueError("--public-key needs --all: a signature is over all files of a model.")
    hub_options.apply(args)
    found = hub.find(args.name)
    files = list(found.entry["files"]) if args.all else args.files
    hub.bring(found, ["manifest.json"], progress=False)  # which says whose files they are
    if files is None:
        files = hub.default_files(found)
    path = hub.bring(found, files)
    if args.public_key:
        from serving.hub.signing import check_signature
        from zoo.hub import places, trust

        check_signature(path, found.entry, args.public_key)
        trust.check(found.place, places.whole_index(found.place, found.offline), [args.public_key])
    if args.json:
        entry = found.entry
        told = {"path": str(path), "name": entry["name"], "version": entry["version"], "files": files}
        print(json.dumps(told | {"hub": found.place.address}, ensure_ascii=False))
    else:
        print(path)
    return 0
