"""The API reference: a page for each room that has public names, made of its docstrings.

`__all__` says what is public. No module of the zoo that needs a framework is imported: names are found by reading.
"""

import ast
import logging
from pathlib import Path

from mkdocs.structure.files import File

# Griffe cannot read the `__all__` of the package zoo, which lists its rooms; `public` can.
logging.getLogger("mkdocs.plugins.griffe").addFilter(lambda record: "Unsupported item" not in record.getMessage())
ROOT = Path(__file__).resolve().parents[2]
PLACE = "api/"  # in the navigation, where the pages go
ROOMS = (
    "zoo",
    "zoo.models",
    "zoo.attention",
    "zoo.feedforward",
    "zoo.blocks",
    "zoo.depth",
    "zoo.recurrent",
    "zoo.embeddings",
    "zoo.decoding",
    "zoo.training",
    "zoo.scores",
    "zoo.text",
    "zoo.data",
    "zoo.data.formats",
    "zoo.recipes",
    "zoo.runs",
    "zoo.hub",
    "zoo.core.protocols",
    "serving.runtime",
    "serving.export",
    "serving.client",
    "serving.hub",
)


def on_config(config):
    """Put the pages into the navigation."""
    pages = [{room: f"api/{room}.md"} for room in ROOMS]
    for entry in config.nav:
        if entry.get("API reference") == PLACE:
            entry["API reference"] = ["api/index.md", *pages]
    return config


def on_files(files, config):
    rows = []
    for room in ROOMS:
        names = public(room)
        summary = first_sentence(room)
        rows.append(f"| [`{room}`]({room}.md) | {summary} | {', '.join(f'`{name}`' for name in names)} |\n")
        files.append(File.generated(config, f"api/{room}.md", content=page(room, names)))
    head = "# API reference\n\nEvery public name by its room, from the docstrings: formula, shapes, errors, source."
    content = f"{head}\n\n| room | what it is for | names |\n|---|---|---|\n{''.join(rows)}"
    files.append(File.generated(config, "api/index.md", content=content))
    return files


def page(room, names):
    """The text of a room's page; the last line of each entry is the option of mkdocstrings that names it."""
    parts = [f"# {room}\n\n{first_sentence(room)}\n"]
    parts += [f"\n::: {place}\n" for name, place in names.items()]
    return "".join(parts)


def public(room):
    """{name: where it is defined} of a room."""
    tree = ast.parse(_file(room).read_text("utf-8"))
    found = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    defined = {node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)}
    defined |= {_target(node) for node in tree.body if isinstance(node, ast.Assign)}
    lazy = {}
    for node in tree.body:
        if _target(node) in ("_HOMES", "_LATER"):
            lazy |= _lazy(room, node.value)
    found |= lazy
    listed = next((node.value for node in tree.body if _target(node) == "__all__"), None)
    if isinstance(listed, ast.List) and all(isinstance(each, ast.Constant) for each in listed.elts):
        names = [each.value for each in listed.elts]
    elif listed is None:
        names = [name for name in sorted(defined) if not name.startswith("_")]
    else:
        names = sorted(lazy)
    names = [name for name in names if not name.isupper()]
    return {name: found.get(name, f"{room}.{name}") for name in names}


def _lazy(room, table):
    """{name: place} of the names that a room imports at their first use: its table is made of constants."""
    homes = {}
    for name, home in eval(ast.unparse(table)).items():
        home, own = home if isinstance(home, tuple) else (home, name)
        homes[name] = f"{home if '.' in home else f'{room}.{home}'}.{own}"
    return homes


def _target(node):
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return None


def _file(room):
    path = ROOT / room.replace(".", "/")
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def first_sentence(room):
    """The first paragraph of a room's docstring, in one line."""
    text = ast.get_docstring(ast.parse(_file(room).read_text("utf-8")))
    return " ".join(text.split("\n\n")[0].split())
