"""docs/settings.md is what docs/settings.py writes, and has every setting that a recipe may have."""

import importlib.util

from tests.house_rules import ROOT
from zoo import recipes
from zoo.recipes.recipe import TABLES

SPEC = importlib.util.spec_from_file_location("settings_page", ROOT / "docs" / "settings.py")
SETTINGS = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(SETTINGS)


def test_the_page_is_up_to_date():
    assert SETTINGS.PAGE.read_text(encoding="utf-8") == SETTINGS.page(), "run: python docs/settings.py"


def test_the_page_has_every_table():
    lines = SETTINGS.PAGE.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("## [")] == [f"## [{name}]" for name in TABLES]


def test_the_page_has_every_setting_of_every_recipe_with_its_meaning():
    lines = SETTINGS.PAGE.read_text(encoding="utf-8").splitlines()
    rows = {
        (cells[1].strip(" `"), cells[-2].strip()) for cells in (line.split("|") for line in lines) if len(cells) > 3
    }
    for name in recipes.list_recipes():
        for each in recipes.explain(recipes.load(name)):
            if each["setting"] not in ("corpus", "kind", "layer", "imports"):
                assert (each["setting"], each["meaning"]) in rows, each
