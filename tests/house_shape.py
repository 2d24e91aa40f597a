"""Reads the source with `ast`: how long files are, how many arguments callables take, how deep classes inherit."""

import ast

from tests.house_rules import ROOT, read

MAX_LINES = 500
MAX_ARGUMENTS = 8
MORE_ARGUMENTS = {"zoo.models.seq2seq.Seq2Seq.__init__": "two vocabularies and eight choices, each of them a paper's"}
MAX_LEVELS = 2


def module(path):
    return path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def line_count(path):
    return (ROOT / path).read_text(encoding="utf-8").count("\n")


def argument_counts(tree, prefix=""):
    """`{"function" or "Class.method": number of arguments}`, without self, *args and **kwargs."""
    counts = {}
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            counts |= argument_counts(node, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = node.args
            taken = [each.arg for each in arguments.posonlyargs + arguments.args + arguments.kwonlyargs]
            counts[prefix + node.name] = len(taken) - (bool(prefix) and taken[:1] in (["self"], ["cls"]))
    return counts


def too_many_arguments(paths):
    """`["module.callable: 9"]` past the limit, and every exception that is not needed any more."""
    counts = {f"{module(path)}.{name}": count for path in paths for name, count in argument_counts(read(path)).items()}
    found = {name: count for name, count in counts.items() if count > MAX_ARGUMENTS}
    wrong = [f"{name}: {count}" for name, count in found.items() if name not in MORE_ARGUMENTS]
    return wrong + [f"{name}: no longer an exception" for name in MORE_ARGUMENTS if name not in found]


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
