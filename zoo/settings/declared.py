"""What a layer of the zoo says of itself, read from the text of its file, because to import Keras takes seconds.

A table of `zoo.settings.layers` so repeats neither a default nor a meaning, and what a model may hold follows from the
traits that the class declares.
"""

import ast
import functools
import re
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, NamedTuple

from msgspec import NODEFAULT

from zoo.core import protocols

ROOT = Path(__file__).resolve().parents[2]
STATEMENT, METHOD = re.compile(r"\n(?=[^\s)}\]])"), re.compile(r"\n(?=    (?:@|def ))")
DEFINES = re.compile(r"(?:(?:class|def) )?(\w+)(?:\(|:| = )|from (zoo[\w.]*) import (.*)", re.DOTALL)
CONSTRUCTOR = re.compile(r"    def __init__\(.*?\)(?: -> None)?:\n", re.DOTALL)


class Declared(NamedTuple):
    """What is known of a layer without making one: arguments of its constructor, meanings, and traits.

    Arguments are `{name: (default, kind)}`: the default is `NODEFAULT` where there is none, the kind None where it is
    not said. Meanings are the first sentences of the docstring about them, traits those that depend on no setting.
    """

    arguments: dict[str, tuple[Any, Any]]
    meanings: dict[str, str]
    traits: dict[str, Any]


def read_layer(path):
    """The `Declared` of the class, or of the function that makes it, at a path: "zoo.attention.lsh.LSHAttention"."""
    module, node = _locate(path)
    home, cls = _find(module, node.returns.id) if isinstance(node, ast.FunctionDef) else (module, node)
    meanings = meanings_of(ast.get_docstring(cls)) | meanings_of(ast.get_docstring(node))
    return Declared(_arguments(module, node), meanings, _traits(home, cls))


def one_of(path):
    """A kind: one of the words of the constant at a path in `zoo`, or of the keys of one that is a dict."""
    return Literal[tuple(each for each in _evaluate(*_locate(f"zoo.{path}")) if each is not None)]


def _locate(path):
    module, _, name = path.rpartition(".")
    definition = _find(module, name) if ROOT.joinpath(*module.split(".")).with_suffix(".py").exists() else None
    if not definition:
        raise LookupError(f"A table names {path!r}, which is not there. Expected what a file of the zoo defines.")
    return definition


def meanings_of(docstring):
    """`{argument: the first sentence about it}` of a docstring."""
    section = re.search(r"^Args:\n((?:    .*\n?|\n)*)", docstring or "", re.MULTILINE)
    entries = re.findall(r"^    ([\w, ]+): (.*(?:\n     .*)*)", section[1] if section else "", re.MULTILINE)
    return {
        name: re.split(r"\.(?:\s|$)", " ".join(text.split()), maxsplit=1)[0]
        for names, text in entries
        for name in names.split(", ")
    }


@functools.cache
def _read_names(module):
    """`{name: the statement that defines it, or the module of the zoo that it is imported from}` of a file."""
    place = ROOT.joinpath(*module.split("."))
    file = place.with_suffix(".py")
    definitions = {}
    for each in STATEMENT.split((file if file.exists() else place / "__init__.py").read_text(encoding="utf-8")):
        match DEFINES.match(each):
            case re.Match() as match if match[2]:
                definitions |= dict.fromkeys(re.findall(r"\w+", match[3]), match[2])
            case re.Match() as match:
                definitions[match[1]] = each
    return definitions


@functools.cache
def _find(module, name):
    """`(module, what defines a name there)`, wherever in the zoo a module has the name from; None where it has none.

    Only that part of a file is parsed, and of a class neither the other methods nor the body of the constructor.
    """
    statement = _read_names(module).get(name)
    if statement is None or " " not in statement:
        return statement and _find(statement, name)
    statement, *methods = METHOD.split(statement)
    methods = [each for each in methods if each.startswith(("    def __init__(", "    def traits("))]
    methods = [f"{head[0]}        ..." if (head := CONSTRUCTOR.match(each)) else each for each in methods]
    node = ast.parse("\n".join([statement, *methods])).body[0]
    return module, node.value if isinstance(node, ast.Assign) else node


def _evaluate(module, node):
    """The value of a literal, or of a constant of the module; of a dict the keys alone."""
    if isinstance(node, ast.Name):
        return _evaluate(*_find(module, node.id))
    return ast.literal_eval(ast.Tuple(node.keys) if isinstance(node, ast.Dict) else node)


def _arguments(module, node):
    """The arguments of a function, or of the constructor of a class or of its nearest base in the zoo that has one."""
    if isinstance(node, ast.ClassDef):
        if constructor := _member(node, "__init__"):
            return _arguments(module, constructor)
        return next((_arguments(*base) for base in _bases(module, node)), {})
    names = [each for each in node.args.args if each.arg != "self"]
    defaults = [_evaluate(module, default) for default in node.args.defaults]
    required = [NODEFAULT] * (len(names) - len(defaults))
    return {each.arg: (default, None) for each, default in zip(names, required + defaults, strict=True)}


def _traits(module, node):
    """The traits of a class attribute, or of what a property returns, as far as they are written as constants."""
    definition, traits = _member(node, "traits"), {}
    if definition is None or "replace(" in ast.unparse(definition):  # they are those of a base, or change them
        traits = next(filter(None, (_traits(*base) for base in _bases(module, node))), {})
    definition = definition.body[-1].value if isinstance(definition, ast.FunctionDef) else definition
    if not isinstance(definition, ast.Call):
        return traits
    protocol = vars(protocols).get(ast.unparse(definition.func).removeprefix("protocols."))
    if protocol:
        traits = {each.name: each.default for each in fields(protocol)}
    stated = {each.arg: getattr(each.value, "value", ...) for each in definition.keywords}
    return {trait: value for trait, value in (traits | stated).items() if isinstance(value, bool | int | str)}


def _member(node, name):
    """The function, or the value of the attribute, that a class itself has under a name; None without one."""
    for each in node.body:
        if getattr(each, "name", None) == name:
            return each
        if isinstance(each, ast.Assign) and each.targets[0].id == name:
            return each.value
    return None


def _bases(module, node):
    """`(module, class)` of the bases that are classes of the zoo; those of Keras are named by an attribute."""
    named = (base.id for base in getattr(node, "bases", ()) if isinstance(base, ast.Name))
    return [each for each in (_find(module, name) for name in named) if each]
