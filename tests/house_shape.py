"""Reads the source with `ast`: how long files are, and how deep classes inherit."""

import ast

from tests.house_rules import ROOT

MAX_LINES = 500
MAX_LEVELS = 2


def module(path):
    return path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def line_count(path):
    return (ROOT / path).read_text(encoding="utf-8").count("\n")


def bases_of(path, tree):
    """`{full name of a class: full names of its bases}` of one file."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name.split(".")[0]: alias.asname and alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    names |= {node.name: f"{module(path)}.{node.name}" for node in classes}

    def full(node):
        first, dot, rest = ast.unparse(node).partition(".")
        return (names.get(first) or first) + dot + rest

    return {f"{module(path)}.{node.name}": [full(base) for base in node.bases] for node in classes}


def inheritance(sources):
    """`{class: (levels of our classes above Keras or above nothing, whether it is Keras)}` of `{path: tree}`.

    A name may come from a package (`zoo.depth.Stack`) instead of the file that defines it. A mixin beside a Keras class
    is no level: what counts is the longest way down from the Keras class.
    """
    bases = {}
    for path, tree in sources.items():
        bases |= bases_of(path, tree)
    packages = {(name.split(".")[0], name.rpartition(".")[2]): name for name in bases}

    def levels(name):
        if name.split(".")[0] == "keras":
            return 0, True
        name = name if name in bases else packages.get((name.split(".")[0], name.rpartition(".")[2]))
        if name is None:
            return 0, False
        above = [levels(base) for base in bases[name]] or [(0, False)]
        keras = any(of_keras for _, of_keras in above)
        return 1 + max(level for level, of_keras in above if of_keras is keras), keras

    return {name: levels(name) for name in bases}


def too_deep(sources):
    """What is more than two levels below Keras; or below a base of our own, which is a level itself."""
    found = inheritance(sources).items()
    return [f"{name}: {level}" for name, (level, keras) in found if level > MAX_LEVELS + (not keras)]
