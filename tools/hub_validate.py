"""`seqzoo hub validate`: checks a hub, and tells which models of the cache this installation can run."""

import json

from . import hub_options
from .screen import shown


def add_arguments(parser):
    parser.add_argument("place", metavar="PLACE", nargs="?", help="a folder or an address (default: every known hub)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    hub_options.add_arguments(parser)


def main(args):
    """Print what is wrong; the exit status is 1 if anything is."""
    from zoo.hub.validate import cached, validate

    hub_options.apply(args)
    hubs, models = validate(args.place), cached()
    if args.json:
        print(json.dumps({"hubs": hubs, "cache": models}, indent=2, ensure_ascii=False))
    else:
        for hub in hubs:
            wrong = f"wrong: {len(hub['wrong'])}" if hub["wrong"] else "nothing is wrong"
            print(f"{hub['address']}: {hub['checked']}; {wrong}")
            for line in hub["wrong"]:
                print(f"  {shown(line)}")
        for model in models:
            state = "; ".join(model["problems"]) or "runs here"
            print(f"{model['name']}@{model['version']} in the cache: {shown(state)}")
    return 1 if any(hub["wrong"] for hub in hubs) else 0
