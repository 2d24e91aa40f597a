"""`seqzoo evaluate`: what it leaves in the run folder."""

import json
import math

import pytest

from serving.export import runs as exported_runs
from tests.core.test_storage import strict
from tests.recipes.small import recipe
from tools import cli
from zoo import recipes, runs
from zoo.hub import resolve
from zoo.recipes import evaluations, folder
from zoo.tasks.parts.task import Evaluation, Run

SCORES = {"count": 2, "bleu": math.nan, "bleu_interval": [0.0, math.inf]}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run whose scores JSON cannot express."""
    found = Evaluation(SCORES, ["x", "y"], ["a", "b"], ["c", "d"])
    monkeypatch.setattr(recipes, "check_run", lambda *_: recipe())
    for name, value in {"open_run": None, "evaluation": found}.items():
        monkeypatch.setattr(runs, name, lambda *_, value=value, **__: value)
    return tmp_path


def test_scores_without_a_value_are_null_in_every_file(run, capsys):
    assert cli.main(["evaluate", str(run), "--split", "test", "--json"]) == 0
    for text in (capsys.readouterr().out, (run / "scores.json").read_text()):
        found = strict(text)
        assert found["bleu"] is None and found["bleu_interval"] == [0.0, None]
    assert strict((run / "test.outputs.json").read_text())["scores"]["bleu"] is None
    assert (run / "test.hypotheses.txt").read_text() == "x\ny\n"


def test_an_artefact_is_scored_and_stays_as_it_is(run, capsys):
    """Its manifest did not list the files that were written beside it."""
    (run / "manifest.json").write_text("{}")
    assert cli.main(["evaluate", str(run), "--split", "test"]) == 0
    assert "count" in capsys.readouterr().out and [each.name for each in run.iterdir()] == ["manifest.json"]


def test_a_published_model_is_scored_by_its_name(run, monkeypatch, capsys):
    """A name was refused, though the folder of a hub that has it was taken."""
    published = run / "hub"
    published.mkdir()
    (published / "manifest.json").write_text("{}")
    asked = []
    monkeypatch.setattr(resolve, "fetch", lambda *given: asked.append(given) or published)
    monkeypatch.setattr(recipes, "check_run", lambda given: recipe() if given == published else None)
    assert cli.main(["evaluate", "pos-en@4", "--split", "test"]) == 0
    assert asked == [("pos-en@4", "all")] and "count" in capsys.readouterr().out
    assert [each.name for each in published.iterdir()] == ["manifest.json"]


def test_an_artefact_is_found_below_its_folder(run, monkeypatch, capsys):
    """As by seqzoo run: what `seqzoo export --out` names is the folder above."""
    for version in ("2", "10"):
        (run / "out" / "small" / version).mkdir(parents=True)
        (run / "out" / "small" / version / "manifest.json").write_text("{}")
    asked = []
    monkeypatch.setattr(recipes, "check_run", lambda given: asked.append(given) or recipe())
    assert cli.main(["evaluate", str(run / "out"), "--split", "test"]) == 0
    assert asked == [run / "out" / "small" / "10"] and "count" in capsys.readouterr().out


def test_labels_and_threshold_of_an_artefact_are_in_its_manifest(tmp_path):
    (tmp_path / "manifest.json").write_text('{"labels": ["b", "a"], "scope": {"label": "oos", "threshold": 0.25}}')
    assert folder.read_labels(tmp_path) == ("b", "a") and folder.read_threshold(tmp_path) == 0.25
    (tmp_path / "labels.json").write_text('["c"]')
    assert folder.read_labels(tmp_path) == ("c",), "those of a run are its own"


@pytest.mark.parametrize("part", [["--limit", "2"], ["--data", "others.tsv"]])
def test_scores_of_other_examples_say_so_and_are_not_the_artefacts(part, run, monkeypatch, capsys):
    own = recipe(data={"corpus": "files", "train": "own.tsv"})
    monkeypatch.setattr(recipes, "check_run", lambda *_: own)
    monkeypatch.setattr(recipes, "check_data", lambda *_: None)
    assert cli.main(["evaluate", str(run), "--split", "test", *part]) == 0
    found, others = strict((run / "scores.json").read_text()), {"others.tsv": {"count": 2}}
    if "--data" in part:
        assert found == {"elsewhere": others} == exported_runs._read_scores(run)
    else:
        assert found["limit"] == 2 and exported_runs._read_scores(run) == {}
    assert cli.main(["evaluate", str(run), "--split", "test", *part, "--record"]) == 2
    assert f"received {part[0]}" in capsys.readouterr().err
    assert cli.main(["evaluate", str(run), "--split", "test"]) == 0
    found = strict((run / "scores.json").read_text())
    assert exported_runs._read_scores(run) == found and found.get("elsewhere") == (others if "--data" in part else None)
    assert found["count"] == 2 and "limit" not in found
    answers = (run / "test.outputs.json").read_bytes()
    monkeypatch.setattr(runs, "evaluation", lambda *_, **__: Evaluation(SCORES | {"count": 1}, ["z"], ["a"], ["c"]))
    for name in (["--as", "news | 2027"], []):  # of a part nothing is kept where there is the whole
        assert cli.main(["evaluate", str(run), "--split", "test", *name, "--limit", "1"]) == 0
        assert strict((run / "scores.json").read_text()) == found
        assert (run / "test.outputs.json").read_bytes() == answers
    assert "examples of test are not kept" in capsys.readouterr().err


def test_how_other_examples_are_read(run, monkeypatch, capsys):
    own, asked = recipe(data={"corpus": "files", "train": "own.tsv"}), []
    found = Evaluation(SCORES, ["x", "y"], ["a", "b"], ["c", "d"])
    monkeypatch.setattr(recipes, "check_run", lambda *_: own)
    monkeypatch.setattr(recipes, "check_data", lambda *_: None)
    monkeypatch.setattr(runs, "open_run", lambda *_: Run(own, None, ()))
    monkeypatch.setattr(runs, "evaluation", lambda run, *_, **__: asked.append(run.recipe) or found)
    options = ["--set", "data.columns.source=2", "--set", 'data.rules_off=["labels"]']
    assert cli.main(["evaluate", str(run), "--split", "test", *options, "--data", "others.tsv"]) == 0
    assert (asked[0].data.columns, asked[0].data.rules_off) == ({"source": 2}, ["labels"])
    assert asked[0].model == own.model and own.data.rules_off == []
    assert cli.main(["evaluate", str(run), "--split", "test", *options]) == 2
    assert "Name these scores with --as NAME" in capsys.readouterr().err
    assert cli.main(["evaluate", str(run), "--split", "test", *options, "--as", "as written"]) == 0
    assert sorted(strict((run / "scores.json").read_text())["elsewhere"]) == ["as written", "others.tsv"]
    assert cli.main(["evaluate", str(run), "--set", "model.units=8", "--data", "others.tsv"]) == 2
    assert "--set says how examples are read, by settings of [data]; received model.units=8" in capsys.readouterr().err


def test_answers_to_other_examples_stay_beside_the_runs_own(run, monkeypatch):
    own = recipe(data={"corpus": "files", "train": "own.tsv"})
    monkeypatch.setattr(recipes, "check_run", lambda *_: own)
    monkeypatch.setattr(recipes, "check_data", lambda *_: None)
    others = {"new": ("--data", "o.tsv"), "y": ("--data", "o.tsv", "--as", "of/ 27"), "t": ("--data", "others/test")}
    for answer, options in {"own": (), **others}.items():
        answered = Evaluation(SCORES, [answer, "z"], ["a", "b"], ["c", "d"])
        monkeypatch.setattr(runs, "evaluation", lambda *_, answered=answered, **__: answered)
        assert cli.main(["evaluate", str(run), "--split", "test", *options]) == 0
    names = ["test", "test.o.tsv", "test.of_27", "test.test"]
    assert evaluations.splits(run) == names and evaluations.shared_split([run]) == "test"
    assert [evaluations.read(run, name)["outputs"][0] for name in names] == ["own", "new", "y", "t"]
    assert (run / "test.hypotheses.txt").read_text() == "own\nz\n"
    with pytest.raises(ValueError, match="--split test --data DATA"):
        evaluations.read(run, "test.others.tsv")


def test_a_full_disk_leaves_the_scores_of_before(run, monkeypatch, capsys):
    (run / "scores.json").write_text('{"bleu": 1.0}')

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert cli.main(["evaluate", str(run), "--split", "test"]) == 1
    assert "No space left" in capsys.readouterr().err
    assert json.loads((run / "scores.json").read_text()) == {"bleu": 1.0}
