"""Recipes on files of one's own: which file a split is read from, what is told of missing ones, and whole runs."""

import csv
import json

import pytest

from tests.shared import mostly_at_releases
from tests.tasks.runs import SETTINGS, TEXTS
from tools import cli
from zoo import recipes, runs
from zoo.recipes.card import find_learnt
from zoo.tasks import TASKS

LABELS = ("water", "fire", "air")
TRAINING = {"steps": 2, "validate_every": 2, "batch_size": 8, "num_buckets": 1}


def write_csv(path, rows, header=("text", "label")):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def labelled(count=60):
    return [(f"{text}, {number}", LABELS[number % 3]) for number, text in enumerate((TEXTS * 2)[:count])]


def recipe(**data):
    return recipes.make({"name": "mine", "task": "classify", "data": {"corpus": "files"} | data})


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The working folder, with x.csv."""
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "x.csv", labelled())
    return tmp_path


def test_one_file_is_split_into_disjoint_parts_that_stay(here):
    one = recipe(train="x.csv", valid_share=0.2, test_share=0.1)
    parts = {split: recipes.read(one, split) for split in ("train", "valid", "test")}
    texts = [text for inputs, _ in parts.values() for text in inputs]
    assert sorted(texts) == sorted(text for text, _ in labelled()), "each example is in one part"
    sizes = {split: len(inputs) for split, (inputs, _) in parts.items()}
    assert sizes["train"] > sizes["valid"] > 0 and sizes["test"] > 0
    write_csv(here / "x.csv", labelled() + [("one more", "air")])
    again = {split: recipes.read(one, split)[0] for split in parts}
    assert sum(len(again[split]) - sizes[split] for split in parts) == 1
    assert all(set(parts[split][0]) <= set(again[split]) for split in parts), "no example changes its part"


def test_a_split_with_a_file_of_its_own_is_read_from_that(here):
    write_csv(here / "dev.csv", [("own", "air"), ("words", "fire")])
    one = recipe(train="x.csv", valid="dev.csv", valid_share=0.5)
    assert recipes.read(one, "valid") == (["own", "words"], ["air", "fire"])
    assert len(recipes.read(one, "train")[0]) == 60, "nothing is taken from the training"
    write_csv(here / "test.csv", [("the same", "air"), ("label", "air")])
    assert recipes.read(recipe(train="x.csv", test="test.csv"), "test") == (["the same", "label"], ["air", "air"])


def test_filters_are_for_training_alone(here):
    rows = [("a b c d e", "air"), ("a b", "fire"), ("a", "air")] * 20
    write_csv(here / "x.csv", rows)
    write_csv(here / "dev.csv", rows)
    one = recipe(train="x.csv", valid="dev.csv", shortest=2, longest=4)
    assert set(recipes.read(one, "train")[0]) == {"a b"} and len(recipes.read(one, "valid")[0]) == 60


def test_filters_that_leave_no_example_are_named(here):
    with pytest.raises(ValueError, match="no training example is left of 60: 60 too short, by data.shortest, data.lon"):
        recipes.read(recipe(train="x.csv", valid="x.csv", test="x.csv", shortest=50), "train")


def test_paths_are_seen_from_the_folder_that_is_given(here, monkeypatch):
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    one = recipe(train="x.csv")
    with pytest.raises(
        ValueError, match="there is no file x.csv, which data.train names. Check the path, or give --da"
    ):
        recipes.check_data(one, ("train", "valid"))
    assert recipes.read(one, "train", here)[0] and recipes.read(recipe(train=str(here / "x.csv")), "train")[0]


def test_other_examples_may_be_scored(here):
    other = write_csv(here / "other.csv", [("something", "earth"), ("else", "air")])
    assert recipes.read(recipe(train="x.csv"), "test", other) == (["something", "else"], ["earth", "air"])


def test_a_folder_is_not_passed_over_where_a_recipe_has_absolute_paths(here):
    """The scores of a run's own test set stood under the name of another corpus."""
    (here / "other").mkdir()
    write_csv(here / "other" / "air.csv", [("something", "earth")])
    write_csv(here / "test.csv", [("own", "air")])
    one = recipe(train=str(here / "x.csv"), test=str(here / "test.csv"))
    assert recipes.read(one, "test") == (["own"], ["air"])
    with pytest.raises(ValueError, match="other"):  # which has no folders of labels
        recipes.read(one, "test", here / "other")
    (here / "other" / "air.csv").rename(here / "air.csv")
    own = {"corpus": "files", "train": str(here / "x.csv"), "format": "csv", "source_language": "de"}
    translator = recipes.make({"name": "own", "task": "translate", **SETTINGS["translate"], "data": own})
    for each, hint in ((one, ""), (translator, " If its files are parallel, read it with --set data.corpus=parallel.")):
        with pytest.raises(ValueError, match="is a folder where a file is expected. It holds no file") as refused:
            recipes.read(recipes.load(each, ["data.format=csv"]), "test", here / "other")
        assert str(refused.value).partition("no file.")[2] == hint
    with pytest.raises(ValueError, match="data.train is .*x.csv, which is not sought in .*other, the folder that was"):
        runs.train(one, here / "run", here / "other")
    assert not (here / "run").exists()


def test_examples_that_the_training_had_are_counted(here):
    """The whole file that a run had learnt from was scored as other examples, without a word."""
    one, rows = recipe(train="x.csv", test_share=0.2), labelled()
    other = one.job.examples(one, "test", write_csv(here / "other.csv", [*rows, ("new", "air")]))
    learnt = len(recipes.read(one, "train")[0])
    found, (note,) = find_learnt(one, other)
    assert found == {"in_training": learnt} and 0 < learnt < 60
    assert note.startswith(f"{learnt} inputs of these examples and of the training are the same")
    assert find_learnt(one, other.take([60])) == ({"in_training": 0}, [])
    (here / "x.csv").unlink()
    assert find_learnt(one, other) == ({}, [])


def test_other_examples_in_another_format_are_refused_with_what_to_say(here):
    """JSON lines for a run of tables: it was said that a column is not there, and not why."""
    (here / "new.jsonl").write_text('{"text": "good", "label": "pos"}\n')
    named = {"text": "text", "label": "label"}
    own = {"corpus": "files", "train": "all.csv", "format": "csv", "columns": named}
    recipe = recipes.make({"name": "own", "task": "classify", **SETTINGS["classify"], "data": own})
    with pytest.raises(ValueError, match="The recipe reads csv: name the format of .* --set data.format=NAME"):
        recipes.read(recipe, "test", str(here / "new.jsonl"))
    recipe = recipes.load(recipe, ["data.format=jsonl"])
    assert recipes.read(recipe, "test", str(here / "new.jsonl")) == (["good"], ["pos"])
    (here / "bad.csv").write_text("text,label\na,b,c\n")
    with pytest.raises(ValueError) as refused:
        recipes.read(recipes.load(recipe, ["data.format=csv"]), "test", str(here / "bad.csv"))
    assert "The recipe reads" not in str(refused.value)


def test_a_training_looks_for_its_files_in_the_folder_that_is_given(here):
    """Where they are not, the folder's other files are not trained on instead."""
    (here / "elsewhere").mkdir()
    write_csv(here / "elsewhere" / "other.csv", labelled())
    with pytest.raises(ValueError, match="there is no file .*elsewhere/x.csv, which data.train names"):
        runs.train(recipe(train="x.csv"), here / "run", here / "elsewhere")
    assert not (here / "run").exists()


@pytest.mark.parametrize(
    ("data", "splits", "message"),
    [
        ({}, ("train",), "the recipe says nothing of its data. Name the training examples with --set data.train=FILE"),
        ({"train": "no.csv"}, ("train", "valid"), "there is no file no.csv, which data.train names"),
        ({"train": "no.csv"}, ("valid",), "there is no file no.csv, which data.train names"),
        ({"train": "x.csv", "valid": "no.csv"}, ("train", "valid"), "there is no file no.csv, which data.valid names"),
        (
            {"train": "x.csv", "valid_share": 0.0},
            ("train", "valid"),
            "data.valid names no file and data.valid_share is",
        ),
        ({"train": "x.csv"}, ("test",), "has no test data: data.test names no file and data.test_share is 0. Name one"),
        ({"train": "x.csv", "test_share": 0.1}, ("dev",), "have the splits train, valid, test; received 'dev'"),
    ],
)
def test_files_that_are_not_there_are_told_before_any_is_read(here, data, splits, message):
    with pytest.raises(ValueError, match=message):
        recipes.check_data(recipe(**data), splits)


def test_running_text_is_split_at_its_end(here):
    words = [f"word{number}" for number in range(400)]
    (here / "book.txt").write_text("\n".join(words), encoding="utf-8")
    data = {"corpus": "files", "train": "book.txt", "valid_share": 0.1, "test_share": 0.1}
    one = recipes.make({"name": "mine", "task": "continue", "data": data})
    parts = [recipes.read(one, split)[0][0] for split in ("train", "valid", "test")]
    assert "\n".join(words).startswith(parts[0].rstrip("\n")) and len(parts[0]) > 7 * len(parts[1]) > 0
    assert "".join(parts).split() == words, "nothing is lost, and the parts follow each other"


def files_of(task, home):
    """The `[data]` of a task, whose files are written in a format that people have them in."""
    backwards = [text[::-1] for text in TEXTS * 2]
    if task == "translate":
        for name, texts in (("train.de", TEXTS * 2), ("train.en", backwards)):
            (home / name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
        return {"train": ["train.de", "train.en"], "source_language": "de", "target_language": "en"}
    if task == "transduce":
        rows = zip(TEXTS * 2, (" ".join(text) for text in backwards), strict=True)
        (home / "x.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in rows), encoding="utf-8")
        return {"train": "x.tsv"}
    if task == "classify":
        write_csv(home / "x.csv", labelled())
        return {"train": "x.csv"}
    if task == "compare":
        pairs = zip(TEXTS, TEXTS[::-1], strict=True)
        rows = [{"premise": a, "hypothesis": b, "label": LABELS[i % 3]} for i, (a, b) in enumerate(pairs)]
        (home / "x.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
        return {"train": "x.jsonl"}
    if task in ("rate", "rate_pairs"):
        pairs = zip(TEXTS, TEXTS[::-1], strict=True)
        rows = [{"text": a, "first": a, "second": b, "score": i % 5 / 2} for i, (a, b) in enumerate(pairs)]
        own = ("text", "score") if task == "rate" else ("first", "second", "score")
        lines = [json.dumps({name: row[name] for name in own}) for row in rows]
        (home / "x.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return {"train": "x.jsonl"}
    if task == "tag":
        blocks = ["\n".join(f"{word}\t{word[0].upper()}" for word in text.split()) for text in TEXTS]
        (home / "x.conll").write_text("\n\n".join(blocks) + "\n", encoding="utf-8")
        return {"train": "x.conll"}
    (home / "book.txt").write_text("\n".join(TEXTS * 4), encoding="utf-8")
    return {"train": "book.txt"}


@pytest.mark.release(but="tag")
@pytest.mark.slow
@pytest.mark.parametrize("task", mostly_at_releases(sorted(TASKS.keys() - {"embed"}, reverse=True), 4))
def test_a_recipe_on_files_is_trained_evaluated_and_exported(task, tmp_path, monkeypatch, capsys):
    """By the commands, in the folder where recipe and files lie."""
    monkeypatch.chdir(tmp_path)
    training = {key: value for key, value in TRAINING.items() if task != "continue" or key != "num_buckets"}
    base = SETTINGS[task]
    data = {"corpus": "files", "test_share": 0.2, "valid_share": 0.2} | files_of(task, tmp_path)
    one = recipes.make({"name": "mine", "task": task} | base | {"data": data, "training": training})
    (tmp_path / "mine.toml").write_text(recipes.dumps(one), encoding="utf-8")
    assert cli.main(["train", "mine.toml"]) == 0
    assert capsys.readouterr().out.startswith("runs/mine: 2 steps in ")
    assert cli.main(["evaluate", "runs/mine", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["task"], found["split"]) == (task, "test") and found["count"] > 0
    names = [name for name in found if f"{name}_interval" in found]
    assert names and all(found[f"{name}_interval"][0] <= found[name] <= found[f"{name}_interval"][1] for name in names)
    card = json.loads((tmp_path / "runs" / "mine" / "data.json").read_text(encoding="utf-8"))
    assert card
    assert cli.main(["export", "runs/mine", "--split", "test", "--no-int8", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["parity_max_abs_diff"] <= 1e-4
    manifest = json.loads((tmp_path / report["path"] / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["task"].split()[0] == task
