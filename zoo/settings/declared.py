"""What a layer of the zoo says of itself, read from the text of its file, because to import Keras takes seconds.

A table of `zoo.settings.layers` so repeats neither a default nor a meaning, and what a model may hold follows from the
traits that the class declares.
"""

import ast
import functools
import re
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

from zoo.core import protocols

ROOT = Path(__file__).resolve().parents[2]
STATEMENT, METHOD = re.compile(r"\n(?=[^\s)}\]])"), re.compile(r"\n(?=    (?:@|def ))")
DEFINES = re.compile(r"(?:(?:class|def) )?(\w+)(?:\(|:| = )|from (zoo[\w.]*) import (.*)", re.DOTALL)
CONSTRUCTOR = re.compile(r"    def __init__\(.*?\)(?: -> None)?:\n", re.DOTALL)
KINDS = {"bool": bool, "int": int, "float": float, "str": str}


@dataclass(frozen=True)
class Declared:
    """What is known of a layer without making one.

    Attributes:
        arguments: `{name: (default, kind)}` of its constructor; the default is `MISSING` where there is none, and the
            kind None where it is no plain one.
        meanings: `{name: sentence}` of them, of its docstring.
        traits: `{trait: value}` of those that do not depend on the layer's settings.
    """

    arguments: dict[str, tuple[Any, Any]]
    meanings: dict[str, str]
    traits: dict[str, Any]


def declared(path):
    """What the class, or the function that makes it, says: `path` is such as "zoo.attention.lsh.LSHAttention"."""
    module, _, name = path.rpartition(".")
    module, node = _find(module, name)
    made = (module, node)
    if isinstance(node, ast.FunctionDef):
        made = _find(module, node.returns.id)
    return Declared(_arguments(module, node), _meanings(*made) | _meanings(module, node), _traits(*made))


def constant(path, module):
    """What a constant holds, without what is None; of a dict its keys. `path` may be a name of the module alone."""
    home, _, name = path.rpartition(".")
    return tuple(each for each in _value(*_find(home or module, name)) if each is not None)


def meanings_of(docstring):
    """`{argument: the first sentence about it}` of a docstring."""
    section = re.search(r"^Args:\n((?:    .*\n?|\n)*)", docstring, re.MULTILINE)
    entries = re.findall(r"^    ([\w, ]+): (.*(?:\n     .*)*)", section[1] if section else "", re.MULTILINE)
    return {
        name: re.split(r"\.(?:\s|$)", " ".join(text.split()), maxsplit=1)[0]
        for names, text in entries
        for name in names.split(", ")
    }


def _meanings(module, node):
    """Those of a class or a function; what is "as of" another class that the module knows, from there."""
    docstring = ast.get_docstring(node) or ""
    of_all = re.search(r"^Args[^:\n]*: as of `(\w+)`", docstring, re.MULTILINE)
    if of_all:
        return _meanings(*_find(module, of_all[1]))
    found = meanings_of(docstring)
    for name, sentence in found.items():
        other = re.match(r"as of `(\w+)`", sentence)
        homes = [module, *(home for home, _ in _bases(module, node))] if other else ()
        known = next(filter(None, (_find(home, other[1]) for home in homes)), None)
        found[name] = _meanings(*known)[name] if known else sentence
    return found


@functools.cache
def _names(module):
    """`{name: the statement that defines it, or the module of the zoo that it is imported from}` of a file."""
    place = ROOT.joinpath(*module.split("."))
    file = place.with_suffix(".py")
    found = {}
    for each in STATEMENT.split((file if file.exists() else place / "__init__.py").read_text(encoding="utf-8")):
        match DEFINES.match(each):
            case re.Match() as known if known[2]:
                found |= dict.fromkeys(re.findall(r"\w+", known[3]), known[2])
            case re.Match() as known:
                found[known[1]] = each
    return found


@functools.cache
def _find(module, name):
    """`(module, what defines a name there)`, wherever in the zoo a module has the name from; None where it has none.

    Only that part of a file is parsed, and of a class neither the other methods nor the body of the constructor.
    """
    statement = _names(module).get(name)
    if statement is None or " " not in statement:
        return statement and _find(statement, name)
    statement, *methods = METHOD.split(statement)
    methods = [each for each in methods if each.startswith(("    def __init__(", "    def traits("))]
    methods = [f"{head[0]}        ..." if (head := CONSTRUCTOR.match(each)) else each for each in methods]
    node = ast.parse("\n".join([statement, *methods])).body[0]
    return module, node.value if isinstance(node, ast.Assign) else node


def _value(module, node):
    """A literal whose names and starred parts are constants of the module."""
    match node:
        case ast.Name():
            return _value(*_find(module, node.id))
        case ast.Dict():
            return tuple(_value(module, key) for key in node.keys)
        case ast.Tuple() | ast.List():
            starred = [isinstance(each, ast.Starred) for each in node.elts]
            parts = [
                _value(module, each.value if many else each) for each, many in zip(node.elts, starred, strict=True)
            ]
            return tuple(each for many, part in zip(starred, parts, strict=True) for each in (part if many else [part]))
    return ast.literal_eval(node)


def _kind(node):
    """bool, int, float, str, or one of them or None; None where the annotation says something else."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = _kind(node.left), getattr(node.right, "value", ...)
        return sides[0] | None if sides[0] and sides[1] is None else None
    return KINDS.get(getattr(node, "id", None))


def _arguments(module, node):
    """Those of a function, or of the constructor of a class or of the nearest of its bases in the zoo."""
    if isinstance(node, ast.ClassDef):
        own = _member(node, "__init__")
        return _arguments(module, own) if own else next((_arguments(*base) for base in _bases(module, node)), {})
    names = [each for each in node.args.args if each.arg != "self"]
    usual = [MISSING] * (len(names) - len(node.args.defaults)) + node.args.defaults
    return {
        each.arg: (default if default is MISSING else _value(module, default), _kind(each.annotation))
        for each, default in zip(names, usual, strict=True)
    }


def _traits(module, node):
    """Those of a class attribute, or of what a property returns, as far as they are written as constants."""
    said, known = _member(node, "traits"), {}
    if said is None or "replace(" in ast.unparse(said):  # of the traits of what it derives from
        known = next(filter(None, (_traits(*base) for base in _bases(module, node))), {})
    said = said.body[-1].value if isinstance(said, ast.FunctionDef) else said
    if not isinstance(said, ast.Call):
        return known
    protocol = vars(protocols).get(ast.unparse(said.func).removeprefix("protocols."))
    if protocol:
        known = {each.name: each.default for each in fields(protocol)}
    given = {each.arg: getattr(each.value, "value", MISSING) for each in said.keywords}
    return {trait: value for trait, value in (known | given).items() if isinstance(value, bool | int | str)}


def _member(node, name):
    """What a class itself has under a name, a function or the value of an attribute; None where it has nothing."""
    for each in node.body:
        if getattr(each, "name", None) == name:
            return each
        if isinstance(each, ast.Assign) and each.targets[0].id == name:
            return each.value
    return None


def _bases(module, node):
    """`(module, class)` of the bases that are classes of the zoo; those of Keras are named by an attribute."""
    named = (base.id for base in getattr(node, "bases", ()) if isinstance(base, ast.Name))
    return [found for found in (_find(module, name) for name in named) if found]
