"""Names of modules, of what they define and of files that stand in text, which no linter reads, exist.

Text are docstrings, comments and pages, with the name in backticks, and imports in programs that stand in a string.
"""

import ast
import re
from functools import cache

from tests.house_rules import ROOT

PACKAGES = "serving|tests|tools|zoo"
QUOTED = re.compile(rf"`((?:{PACKAGES})(?:\.[A-Za-z_]\w*)+)(?:\(\))?`")
FOLDERS = "benchmarks", "docs", "examples", "maintenance", "serving", "tests", "tools", "zoo"
PAGES = "ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "SECURITY.md"  # CHANGELOG.md has names that are gone
INVENTED = {"zoo.A"}  # a sample in tests/test_architecture.py
IMPORT = re.compile(rf"from ((?:{PACKAGES})(?:\.\w+)*) import (\([^)]*\)|[\w, ]+)")
FILE = re.compile(r"\b((?:benchmarks|tests)/[\w/]+\.py)\b")


@cache
def names_of(module):
    """All names that occur in a module's code, and the modules of a package; None without such a module."""
    folder = ROOT / module.replace(".", "/")
    file = folder.with_suffix(".py") if folder.with_suffix(".py").exists() else folder / "__init__.py"
    if not file.exists() and not folder.is_dir():
        return None
    names = {path.stem for path in folder.iterdir()} if folder.is_dir() else set()
    for node in ast.walk(ast.parse(file.read_text("utf-8") if file.exists() else "")):
        if isinstance(node, ast.alias):
            names.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.add(node.value)  # in a table of what is imported when it is used
        names |= {getattr(node, field, None) for field in ("arg", "attr", "id", "name")}
    return names


def is_defined(name):
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        names = names_of(".".join(parts[:length]))
        if names is not None:
            return length == len(parts) or parts[length] in names
    return False


def test_names_in_text_exist():
    missing = []
    files = [file for folder in FOLDERS for kind in ("*.md", "*.py") for file in (ROOT / folder).rglob(kind)]
    for file in [*files, *map(ROOT.joinpath, PAGES)]:
        text = file.read_text("utf-8")
        names_used = [match[1] for match in QUOTED.finditer(text)]
        for module, names in IMPORT.findall(text):
            words = re.sub(r"#.*", "", names).strip("() \n")
            names_used += [f"{module}.{name.split()[0]}" for name in re.split(r"[,\n]+", words) if name.strip()]
        missing += [
            f"{file.relative_to(ROOT)}: {name}" for name in names_used if not is_defined(name) and name not in INVENTED
        ]
    assert not missing


def test_files_in_text_exist():
    makefile = (ROOT / "Makefile").read_text("utf-8").replace("\\\n", " ")
    numbers = re.search(r"NUMBERS := \$\(addprefix tests/,(.*)\)", makefile)[1].split()
    named = {("Makefile", f"tests/{path}") for path in numbers}
    for file in [*(ROOT / "docs").rglob("*.md"), *map(ROOT.joinpath, (*PAGES, "Makefile"))]:
        named |= {(file.name, path) for path in FILE.findall(file.read_text("utf-8"))}
    assert len(numbers) > 4 and len(named) > 20
    assert not sorted(each for each in named if not (ROOT / each[1]).exists())


def test_a_name_that_is_gone_is_missed():
    assert is_defined("zoo.text.load_tokenizer") and is_defined("zoo.core.masks")
    assert not is_defined("zoo.text.nothing_of_the_kind") and not is_defined("zoo.no_room")
