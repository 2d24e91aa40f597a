"""`seqzoo list`: recipes and models, filters and their order."""

import json

import pytest

from tests.hub import tiny
from tools import cli, list as tools_list
from tools.shared import size


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder of recipes and a hub."""
    home = tmp_path_factory.mktemp("list")
    recipes, hub, held = home / "recipes", home / "hub", {}
    recipes.mkdir()
    for name, task, language in (("r1", "translate", "de"), ("r2", "tag", "en")):
        text = f'name = "{name}"\nsystem = "s"\ntask = "{task}"\ndescription = "d"\n'
        (recipes / f"{name}.toml").write_text(f'{text}[data]\nsource_language = "{language}"')
    for name, count in (("m1", 2_000_000), ("m2", 900_000), ("m3", 10)):
        held[name] = hub / name / "1"
        held[name].mkdir(parents=True)
        (held[name] / "manifest.json").write_text("{}")
        (held[name] / "model.onnx").write_bytes(bytes(count))
        (held[name] / "model.keras").write_bytes(bytes(9_000_000))  # no file of a run
    fast = {"milliseconds": 3.0, "batch": 1, "precision": "int8", "processor": "p"}
    slower, low = fast | {"milliseconds": 4.0}, {"nats_per_character": 1.4}
    tiny.write_index(
        hub,
        tiny.entry("m1", 1, held["m1"], task="translate", languages=["de", "en"], scores={"bleu": 30.0}),
        tiny.entry("m1", 2, held["m1"], withdrawn="Wrong."),
        tiny.entry("m2", 1, held["m2"], task="translate", scores={"bleu": 35.5}, licence="MIT", speed=fast),
        tiny.entry("m3", 1, held["m3"], task="continue", scores={"nats_per_character": 1.5}, languages=[]),
        tiny.entry("m4", 1, held["m3"], task="continue", scores=low, speed=slower),
    )
    return recipes, hub


@pytest.fixture
def shown(folders, tmp_path, monkeypatch, capsys):
    """The names that a call of `seqzoo list` prints, of recipes and of models, and what is said on standard error."""
    recipes, hub = folders
    monkeypatch.setattr("tools.list.catalogue", lambda: recipes)
    monkeypatch.setenv("SEQZOO_HUB", str(hub))
    monkeypatch.setenv("SEQZOO_CACHE", str(tmp_path / "cache"))

    def call(*words):
        assert cli.main(["list", "--json", *words]) == 0
        captured = capsys.readouterr()
        found = json.loads(captured.out)
        assert found.keys() == {"recipes", "models"}
        return [each["name"] for each in found["recipes"]], [each["name"] for each in found["models"]], captured.err

    return call


def test_all(shown):
    assert shown() == (["r1", "r2"], ["m1", "m2", "m3", "m4"], "")


@pytest.mark.parametrize(
    ("words", "recipes", "models"),
    [
        ("--task translate", ["r1"], ["m1", "m2"]),
        ("--language DE", ["r1"], ["m1", "m2", "m4"]),
        ("--max-size 1MB", [], ["m2", "m3", "m4"]),
        ("--max-size 1.9MiB", [], ["m2", "m3", "m4"]),
        ("--max-size 2000002", [], ["m1", "m2", "m3", "m4"]),
        ("--licence mit", [], ["m2"]),
        ("--task translate --max-size 1MB --language en", [], ["m2"]),
        ("--sort size", ["r1", "r2"], ["m3", "m4", "m2", "m1"]),
        ("--sort speed", ["r1", "r2"], ["m2", "m4", "m1", "m3"]),
        ("--sort score", ["r2", "r1"], ["m4", "m3", "m2", "m1"]),
        ("--task rate_pairs", [], []),
    ],
)
def test_filters_and_orders(shown, words, recipes, models):
    assert shown(*words.split())[:2] == (recipes, models)


def test_a_model_has_what_programs_rely_on(shown, capsys):
    assert cli.main(["list", "--json"]) == 0
    model = json.loads(capsys.readouterr().out)["models"][0]
    assert {"name", "version", "system", "cell", "attention", "feedforward", "block", "depth", "task"} <= model.keys()
    assert {"languages", "bytes", "licence", "data_licence", "scores", "parity", "run_bytes", "hub"} <= model.keys()
    assert model["version"] == 1 and model["bytes"]["model.onnx"] == 2_000_000 and model["run_bytes"] == 2_000_002


def test_the_table(shown, capsys):
    assert cli.main(["list", "--task", "translate"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["Trained", "models:", "seqzoo", "run", "NAME", '"text"']
    assert rows[2] == ["m1", "1", "recurrent", "translate", "de-en", "2.0", "MB", "Apache-2.0", "BLEU", "30.0"]
    assert rows[4:6] == [[], ["Recipes:", "seqzoo", "train", "NAME"]] and rows[7][:2] == ["r1", "s"]
    assert cli.main(["list", "--task", "translate", "--language", "xx"]) == 0
    assert capsys.readouterr() == ("", "nothing fits; leave out some of the options\n")
    assert cli.main(["list", "--task", "tags", "--json"]) == 2
    out, err = capsys.readouterr()
    assert not out and "There is no task 'tags'. Did you mean 'tag'? The tasks are classify, compare," in err


@pytest.mark.parametrize(
    ("scores", "main", "said"),
    [
        ({"mae": 0.5, "spearman": 61.5, "pearson": 60.0}, "mae", "mean absolute error 0.5, Spearman 61.5"),
        ({"spearman": 84.5, "pearson": 80.0}, "spearman", "Spearman 84.5"),
        ({"accuracy": 92.5, "entity_f1": 6.9}, "entity_f1", "entity F1 6.9, accuracy 92.5"),
    ],
)
def test_scores_of_every_task_are_shown_and_the_one_that_flatters_least_leads(scores, main, said):
    """Of a model that rates it was said that nothing was measured."""
    assert tools_list.main_score({"scores": scores}) == main and tools_list._format_scores(scores) == said


def test_one_model(shown, capsys):
    assert cli.main(["list", "m1"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("m1, version 1, of ") and "model.onnx, 2,000,000 bytes" in out
    assert cli.main(["list", "m1@2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["withdrawn"] == "Wrong."


def test_a_hub_that_cannot_be_read_is_left_out(shown, folders, tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("SEQZOO_HUB", f"{tmp_path / 'nowhere'}, {folders[1]}")
    assert shown()[1] == ["m1", "m2", "m3", "m4"] and "left out" in caplog.text
    monkeypatch.setenv("SEQZOO_HUB", str(tmp_path / "nowhere"))
    assert shown()[:2] == (["r1", "r2"], [])


def test_sizes():
    assert [size(text) for text in ("7", "5MB", "1.5 kB", "2GiB", "3 b")] == [7, 5_000_000, 1500, 2 << 30, 3]
    for wrong in ("", "MB", "-1MB", "5 XB", "1e3", "5MBs"):
        with pytest.raises(Exception, match="expected a size such as"):
            size(wrong)
