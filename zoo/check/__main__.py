"""`python -m zoo.check MODULE.CLASS [--set name=value ...] [--json]`: may this layer stand in its slot, and for what?

Ends with 0 where the laws of its slot hold, 1 where one does not, 2 for wrong use.
"""

import argparse
import importlib
import json
import os
import sys
import tomllib

from zoo.core.later import later
from zoo.settings.occupants import SLOTS, find_problems, import_modules, settings_of

report = later("zoo.check.report")
slots = later("zoo.check.slots")


def parse(argv):
    parser = argparse.ArgumentParser(prog="python -m zoo.check", description=__doc__.splitlines()[0].split(": ")[1])
    parser.add_argument("layer", metavar="MODULE.CLASS", help="a Keras layer that zoo.register puts into a slot")
    parser.add_argument("--set", metavar="NAME=VALUE", action="append", default=[], help="a setting of its constructor")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    args = parser.parse_args(argv)
    args.settings = {}
    for each in args.set:
        name, equals, value = each.partition("=")
        if not equals:
            parser.error(f"--set needs NAME=VALUE, such as --set width=5. Received: {each!r}.")
        args.settings[name.strip()] = _value(value.strip())
    module, _, name = args.layer.rpartition(".")
    if not module:
        parser.error(f"expected MODULE.CLASS, such as mine.MyAttention. Received: {args.layer!r}.")
    return parser, args, module, name


def _value(text):
    """As TOML writes it; what is no TOML is a string."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def find(parser, args, module, name):
    """The `Subject` of what was asked for."""
    try:
        import_modules([module])
    except ValueError as error:
        parser.error(str(error))
    cls = vars(importlib.import_module(module)).get(name)
    if not isinstance(cls, type):
        parser.error(f"the module {module!r} has no class {name!r}. Expected MODULE.CLASS of a Keras layer.")
    slot = slots.slot_of(cls)
    if slot is None:
        parser.error(
            f"{args.layer} stands in no slot. Expected a class under @zoo.register(slot, name=...), where slot is one "
            f"of {list(SLOTS)}."
        )
    wrong = find_problems(slot, cls)
    if wrong:
        parser.error(f"{args.layer} cannot stand in the slot {slot!r}: {'; '.join(wrong)}.")
    unknown = sorted(set(args.settings) - set(settings_of(cls)))
    if unknown:
        parser.error(f"{args.layer} has no settings {unknown} of its own. Expected some of {sorted(settings_of(cls))}.")
    subject = slots.Subject(cls, slot, args.settings)
    try:
        subject.make()
    except Exception as error:
        parser.error(f"{args.layer} cannot be made with {args.settings}. {type(error).__name__}: {error}")
    return subject


def line(finding):
    detail = f": {finding.detail}" if finding.detail else ""
    return f"{finding.name:<15}{finding.result:<15} {finding.meaning}{detail}"


def main(argv=None):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    parser, args, module, name = parse(argv)
    if not __debug__:
        parser.error("the laws are assertions, which python -O leaves out. Run it without -O.")
    subject = find(parser, args, module, name)
    if not args.json:
        called = ", ".join(each.name for each in slots.cases(subject))
        print(f"{args.layer} in the slot {subject.slot!r}, called: {called}")
    findings, required, uses = report.examine(
        subject, log=lambda each: None if args.json else print(line(each), flush=True)
    )
    if args.json:
        print(json.dumps(report.as_data(subject, findings, required, uses), indent=1))
    else:
        print("\nMay be used for:")
        print("\n".join(f"  {use.name}" for use in uses if use.allowed) or "  nothing")
        print("May not be used for:")
        print("\n".join(f"  {use.name}: {use.reason}" for use in uses if not use.allowed) or "  nothing of the rest")
    return 0 if report.holds(findings, required) else 1


if __name__ == "__main__":
    sys.exit(main())
