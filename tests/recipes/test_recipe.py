"""Recipes: every file loads, and whatever is wrong is refused with a hint."""

import pytest

from tests.house_rules import ROOT
from tests.recipes.small import SETTINGS, recipe
from zoo import recipes
from zoo.recipes.files import parse


@pytest.mark.parametrize("name", recipes.names())
def test_each_recipe_loads_under_its_own_name(name):
    found = recipes.load(name)
    assert found.name == name
    assert found.steps % found.validate_every == 0
    assert found.warmup < found.steps


def test_the_zoo_has_its_entries():
    assert {"dates-gru-additive", "reversal-gru-none", "multi30k-de-en-gru-dot"} <= set(recipes.names())


def test_text_round_trip(tmp_path):
    path = tmp_path / "recipe.toml"
    one = recipe(description='Ein "ß" \\ und\nmehr', learning_rate=1e-5, byte_fallback=True)
    path.write_text(recipes.dumps(one), encoding="utf-8")
    assert recipes.load(path) == one


def test_overrides_parse_by_type():
    overrides = ["steps=7", "dropout=0.5", "learning_rate=1", "byte_fallback=true", "cell=lstm"]
    found = recipes.load("dates-gru-additive", overrides + ["description=a=b", "schedule=linear"])
    assert (found.steps, found.dropout, found.learning_rate) == (7, 0.5, 1.0)
    assert type(found.learning_rate) is float
    assert found.byte_fallback is True and found.cell == "lstm" and found.description == "a=b"


def test_files_with_former_names_still_load(tmp_path):
    """A run of 0.1.0 says "judge" where a recipe says monitor, and depth.judge where it says depth.oracle."""
    new = recipes.load("multi30k-de-en-depth-adaptive", ["monitor=accuracy", "depth.oracle=correctness"])
    text = recipes.dumps(new)
    old = text.replace("monitor = ", "judge = ").replace("oracle = ", "judge = ")
    assert old.count("judge = ") == 2 and "judge" not in text
    path = tmp_path / "old.toml"
    path.write_text(old)
    assert recipes.load(path) == new
    path.write_text('extends = "base"\nname = "own"\njudge = "nll"\n[depth]\njudge = "likelihood"\n')
    (tmp_path / "base.toml").write_text(text)
    found = recipes.load(path, ["judge=accuracy", "depth.judge=correctness"])
    assert (found.monitor, found.depth["oracle"]) == ("accuracy", "correctness")
    path.write_text('judge = "nll"\n' + text)
    with pytest.raises(ValueError, match="judge is the former name of monitor, and both are given"):
        recipes.load(path)


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        ("steps", "expected key=value, such as steps=100; received 'steps'"),
        ("steps=many", "steps must be int, received 'many'"),
        ("steps=1.5", "steps must be int, received '1.5'"),
        ("byte_fallback=yes", "byte_fallback must be bool, received 'yes'"),
        ("unit=3", "unknown setting 'unit'. Did you mean 'units'[?] Known settings: name, system"),
    ],
)
def test_wrong_overrides_are_refused(assignment, message):
    with pytest.raises(ValueError, match=message):
        parse(assignment)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "tagger"}, "gives 'reversal' data to a tagger; expected one of the models seq2seq, transformer"),
        ({"data": "tagged"}, "gives 'tagged' data to a seq2seq; expected one of the models tagger"),
        ({"positions": "learned"}, "positions of a seq2seq must be one of none; received 'learned'"),
        ({"block": "prenorm"}, "block must be one of post_norm, pre_norm, macaron; received"),
        ({"label_smoothin": 0.1}, "Did you mean 'label_smoothing'"),
        ({"units": 1.5}, "units must be int, received 1.5 .float."),
        ({"units": True}, "units must be int, received True .bool."),
        ({"units": -1}, "units must not be negative"),
        ({"attention": "aditive"}, "attention of a seq2seq must be one of additive, dot, none; received"),
        ({"attention": 3}, "attention must be the name of a layer or a table with its settings; received 3"),
        ({"data": "parallel"}, "needs source_language and target_language, received '' and ''"),
    ],
)
def test_wrong_settings_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        recipes.make(SETTINGS | changes)


def test_a_missing_setting_is_named():
    with pytest.raises(ValueError, match="lacks task"):
        recipes.make({key: value for key, value in SETTINGS.items() if key != "task"})


def test_a_file_can_extend_another(tmp_path):
    (tmp_path / "base.toml").write_text(recipes.dumps(recipe(name="base", units=7)))
    (tmp_path / "more.toml").write_text('extends = "base"\nname = "more"\nunits = 9\n')
    assert recipes.load(tmp_path / "more.toml", ["steps=8"]) == recipe(name="more", units=9, steps=8)
    (tmp_path / "lost.toml").write_text('extends = "nowhere"\n')
    with pytest.raises(ValueError, match="there is no recipe .*nowhere.toml nor .*recipes/nowhere.toml"):
        recipes.load(tmp_path / "lost.toml")


def test_a_file_anywhere_extends_a_recipe_of_the_zoo(tmp_path):
    """The README's own recipe in an empty folder."""
    text = (ROOT / "README.md").read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    (tmp_path / "mine.toml").write_text(text)
    found = recipes.load(tmp_path / "mine.toml")
    assert found.units == recipes.load("gutenberg-9-transformer").units and found.attention["layer"] == "lsh"


def test_a_file_beside_goes_before_the_zoo_and_may_be_called_like_what_it_extends(tmp_path):
    name = "trec-transformer-pre-norm"
    (tmp_path / f"{name}.toml").write_text(f'extends = "{name}"\nunits = 12\n')
    (tmp_path / "mine.toml").write_text(f'extends = "{name}"\nseed = 5\n')
    found = recipes.load(tmp_path / "mine.toml")
    assert (found.units, found.seed, found.data) == (12, 5, "trec")


def test_extends_may_be_a_path(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "base.toml").write_text(recipes.dumps(recipe(name="base", units=7)))
    (tmp_path / "folder" / "more.toml").write_text('extends = "../base.toml"\nname = "more"\n')
    assert recipes.load(tmp_path / "folder" / "more.toml").units == 7
    (tmp_path / "folder" / "whole.toml").write_text(f'extends = "{tmp_path}/base.toml"\n')
    assert recipes.load(tmp_path / "folder" / "whole.toml").units == 7


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('extends = "mine"', "extends 'mine', and there is no recipe"),
        ('extends = "other"', "extend each other in a circle: .*mine.toml -> .*other.toml -> .*mine.toml. Take one"),
        ('extends = "./other.toml"', "in a circle"),
        ('extends = "../base"', "is neither the name of a recipe nor the path of a .toml. Expected for example 'base'"),
        ('extends = "../base.toml"', "there is no recipe .*base.toml"),
        ("extends = 3", "extends must be the name of a recipe or the path of a .toml; received 3"),
        ('extends = ""', "extends must be the name of a recipe"),
        ('extends = "dates-gru"', "Did you mean 'dates-gru-additive'"),
    ],
)
def test_wrong_extends_are_refused(text, message, tmp_path):
    (tmp_path / "mine.toml").write_text(text)
    (tmp_path / "other.toml").write_text('extends = "mine"\n')
    with pytest.raises(ValueError, match=message):
        recipes.load(tmp_path / "mine.toml")


@pytest.mark.parametrize("family", ["multi30k-de-en", "multi30k-en-de", "tatoeba-en-zh", "trec", "sst2", "ewt-pos"])
def test_wirings_differ_in_nothing_else(family):
    one, *others = (recipes.load(f"{family}-transformer-{wiring}") for wiring in ("pre-norm", "post-norm", "macaron"))
    for other in others:
        changed = {key for key, value in vars(one).items() if value != vars(other)[key]}
        assert changed <= {"name", "description", "block"}
        assert other.block.replace("_", "-") in other.name


def test_wrong_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match="unknown recipe 'dates-gru'. Did you mean 'dates-gru-add"):
        recipes.load("dates-gru")
    with pytest.raises(ValueError, match="there is no recipe"):
        recipes.load(tmp_path / "none.toml")
    (tmp_path / "bad.toml").write_text("name = ")
    with pytest.raises(ValueError, match="bad.toml is not TOML"):
        recipes.load(tmp_path / "bad.toml")
