"""The pages of questions: each has a figure of what its script measured, and says numbers that were measured."""

import importlib
import json
import re
import sys

import pytest
from PIL import Image

from tests.house_rules import ROOT

HOME = ROOT / "docs" / "questions"
NAMES = sorted(path.stem for path in HOME.glob("*.py") if path.stem not in ("draw", "shared"))
MEND = "run: python docs/questions/draw.py"


@pytest.fixture(autouse=True)
def scripts(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(HOME), *sys.path])
    yield
    for name in (*NAMES, "draw", "shared"):
        sys.modules.pop(name, None)


def page(name):
    return (HOME / f"{name.replace('_', '-')}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_the_figure_is_of_what_was_measured(name):
    draw = importlib.import_module("draw")
    with Image.open(HOME / "figures" / f"{name}.png") as image:
        assert image.text["Description"] == draw.digest(name), MEND
        assert image.size == (800, 600)


@pytest.mark.parametrize("name", NAMES)
def test_the_page_says_what_was_measured(name):
    found = json.loads((HOME / "results" / f"{name}.json").read_text(encoding="utf-8"))
    text = page(name)
    for number in importlib.import_module(name).says(found):
        assert re.search(rf"(?<![\d.]){re.escape(number)}(?!\d)", text), f"{name}: {number} is not on its page"
    assert f"(figures/{name}.png)" in text and f"draw.py --measure {name}" in text
    assert found["processor"] and found["cpu_seconds"] < 180


def test_every_page_has_a_script():
    pages = {path.stem.replace("-", "_") for path in HOME.glob("*.md")} - {"README"}
    assert pages == set(NAMES)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_figure_can_be_drawn_again(name):
    assert importlib.import_module("draw").png(name).startswith(b"\x89PNG")
