"""Every example in a docstring, in the README and on the pages of docs runs."""

import doctest
import importlib
import re

import keras
import numpy as np
import pytest

import zoo
from tests.house_rules import ROOT, SOURCES

NAMES = {"keras": keras, "np": np}
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = sorted(ROOT.glob("docs/**/*.md"))


def modules():
    for path in SOURCES:
        if ">>> " in (ROOT / path).read_text(encoding="utf-8"):
            yield path.removesuffix(".py").replace("/", ".")


@pytest.mark.parametrize("name", list(modules()))
def test_docstring_examples(name):
    module = importlib.import_module(name)
    public = {key: value for room in zoo.__all__ for key, value in vars(getattr(zoo, room)).items()}
    found = doctest.testmod(module, extraglobs=NAMES | public, optionflags=doctest.ELLIPSIS)
    assert found.attempted and not found.failed


@pytest.mark.parametrize("number", range(len(re.findall(r"```python\n", README))))
def test_readme_examples(number):
    block = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[number]
    names = {}
    exec(compile(block, f"README.md, example {number}", "exec"), names)
    if "logits" in names:
        assert tuple(names["logits"].shape) == (2, 5, 90) and tuple(names["token_ids"].shape) == (2, 4, 20)
    if "outputs" in names:
        assert tuple(names["outputs"].shape) == (2, 5, 24)


@pytest.mark.parametrize("page", [page for page in PAGES if "```python" in page.read_text("utf-8")])
def test_page_examples(page):
    names = {}
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, page.name, "exec"), names)


def test_readme_commands_exist():
    from tools.cli import COMMANDS

    used = set(re.findall(r"^\s+(?:\.venv/bin/)?seqzoo (\w+)", README, re.MULTILINE))
    assert used and used <= set(COMMANDS)


def test_links_lead_somewhere():
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *PAGES):
        for target in re.findall(r"\]\((?!https?:|#)([^)]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"
