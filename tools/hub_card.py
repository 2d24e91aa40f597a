"""`seqzoo hub card`: shows the card of a published model, or measures every number of it again."""

import json
import sys

from serving.hub import PARTS

from . import own_modules


def add_arguments(parser):
    parser.add_argument("name", metavar="NAME", help="a model, such as dates, or a version of it, dates@2")
    parser.add_argument(
        "--check",
        action="store_true",
        help="measure every number again, from what is published alone; 1 if one differs",
    )
    parser.add_argument(
        "--only",
        action="append",
        choices=PARTS,
        metavar="PART",
        help=f"check only this: {', '.join(PARTS[:-1])} or {PARTS[-1]}; repeatable",
    )
    parser.add_argument("--data", metavar="PATH", help="also compare the stored test set with that of this corpus")
    parser.add_argument("--hub", metavar="DIR", help="the folder of a hub (default: the hubs of SEQZOO_HUB)")
    own_modules.add_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def main(args):
    from serving.hub.opened import opened

    if (args.only or args.data) and not args.check:
        raise ValueError("--only and --data are about --check: give it, too, or leave them out.")
    own_modules.apply(args)
    entry, folder = opened(args.name, args.hub)
    if args.check:
        return _check(args, entry, folder)
    from serving.hub.light import CARD
    from serving.hub.opened import artefact_of

    artefact = artefact_of(folder, entry)
    text = artefact.read(CARD).decode()
    if args.json:
        print(json.dumps({"card": text, "entry": entry, "manifest": artefact.manifest}, ensure_ascii=False))
        return 0
    if entry["withdrawn"] is not None:
        print(f"**Withdrawn: {entry['withdrawn']}**\n")
    print(text, end="")
    return 0


def _check(args, entry, folder):
    from serving.hub import checking as checks

    parts = tuple(args.only or PARTS)
    rows = checks.check(folder, entry, parts, args.data, log=lambda line: print(line, file=sys.stderr))
    holds = all(row.equal is not False for row in rows)
    if args.json:
        model = {"name": entry["name"], "version": entry["version"], "withdrawn": entry["withdrawn"]}
        shown = {"speed": entry["speed"]}
        print(json.dumps({**model, "holds": holds, "checks": checks.as_dicts(rows), **shown}, ensure_ascii=False))
    else:
        print(checks.write_table(rows))
    return 0 if holds else 1
