"""`seqzoo hub VERB`: what belongs to hubs of models. Each verb is a module of this folder, imported when it runs."""

import argparse
import importlib
import sys

VERBS = {  # verb -> (its module, what it does)
    "fetch": ("hub_fetch", "download a model, or some of its files, and print the folder"),
    "validate": ("hub_validate", "check a hub, and whether this installation runs the models in the cache"),
    "publish": ("hub_publish", "put an artefact into a hub, with its licences, scores, answers and card"),
    "card": ("hub_card", "show the card of a model, or measure every number of it again"),
    "sign": ("hub_sign", "sign the index, or a version, too, so that whoever has the public key knows whose they are"),
    "withdraw": ("hub_withdraw", "mark a version as withdrawn, with a reason"),
    "gallery": ("hub_gallery", "write a page that runs models in the browser"),
    "package": ("hub_package", "write a model as a wheel that pip installs"),
}


def chosen(words):
    """`(verb, module, summary, further words)`; exits as argparse does if the first word is no verb."""
    if not words or words[0] not in VERBS:
        parser = argparse.ArgumentParser(prog="seqzoo hub", description="seqzoo hub: hubs of trained models.")
        verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
        for name, (_, summary) in VERBS.items():
            verbs.add_parser(name, help=summary)
        if not words:
            parser.print_help(sys.stderr)
            sys.exit(2)
        parser.parse_args(words)
    module, summary = VERBS[words[0]]
    return words[0], importlib.import_module(f".{module}", __package__), summary, words[1:]
