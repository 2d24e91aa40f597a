"""Command-line options for the rules of a search, made of the table that says what they mean."""

from serving.kinds.rules import RULES, checked

METAVARS = {int: "N", float: "X", str: "TEXT", list: "TEXT"}
NUMBERS = [name for name, rule in RULES.items() if rule.kind in (int, float)]


def add_arguments(parser, names=tuple(RULES)):
    """Add an option for each of these rules."""
    group = parser.add_argument_group("rules of the search", "of models that write; default: the artefact's own")
    for name in names:
        rule = RULES[name]
        more = {"action": "append"} if rule.kind is list else {"type": rule.kind}
        said = f"{rule.says}{'; repeatable' if rule.kind is list else ''}"
        group.add_argument(f"--{name.replace('_', '-')}", metavar=METAVARS[rule.kind], help=said, **more)


def given(args, names=tuple(RULES)):
    """The rules that were given.

    Raises:
        ValueError: a value is out of its range.
    """
    return checked({name: vars(args)[name] for name in names})
