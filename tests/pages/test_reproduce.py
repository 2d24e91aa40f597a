"""docs/reproduce.md says what docs/reproduced holds, its figures show that, and the rules of the claims agree."""

import importlib.util
import json
import re

import pytest
from PIL import Image

from tests.house_rules import ROOT
from zoo.reproduce import report
from zoo.reproduce.report import SYSTEMS

HOME = ROOT / "docs" / "reproduced"
SPEC = importlib.util.spec_from_file_location("reproduce_page", ROOT / "docs" / "reproduce.py")
PAGE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(PAGE)
MINUTES = 90  # of processor time that all systems may take


def test_the_page_is_what_the_results_say():
    written = PAGE.marked.written(
        PAGE.PAGE.read_text("utf-8"), "docs/reproduce.py", PAGE.content(), "docs/reproduce.md"
    )
    assert PAGE.PAGE.read_text("utf-8") == written, "run: python docs/reproduce.py"


def test_every_system_is_measured_and_in_time():
    assert {path.stem for path in HOME.glob("*.json")} == {path.stem for path in HOME.glob("*.png")} == set(SYSTEMS)
    found = [report.read(system, HOME) for system in SYSTEMS]
    assert sum(each["seconds"] for each in found) < 60 * MINUTES
    assert not any(each["quick"] for each in found)


@pytest.mark.parametrize("system", SYSTEMS)
def test_rows_of_the_page_are_those_of_the_results(system):
    """Read from the page with other means than those that wrote it."""
    found = json.loads((HOME / f"{system}.json").read_text("utf-8"))
    text = PAGE.PAGE.read_text("utf-8")
    part = re.split(r"^## ", text, flags=re.MULTILINE)
    (own,) = (each for each in part if f"(reproduced/{system}.png)" in each)
    rows = [line for line in own.splitlines() if line.startswith("|")][2:]
    assert len(rows) == len(found["claims"]) >= 3
    for line, row in zip(rows, found["claims"], strict=True):
        paper, ours, holds, seeds = (cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1])
        assert (paper.replace("\\|", "|"), ours.replace("\\|", "|")) == (row["paper"], row["ours"])
        assert holds == ("yes" if row["holds"] else "**no**")
        assert seeds == (f"{min(row['seeds'])} to {max(row['seeds'])}" if row["seeds"] else "mathematics")
        assert not row["seeds"] or len(row["seeds"]) >= 3
        assert re.search(r"\d", row["ours"]) and re.search(r"\(.*(19|20)\d\d", row["paper"])


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_figure_is_of_these_results(system):
    with Image.open(HOME / f"{system}.png") as image:
        assert image.text["Description"] == report.digest(system, HOME), "run: seqzoo reproduce --all --draw"
        assert image.width == 800


@pytest.mark.parametrize("system", SYSTEMS)
def test_what_holds_is_a_rule_of_the_numbers(system):
    found = report.read(system, HOME)
    assert report.load_module(system).claims(found["found"]) == found["claims"]


@pytest.mark.slow
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_figure_can_be_drawn_again(system):
    assert report.png(system, HOME).startswith(b"\x89PNG")
