"""`seqzoo hub sign`: signs the index of a hub, and with a name that version of a model, too."""

import json
import os

from .counts import positive


def add_arguments(parser):
    parser.add_argument("name", metavar="NAME@VERSION", nargs="?", help="also sign this version, such as dates@2")
    parser.add_argument("--key", required=True, metavar="PEM", help="the private key, on an elliptic curve")
    parser.add_argument("--hub", default="hub", metavar="DIR", help="the folder of the hub; default: hub")
    parser.add_argument(
        "--days",
        type=positive,
        default=90,
        metavar="N",
        help="for how long the index counts, until it has to be signed again (default: 90)",
    )
    parser.add_argument("--json", action="store_true", help="print the entry, or what was signed of the index, as JSON")
    parser.epilog = "The password of an encrypted key is read from the environment variable SEQZOO_KEY_PASSWORD."


def main(args):
    from serving.hub.signing import SIGNATURE, sign, sign_index
    from zoo.hub.index import INDEX, split

    how = {"password": os.environ.get("SEQZOO_KEY_PASSWORD"), "days": args.days}
    if args.name is None:
        index = sign_index(args.hub, args.key, **how)
        print(json.dumps(index["signed"]) if args.json else f"{args.hub}/{INDEX}")
        return 0
    name, version = split(args.name)
    if version is None:
        raise ValueError(f"Expected a name with a version, such as {name}@1; received {args.name!r}.")
    entry = sign(args.hub, name, version, args.key, **how)
    print(json.dumps(entry, ensure_ascii=False) if args.json else f"{args.hub}/{name}/{version}/{SIGNATURE}")
    return 0
