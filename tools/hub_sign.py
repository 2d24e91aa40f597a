"""`seqzoo hub sign`: signs a version of a model."""

import json
import os


def add_arguments(parser):
    parser.add_argument("name", metavar="NAME@VERSION", help="which version, such as dates@2")
    parser.add_argument("--key", required=True, metavar="PEM", help="the private key, on an elliptic curve")
    parser.add_argument("--hub", default="hub", metavar="DIR", help="the folder of the hub; default: hub")
    parser.add_argument("--json", action="store_true", help="print the entry as one JSON object")
    parser.epilog = "The password of an encrypted key is read from the environment variable SEQZOO_KEY_PASSWORD."


def main(args):
    from serving.hub.signing import SIGNATURE, sign
    from zoo.hub.index import split

    name, version = split(args.name)
    if version is None:
        raise ValueError(f"Expected a name with a version, such as {name}@1; received {args.name!r}.")
    entry = sign(args.hub, name, version, args.key, os.environ.get("SEQZOO_KEY_PASSWORD"))
    print(json.dumps(entry, ensure_ascii=False) if args.json else f"{args.hub}/{name}/{version}/{SIGNATURE}")
    return 0
