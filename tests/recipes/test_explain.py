"""`seqzoo list NAME`: every setting of every recipe of the catalogue, with what it means and what it would be."""

import json
import tomllib

import pytest

from tools import cli
from zoo import recipes
from zoo.recipes.recipe import TABLES

KEYS = {"table", "setting", "value", "default", "meaning", "choices"}


def rows(name, capsys):
    assert cli.main(["list", name, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", recipes.list_recipes())
def test_json_has_every_setting_of_a_recipe(name, capsys):
    found = rows(name, capsys)
    recipe = recipes.load(name)
    assert all(each.keys() == KEYS and each["meaning"] for each in found)
    own = {}
    for each in found:
        if each["value"] is not None:
            place = own
            for table in filter(None, each["table"].split(".")):
                place = place.setdefault(table, {})
            place[each["setting"]] = each["value"]
    assert recipes.load(own) == recipe, "what is shown is the recipe"
    for each in found:
        if each["choices"]:
            assert each["value"] in each["choices"]


@pytest.mark.parametrize("name", recipes.list_recipes())
def test_text_is_toml_with_comments_for_a_reader(name, capsys):
    """Every line is a setting, or says that one is not set; the values are those of the recipe."""
    assert cli.main(["list", name]) == 0
    lines = capsys.readouterr().out.splitlines()
    found = {(each["table"], each["setting"]): each for each in rows(name, capsys)}
    table, seen = "", set()
    for line in filter(None, lines):
        if line.startswith("["):
            table = line.strip("[]")
            assert table.partition(".")[0] in TABLES
            continue
        setting = line.removeprefix("# ").split()[0]
        own = found[table, setting]
        seen.add((table, setting))
        assert own["meaning"] in line
        if own["value"] is None:
            assert line.startswith(f"# {setting} is not set")
        elif not isinstance(own["value"], dict):
            assert tomllib.loads(line.partition(f"  {own['meaning']}")[0])[setting] == own["value"]
        changed = own["default"] is not None and own["value"] != own["default"]
        assert line.endswith(f"(default {json.dumps(own['default'], ensure_ascii=False)})") == changed
    assert seen == found.keys()


def test_a_default_is_what_a_recipe_has_that_says_nothing():
    plain = recipes.make({"name": "x", "task": "translate", "data": "dates"})
    for each in recipes.explain(plain):
        if each["table"] and each["default"] is not None and each["setting"] != "corpus":
            assert each["value"] == each["default"], each


def test_a_file_of_ones_own_is_shown_and_what_is_none_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text('extends = "trec-star"\nname = "mine"\n[training]\nsteps = 500\n')
    shown = {(each["table"], each["setting"]): each["value"] for each in rows("mine.toml", capsys)}
    assert shown["training", "steps"] == 500 and shown["depth", "layer"] == "star"
    (tmp_path / "bad.toml").write_text('extends = "trec-star"\n[training]\nstep = 500\n')
    for name, said in (("trec-sta", "Did you mean 'trec-star'"), ("no.toml", "no recipe"), ("bad.toml", "'steps'")):
        assert cli.main(["list", name]) == 2
        assert said in capsys.readouterr().err
