"""`seqzoo hub VERB`: what belongs to hubs of models. What a verb needs is imported when it runs."""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, NamedTuple

from serving.hub import PARTS
from serving.lazy import later
from zoo.core.wording import quantity

from . import shared
from .list import list_models
from .screen import escape, log
from .shared import positive

artefacts = later("serving.runtime.artefact")
checking = later("serving.hub.checking")
facts = later("serving.hub.facts")
gallery = later("serving.gallery")
hubs = later("zoo.hub")
index = later("zoo.hub.index")
measure = later("serving.hub.measure")
places = later("zoo.hub.places")
published = later("serving.hub.published")
publishing = later("serving.hub.publishing")
shelf = later("serving.hub.shelf")
signing = later("serving.hub.signing")
trust = later("zoo.hub.trust")
validation = later("zoo.hub.validate")
wheel = later("serving.hub.wheel")

# What several verbs take: a model, and the folder of a hub.
PUBLISHED = {"metavar": "NAME", "help": "a model, such as dates, or a version of it, dates@2"}
FOLDER = {"default": "hub", "metavar": "DIR", "help": "the folder of the hub; default: hub"}
KNOWN = {"metavar": "DIR", "help": "the folder of a hub (default: the hubs of SEQZOO_HUB)"}


class Verb(NamedTuple):
    """One verb: what it does, its options, and the function that does it."""

    summary: str
    add_arguments: Callable[[Any], None]
    main: Callable[[Any], int]


def choose_verb(words):
    """`(the name of a verb, the Verb, further words)`; exits as argparse does if the first word is no verb."""
    if not words or words[0] not in VERBS:
        parser = argparse.ArgumentParser(prog="seqzoo hub", description="seqzoo hub: hubs of trained models.")
        verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
        for name, verb in VERBS.items():
            verbs.add_parser(name, help=verb.summary)
        if not words:
            parser.print_help(sys.stderr)
            sys.exit(2)
        parser.parse_args(words)
    return words[0], VERBS[words[0]], words[1:]


def _fetch_options(parser):
    parser.add_argument(
        "name", metavar="NAME", help="a model that `seqzoo list` shows, or one version of it, NAME@VERSION"
    )
    parser.add_argument("--files", nargs="+", metavar="FILE", help="only these (default: what `seqzoo run NAME` needs)")
    parser.add_argument("--all", action="store_true", help="every file that the hub has of the model")
    parser.add_argument(
        "--public-key", metavar="PEM", help="with --all: refuse it unless the owner of this key signed it and the index"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object: path, name, version, files, hub")
    shared.add_offline(parser)


def _fetch(args):
    """Download what is not in the cache, and print the folder."""
    if args.files and args.all:
        raise ValueError("received --files and --all: give one of them.")
    if args.public_key and not args.all:
        raise ValueError("--public-key needs --all: a signature is over all files of a model.")
    model = hubs.find(args.name)
    files = list(model.entry["files"]) if args.all else args.files
    hubs.fetch_files(model, ["manifest.json"], progress=False)  # which says whose files they are
    if files is None:
        files = hubs.default_files(model)
    path = hubs.fetch_files(model, files)
    if args.public_key:
        signing.check_signature(path, model.entry, args.public_key)
        trust.check(model.place, places.read_index(model.place, model.offline), [args.public_key])
    if args.json:
        entry = model.entry
        record = {"path": str(path), "name": entry["name"], "version": entry["version"], "files": files}
        print(json.dumps(record | {"hub": model.place.address}, ensure_ascii=False))
    else:
        print(path)
    return 0


def _validate_options(parser):
    parser.add_argument("place", metavar="PLACE", nargs="?", help="a folder or an address (default: every known hub)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    shared.add_offline(parser)


def _validate(args):
    """Print what is wrong; the exit status is 1 if anything is."""
    places_checked, models = validation.validate(args.place), validation.validate_cached()
    if args.json:
        print(json.dumps({"hubs": places_checked, "cache": models}, indent=2, ensure_ascii=False))
    else:
        for hub in places_checked:
            result = f"wrong: {len(hub['wrong'])}" if hub["wrong"] else "nothing is wrong"
            print(f"{hub['address']}: {hub['checked']}; {result}")
            for line in hub["wrong"]:
                print(f"  {escape(line)}")
        for model in models:
            state = "; ".join(model["problems"]) or "runs here"
            print(f"{model['name']}@{model['version']} in the cache: {escape(state)}")
    return 1 if any(hub["wrong"] for hub in places_checked) else 0


def _publish_options(parser):
    parser.add_argument("artefact", metavar="ARTEFACT", help="what `seqzoo export` wrote, or a folder that holds one")
    parser.add_argument("--run", required=True, metavar="RUN", help="the run that it was exported from")
    parser.add_argument("--hub", **FOLDER)
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
    shared.add_imports(parser)
    parser.add_argument("--json", action="store_true", help="print the entry as one JSON object")


def _publish(args):
    shared.import_modules(args)
    licences = args.data_licence or facts.licence_of(args.run)
    stated = facts.Facts(
        args.licence, args.data, tuple(licences), args.attribution, tuple(args.language), core_hours=args.core_hours
    )
    entry = publishing.publish(
        artefacts.resolve(args.artefact),
        args.run,
        args.hub,
        stated,
        light=not args.full,
        test=measure.TestSet(args.test, args.split),
        version=args.version,
        log=log,
    )
    print(json.dumps(entry, ensure_ascii=False) if args.json else f"{args.hub}/{entry['name']}/{entry['version']}")
    return 0


def _card_options(parser):
    parser.add_argument("name", **PUBLISHED)
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
    parser.add_argument("--hub", **KNOWN)
    shared.add_imports(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def _card(args):
    if (args.only or args.data) and not args.check:
        raise ValueError("--only and --data are about --check: give it, too, or leave them out.")
    shared.import_modules(args)
    entry, folder = published.open_model(args.name, args.hub)
    if args.check:
        return _check_card(args, entry, folder)

    artefact = published.artefact_of(folder, entry)
    text = artefact.read(published.CARD).decode()
    if args.json:
        print(json.dumps({"card": text, "entry": entry, "manifest": artefact.manifest}, ensure_ascii=False))
        return 0
    if entry["withdrawn"] is not None:
        print(f"**Withdrawn: {entry['withdrawn']}**\n")
    print(text, end="")
    return 0


def _check_card(args, entry, folder):
    parts = tuple(args.only or PARTS)
    rows = checking.check(folder, entry, parts, args.data, log=log)
    holds = all(row.equal is not False for row in rows)
    if args.json:
        model = {"name": entry["name"], "version": entry["version"], "withdrawn": entry["withdrawn"]}
        checks, speed = list(map(asdict, rows)), {"speed": entry["speed"]}
        print(json.dumps({**model, "holds": holds, "checks": checks, **speed}, ensure_ascii=False))
    else:
        print(checking.write_table(rows))
    return 0 if holds else 1


def _sign_options(parser):
    parser.add_argument("name", metavar="NAME@VERSION", nargs="?", help="also sign this version, such as dates@2")
    parser.add_argument("--key", required=True, metavar="PEM", help="the private key, on an elliptic curve")
    parser.add_argument("--hub", **FOLDER)
    parser.add_argument(
        "--days",
        type=positive,
        default=90,
        metavar="N",
        help="for how long the index counts, until it has to be signed again (default: 90)",
    )
    parser.add_argument("--json", action="store_true", help="print the entry, or what was signed of the index, as JSON")
    parser.epilog = "The password of an encrypted key is read from the environment variable SEQZOO_KEY_PASSWORD."


def _sign(args):
    how = {"password": os.environ.get("SEQZOO_KEY_PASSWORD"), "days": args.days}
    if args.name is None:
        signed = signing.sign_index(args.hub, args.key, **how)
        print(json.dumps(signed["signed"]) if args.json else f"{args.hub}/{index.INDEX}")
        return 0
    name, version = _split_title(args.name)
    entry = signing.sign(args.hub, name, version, args.key, **how)
    print(json.dumps(entry, ensure_ascii=False) if args.json else f"{args.hub}/{name}/{version}/{signing.SIGNATURE}")
    return 0


def _split_title(title):
    """`(name, version)` of NAME@VERSION."""
    name, version = index.split(title)
    if version is None:
        raise ValueError(f"Expected a name with a version, such as {name}@1; received {title!r}.")
    return name, version


def _withdraw_options(parser):
    parser.add_argument("name", metavar="NAME@VERSION", help="which version, such as dates@2")
    parser.add_argument("--reason", required=True, metavar="TEXT", help="one line, which whoever fetches it is told")
    parser.add_argument("--hub", **FOLDER)
    parser.add_argument("--json", action="store_true", help="print the entry as one JSON object")


def _withdraw(args):
    name, version = _split_title(args.name)
    entry = shelf.withdraw(args.hub, name, version, args.reason)
    print(json.dumps(entry, ensure_ascii=False) if args.json else f"{args.name} is withdrawn: {entry['withdrawn']}")
    return 0


def _gallery_options(parser):
    parser.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help="a model, such as dates, or the folder of an artefact (default: every model that `seqzoo list` shows)",
    )
    parser.add_argument(
        "--out", required=True, metavar="DIR", help="the folder; a gallery that is there already is replaced"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object: path, models, bytes, seconds")
    shared.add_offline(parser)


def _gallery(args):
    """Write the folder, and print it."""
    names, began = args.names or [f"{each['name']}@{each['version']}" for each in list_models()], time.monotonic()
    out = gallery.write(names, args.out, log=log)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    if args.json:
        record = {"path": str(out), "models": len(names), "bytes": size, "seconds": round(time.monotonic() - began, 2)}
        print(json.dumps(record, ensure_ascii=False))
        return 0
    print(
        f"{quantity(len(names), 'model')}, {size / 1e6:,.1f} MB. To look at it: python -m http.server -d {out}",
        file=sys.stderr,
    )
    print(out)
    return 0


def _package_options(parser):
    parser.add_argument("name", **PUBLISHED)
    parser.add_argument("--out", default=".", metavar="DIR", help="the folder of the wheel; default: this one")
    parser.add_argument("--hub", **KNOWN)


def _package(args):
    entry, folder = published.open_model(args.name, args.hub)
    if entry["withdrawn"] is not None:
        raise ValueError(f"{entry['name']}@{entry['version']} was withdrawn: {entry['withdrawn']} It is not packaged.")
    print(wheel.package(folder, entry, args.out))
    return 0


VERBS = {
    "fetch": Verb("download a model, or some of its files, and print the folder", _fetch_options, _fetch),
    "validate": Verb(
        "check a hub, and whether this installation runs the models in the cache", _validate_options, _validate
    ),
    "publish": Verb(
        "put an artefact into a hub, with its licences, scores, answers and card", _publish_options, _publish
    ),
    "card": Verb("show the card of a model, or measure every number of it again", _card_options, _card),
    "sign": Verb(
        "sign the index, or a version, too, so that whoever has the public key knows whose they are",
        _sign_options,
        _sign,
    ),
    "withdraw": Verb("mark a version as withdrawn, with a reason", _withdraw_options, _withdraw),
    "gallery": Verb("write a page that runs models in the browser", _gallery_options, _gallery),
    "package": Verb("write a model as a wheel that pip installs", _package_options, _package),
}
