"""Recipes that differ from another one, which lies beside them or in the zoo."""

import pytest

from tests.recipes.small import recipe
from zoo import recipes


def test_a_file_can_extend_another(tmp_path):
    (tmp_path / "base.toml").write_text(recipes.dumps(recipe(name="base", model={"units": 7})))
    (tmp_path / "more.toml").write_text('extends = "base"\nname = "more"\n[model]\nunits = 9\n')
    assert recipes.load(tmp_path / "more.toml", ["training.steps=8"]) == recipe(
        name="more", model={"units": 9}, training={"steps": 8}
    )
    (tmp_path / "lost.toml").write_text('extends = "nowhere"\n')
    with pytest.raises(ValueError, match="there is no recipe .*nowhere.toml nor .*catalogue/nowhere.toml"):
        recipes.load(tmp_path / "lost.toml")


def test_a_file_anywhere_extends_a_recipe_of_the_zoo(tmp_path):
    (tmp_path / "mine.toml").write_text('extends = "gutenberg-9-transformer"\nattention = "lsh"\n')
    found = recipes.load(tmp_path / "mine.toml")
    assert found.model == recipes.load("gutenberg-9-transformer").model and found.attention.layer == "lsh"


def test_a_file_beside_goes_before_the_zoo_and_may_be_called_like_what_it_extends(tmp_path):
    name = "trec-transformer-pre-norm"
    (tmp_path / f"{name}.toml").write_text(f'extends = "{name}"\n[model]\nunits = 12\n')
    (tmp_path / "mine.toml").write_text(f'extends = "{name}"\n[training]\nseed = 5\n')
    found = recipes.load(tmp_path / "mine.toml")
    assert (found.model.units, found.training.seed, found.data.corpus) == (12, 5, "trec")


def test_extends_may_be_a_path(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "base.toml").write_text(recipes.dumps(recipe(name="base", model={"units": 7})))
    (tmp_path / "folder" / "more.toml").write_text('extends = "../base.toml"\nname = "more"\n')
    assert recipes.load(tmp_path / "folder" / "more.toml").model.units == 7
    (tmp_path / "folder" / "whole.toml").write_text(f'extends = "{tmp_path}/base.toml"\n')
    assert recipes.load(tmp_path / "folder" / "whole.toml").model.units == 7


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


@pytest.mark.parametrize(
    ("asked", "warmup"),
    [
        (["training.steps=20"], 2),
        (["training.steps=1"], 0),
        (["training.steps=2000"], 100),
        (["training.steps=200", "training.warmup=30"], 30),
        ([{"training": {"steps": 500}}, "training.steps=50"], 5),
        (["training.batch_size=8"], 100),
    ],
)
def test_a_warmup_that_nobody_asked_for_keeps_its_share_of_fewer_steps(asked, warmup):
    base = {"extends": "trec-transformer-pre-norm", "training": {"steps": 1000, "warmup": 100, "schedule": "cosine"}}
    assert recipes.load(base, asked).training.warmup == warmup


def test_a_file_that_shortens_a_training_shortens_its_warmup(tmp_path):
    (tmp_path / "short.toml").write_text('extends = "trec-transformer-pre-norm"\n[training]\nsteps = 10\n')
    whole = recipes.load("trec-transformer-pre-norm").training
    assert recipes.load(tmp_path / "short.toml").training.warmup == whole.warmup * 10 // whole.steps


def test_a_warmup_that_is_asked_for_must_leave_steps():
    with pytest.raises(ValueError, match="steps=20 and warmup=20"):
        recipes.load("trec-transformer-pre-norm", ["training.steps=20", "training.warmup=20"])


@pytest.mark.parametrize("steps", ["many", -3, 1.5, True])
def test_steps_of_another_kind_are_refused_beside_a_warmup(steps):
    with pytest.raises(ValueError, match="steps"):
        recipes.load("trec-transformer-pre-norm", [{"training": {"steps": steps}}])


@pytest.mark.parametrize(
    ("overrides", "data", "name"),
    [
        (["data.train=vie_train.tsv"], None, "g2p-best-vie"),
        ([], "lexicons/vie_train.tsv", "g2p-best-vie"),
        (["data.train=hun/train.tsv"], None, "g2p-best-hun"),
        ([{"data": {"train": ["de-en.de", "de-en.en"]}}], None, "g2p-best-de-en"),
        (["data.train=hf://somebody/words:train"], None, "g2p-best-words"),
        (["data.train=vie_train.tsv", "name=mine"], None, "mine"),
        (["training.steps=60"], None, "g2p-best"),
    ],
)
def test_a_training_on_other_files_has_their_name_too(overrides, data, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lexicons").mkdir()
    (tmp_path / "lexicons" / "vie_train.tsv").write_text("a\tb\n")
    assert recipes.load_for_training("g2p-best", overrides, data=data).name == name


def test_a_training_on_the_files_that_its_recipe_names_keeps_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text('extends = "g2p-best"\nname = "mine"\n[data]\ntrain = "vie.tsv"\n')
    assert recipes.load_for_training("mine.toml", ["training.steps=60"]).name == "mine"
    assert recipes.load_for_training("mine.toml", ["data.train=vie.tsv"]).name == "mine"
    assert recipes.load_for_training("mine.toml", ["data.train=hun.tsv"]).name == "mine-hun"
    assert recipes.load_for_training("mine.toml", iter(["data.train=hun.tsv", "name=own"])).name == "own"
    assert recipes.load_for_training("reversal-gru-none", data=tmp_path).name == "reversal-gru-none"
