"""A new task is one file: it is found, checked as the others are, trained, scored and exported."""

import json
import shutil
import sys

import pytest

from tests.house_rules import ROOT
from tests.shared import python
from tests.tasks import runs
from zoo import recipes, tasks
from zoo.runs import evaluate, open_run, train

FILE = '''"""One label for a text, whose words are read without their case; scored by the share of wrong labels, too."""

from zoo.tasks.classify import Classify


class Route(Classify):
    """Calls to desks."""

    name = "route"

    def words(self, tokenizer, text):
        """Case does not count."""
        return super().words(tokenizer, text.lower())

    def score(self, recipe, outputs, references):
        """What those of a classification are, and the share of wrong labels."""
        scores = super().score(recipe, outputs, references)
        return scores | {"wrong": 100 - scores["accuracy"]}


TASK = Route()
'''


@pytest.fixture
def route(tmp_path, monkeypatch):
    """The task, in a folder that is one of the package's."""
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "route.py").write_text(FILE, encoding="utf-8")
    monkeypatch.setattr(tasks, "__path__", [*tasks.__path__, str(tmp_path / "more")])
    known = set(tasks.TASKS)
    new = tasks.find_tasks()
    assert set(new) - known == {"route"}
    monkeypatch.setitem(tasks.TASKS, "route", new["route"])
    yield new["route"]
    sys.modules.pop("zoo.tasks.route")


def recipe_of(home, training=()):
    """A small recipe of the task on a file of its own."""
    rows = [f"{text}\t{('water', 'fire', 'air')[i % 3]}" for i, text in enumerate(runs.TEXTS)]
    (home / "x.tsv").write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
    columns = {"text": 1, "label": 2, "header": False}
    data = {"train": str(home / "x.tsv"), "test_share": 0.2, "columns": columns}
    return {"name": "calls", "task": "route", "data": data, "training": dict(training)} | runs.READER


def test_it_is_found_and_checked_as_the_others_are(route, tmp_path):
    one = recipes.make(recipe_of(tmp_path))
    assert one.job is route and one.model.kind == "transformer" and one.embedding.layer == "tokens"
    assert recipes.load(_saved(one, tmp_path)) == one
    inputs, answers = recipes.read(one, "train")
    assert len(inputs) == len(answers) > 0
    with pytest.raises(ValueError, match=r"\[search\] has no place in this recipe"):
        recipes.make(recipe_of(tmp_path) | {"search": {"beam": 2}})
    with pytest.raises(ValueError, match="task must be one of .*route.*; received 'rout'. Did you mean 'route'"):
        recipes.make(recipe_of(tmp_path) | {"task": "rout"})


def _saved(one, folder):
    path = folder / "recipe.toml"
    path.write_text(recipes.dumps(one), encoding="utf-8")
    return path


@pytest.mark.slow
def test_it_trains_and_is_scored(route, tmp_path):
    one = recipes.make(recipe_of(tmp_path, {"steps": 2, "validate_every": 2, "batch_size": 8, "num_buckets": 1}))
    train(one, tmp_path / "run")
    run = open_run(tmp_path / "run")
    scores, outputs = evaluate(run, "test")
    assert scores["wrong"] == 100 - scores["accuracy"] and set(outputs) <= {"water", "fire", "air"}
    assert evaluate(run, "test")[1] == outputs
    shouted = [text.upper() for text in runs.TEXTS[:9]]
    assert route.predict(run, shouted)[0] == route.predict(run, runs.TEXTS[:9])[0], "case does not count"


@pytest.mark.release
def test_nothing_else_of_the_package_is_changed_for_it(tmp_path):
    """The file alone is put into a copy of the package, and the commands know the task."""
    for name in ("zoo", "tools", "serving"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "zoo" / "tasks" / "route.py").write_text(FILE, encoding="utf-8")
    plan = {"steps": 2, "validate_every": 2, "batch_size": 8, "num_buckets": 1}
    (tmp_path / "mine.toml").write_text(recipes.files.toml(recipe_of(tmp_path, plan)), encoding="utf-8")
    program = "import sys; sys.path.insert(0, '.'); from tools.cli import main; sys.exit(main(sys.argv[1:]))"
    for words in (["train", "mine.toml"], ["evaluate", "runs/calls", "--json"], ["export", "runs/calls", "--no-int8"]):
        done = python("-c", program, *words, cwd=tmp_path, PYTHONPATH=str(tmp_path))
        if words[0] == "evaluate":
            found = json.loads(done.stdout)
            assert (found["task"], found["split"]) == ("route", "test") and 0 <= found["wrong"] <= 100
    manifest = json.loads((tmp_path / "artefacts" / "calls" / "1" / "manifest.json").read_text(encoding="utf-8"))
    assert (manifest["task"], manifest["kind"]) == ("route", "classify")
