"""`seqzoo hub withdraw`: marks a version as withdrawn, with a reason; its files stay."""

import json


def add_arguments(parser):
    parser.add_argument("name", metavar="NAME@VERSION", help="which version, such as dates@2")
    parser.add_argument("--reason", required=True, metavar="TEXT", help="one line, which whoever fetches it is told")
    parser.add_argument("--hub", default="hub", metavar="DIR", help="the folder of the hub; default: hub")
    parser.add_argument("--json", action="store_true", help="print the entry as one JSON object")


def main(args):
    from serving.hub.shelf import withdraw
    from zoo.hub.index import split

    name, version = split(args.name)
    if version is None:
        raise ValueError(f"Expected a name with a version, such as {name}@1; received {args.name!r}.")
    entry = withdraw(args.hub, name, version, args.reason)
    print(json.dumps(entry, ensure_ascii=False) if args.json else f"{args.name} is withdrawn: {entry['withdrawn']}")
    return 0
