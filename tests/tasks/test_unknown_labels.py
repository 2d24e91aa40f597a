"""Labels that a model cannot answer are named with the likely cause, and all of them are an error."""

import json

import pytest

from tests.tasks import runs
from tools import cli, evaluate
from zoo import recipes
from zoo.data.formats import Examples
from zoo.data.formats.unknown import alike_labels, mended_labels, say_unknown, unknown_labels
from zoo.recipes.card import find_untaught
from zoo.recipes.proposal import propose
from zoo.runs import evaluation
from zoo.runs.training import make_parts
from zoo.tasks import TASKS
from zoo.tasks.parts.task import Run

CAUSES = [
    ("1", "1.0", "the same number"),
    ("1,50", "1.5", "the same number"),
    ("\uff11", "1", "the same number"),
    ("True", "true", "capitals"),
    ("not good", "not_good", "spaces, _ or -"),
    ("pos\u00a0", "pos", "spaces, _ or -"),
    ("\ufeffpos", "pos", "a mark that nobody sees"),
    ("po\u200bs", "pos", "a mark that nobody sees"),
    ("\uff50\uff4f\uff53", "pos", "the width or form"),
    ("'pos'", "pos", "quotation marks"),
    ("\u201cNot Good\u201d", "not-good", "spaces, capitals or marks"),
    ("yes", "true", "another word for yes or no"),
    ("1", "True", "another word for yes or no"),
    ("S-PER", "B-PER", "another scheme of tags"),
    ("B-PER", "PER", "another scheme of tags"),
    ("PER", "I-PER", "another scheme of tags"),
    ("sport", "sports", "much alike"),
    ("water", "fire", ""),
]


@pytest.mark.parametrize(("label", "known", "cause"), CAUSES)
def test_the_likely_cause(label, known, cause):
    (found,) = unknown_labels([known, "other", "O"], [label, "other", label])
    assert (found["label"], found["count"], found["nearest"]) == (label, 2, known if cause else "")
    assert cause in found["cause"] and bool(found["cause"]) is bool(cause)
    said = say_unknown([found], [known, "other", "O"])
    assert said.startswith(f"{label!r} (2 times") and f"the model has {known!r}" in said


UNSURE = ("spaces, capitals or marks", "another word", "another scheme", "much alike", "")


@pytest.mark.parametrize(("label", "known", "cause"), CAUSES)
def test_only_what_is_surely_the_same_label_is_mended(label, known, cause):
    found = mended_labels([known, "other", "O"], [label, "other"])
    sure = not any(cause.startswith(each) for each in UNSURE[:-1]) and cause != ""
    assert {one: other for one, (other, _) in found.items()} == ({label: known} if sure else {})


def test_a_label_that_could_be_either_of_two_is_not_mended():
    assert mended_labels(["Spam", "SPAM", "ham"], ["spam", "Ham", "1"]) == {"Ham": ("ham", "which differs by capitals")}
    assert mended_labels(["1", "1.0"], ["1.00"]) == {}


def test_known_labels_are_none_and_many_are_counted():
    assert unknown_labels(["a", "b"], ["a", "b", "a"]) == []
    many = unknown_labels(["a"], [f"label {at}" for at in range(9) for _ in range(at + 1)])
    assert [each["count"] for each in many] == list(range(9, 0, -1))
    assert "and 4 more; the model has 'a'" in say_unknown(many, ["a"])


def answered(task, labels, answers, outputs, monkeypatch, **changes):
    """The scores of a run that answers `outputs`, whatever it is asked."""
    job = TASKS[task]
    settings = {"name": "own", "task": task, **runs.SETTINGS[task], "data": {"corpus": "files", "train": "a.tsv"}}
    monkeypatch.setattr(
        type(job), "predict", lambda self, run, texts, progress=None: (outputs, [1.0] * len(outputs), 0)
    )
    run = Run(recipes.make(settings | changes), None, (), tuple(labels))
    return job.evaluate(run, ([f"text {at}" for at in range(len(answers))], answers)).scores


@pytest.mark.parametrize("task", ["classify", "compare"])
def test_labels_that_are_all_unknown_are_an_error(task, monkeypatch):
    with pytest.raises(ValueError) as refused:
        answered(task, ["0.0", "1.0"], ["1", "0", "1"], ["1.0"] * 3, monkeypatch)
    assert "cannot answer any label of the 3 examples: '1' (2 times; the model has '1.0', the same number)" in str(
        refused.value
    )
    with pytest.raises(ValueError, match="cannot answer any label of the 1 example: 'x'"):
        answered(task, ["0.0", "1.0"], ["x"], ["1.0"], monkeypatch)


def test_labels_that_are_known_in_part_are_counted_and_said(monkeypatch):
    found = answered("classify", ["0.0", "1.0"], ["1", "0.0", "1.0"], ["1.0", "0.0", "1.0"], monkeypatch)
    assert found["unknown_labels"] == [{"label": "1", "count": 1, "nearest": "1.0", "cause": "the same number"}]
    json.dumps(found, allow_nan=False)
    said = evaluate._table("own", found | {"split": "test"})
    assert "labels that the model cannot answer, 1 in all: '1' (1 time; the model has '1.0', the same number)" in said
    assert "unknown_labels" not in answered("classify", ["a", "b"], ["a", "b"], ["a", "a"], monkeypatch)


def test_the_label_of_texts_out_of_scope_can_be_answered(monkeypatch):
    scope = {"label": "oos", "threshold": True, "trained": False}
    found = answered("classify", ["a", "b"], ["a", "oos"], ["a", "oos"], monkeypatch, scope=scope)
    assert "unknown_labels" not in found and found["accuracy"] == 100


def test_tags(monkeypatch):
    found = answered("tag", ["B-PER", "I-PER", "O"], ["S-PER O", "- O"], ["B-PER O", "O O"], monkeypatch)
    assert [(each["label"], each["nearest"]) for each in found["unknown_labels"]] == [("-", ""), ("S-PER", "B-PER")]
    said = evaluate._table("own", found | {"split": "test"})
    assert "no entity F1: the tag '-' of the references is of no scheme (first in sentence 2)" in said
    assert "labels that the model cannot answer, 2 in all" in said
    plain = answered("tag", ["PER", "O"], ["PER PER O", "O O O"], ["PER PER O", "O PER O"], monkeypatch)
    assert "entities are runs of one tag" in evaluate._table("own", plain | {"split": "test"})


def examples(answers):
    return Examples("labelled", [f"text {at}" for at in range(len(answers))], answers)


def test_training_is_told_before_it_begins():
    job = TASKS["classify"]
    recipe = recipes.make({"name": "own", "task": "classify", **runs.SETTINGS["classify"], "data": {"corpus": "files"}})
    train, other = examples(["1.0", "0.0"]), examples(["1", "0"])
    assert find_untaught(job, recipe, {"train": train, "valid": train, "test": train}) == []
    (said,) = find_untaught(job, recipe, {"train": train, "valid": train, "test": other})
    assert said.startswith(
        "test: labels that the training does not have: '0' (1 time; the training has '0.0', the same"
    )
    with pytest.raises(ValueError, match="valid: labels .*It has none of the validation's"):
        find_untaught(job, recipe, {"train": train, "valid": other})
    (said,) = find_untaught(job, recipe, {"train": train, "valid": examples(["1.0", "rare"])})
    assert said.startswith("valid: labels that the training does not have: 'rare' (1 time")


def test_new_says_it_too(tmp_path, capsys):
    for name, labels in {"train": ("1.0", "0.0"), "valid": ("1.0", "0.0"), "test": ("1", "0")}.items():
        rows = "".join(
            f"{word} {at},{label}\n" for at in range(20) for word, label in zip(("good", "bad"), labels, strict=True)
        )
        (tmp_path / f"{name}.csv").write_text("text,label\n" + rows)
    files = [str(tmp_path / f"{name}.csv") for name in ("train", "valid", "test")]
    notes = propose("classify", files, "own")[1]
    assert "test: labels '1', read as the training's '1.0', the same number: 20" in notes
    off, notes = propose("classify", files, "own", ['data.rules_off=["labels"]'])
    assert off["data"]["rules_off"] == ["labels"] and "rules of mending that are off: labels" in notes
    assert any(note.startswith("test: labels that the training does not have: '0' (20 times") for note in notes)
    card = make_parts(recipes.make(off)).card
    assert card["rules_off"] == ["labels"] and card["splits"]["test"]["labels"] == {"1": 20, "0": 20}
    rows = (tmp_path / "test.csv").read_text().replace(",1\n", ", few \n").replace("good 7, few ", "good 6,1")
    (tmp_path / "test.csv").write_text(rows)
    assert cli.main(["new", "classify", *files[:1], files[2], "--out", str(tmp_path / "own.toml")]) == 0
    told = capsys.readouterr().err
    assert "test: labels that the training does not have: 'few' (19 times)" in told
    assert "test: labels with spaces around them, which were removed: 19\n" in told
    assert "test: labels '0', read as the training's '0.0', the same number: 20\n" in told
    assert "test: inputs that come with several different answers: 1\n" in told
    parts = make_parts(recipes.load(str(tmp_path / "own.toml")))
    assert parts.labels == ("0.0", "1.0") and parts.card["splits"]["test"]["labels"] == {"0.0": 20, "few": 19, "1.0": 1}
    assert "labels '0', read as the training's '0.0', the same number: 20" in parts.card["splits"]["test"]["notes"]
    assert len(parts.card["untaught"]) == 1 and "'few' (19 times)" in parts.card["untaught"][0]


ONES = [("1", "1.0"), ("-3", "-3.0"), ("pos", "\ufeffpos"), ("neg", "ne\u200bg"), ("caf\u00e9", "cafe\u0301")]
TWO = [("1.1", "1.10", "the same number"), ("7", "007", "the same number"), ("May", "may", "capitals")]
TWO += [
    ("1", "True", "another word for yes or no"),
    ("new york", "new_york", "spaces, _ or -"),
    ("'a'", "a", "quotation"),
]


@pytest.mark.parametrize("kept, other", ONES)
def test_a_training_that_writes_a_label_in_two_ways_has_one(tmp_path, kept, other):
    """Two files of which pandas had numbers in one, and numbers and gaps in the other: each was a label of its own."""
    labels = [kept, "x", other, kept, "x"] * 20
    (tmp_path / "a.csv").write_text("text,label\n" + "".join(f"t {at},{each}\n" for at, each in enumerate(labels)))
    settings, notes = propose("classify", [str(tmp_path / "a.csv")], "own")
    assert f"2 labels: {kept} 60, x 40" in notes and any(f"read as the training's '{kept}'" in each for each in notes)
    parts = make_parts(recipes.make(settings))
    assert set(parts.labels) == {kept, "x"} and not parts.card["untaught"]
    off = propose("classify", [str(tmp_path / "a.csv")], "own", ['data.rules_off=["labels"]'])[0]
    assert set(make_parts(recipes.make(off)).labels) == {kept, other, "x"}


@pytest.mark.parametrize("one, other, cause", TWO)
def test_labels_of_a_training_that_may_be_two_are_told_and_stay(tmp_path, one, other, cause):
    rows = "".join(f"t {at},{label}\n" for at in range(40) for label in (one, other, "x"))
    (tmp_path / "a.csv").write_text("text,label\n" + rows)
    settings, notes = propose("classify", [str(tmp_path / "a.csv")], "own")
    assert len(make_parts(recipes.make(settings)).labels) == 3
    (said,) = [each for each in notes if each.startswith("labels that may be one: ")]
    assert repr(one) in said and repr(other) in said and cause in said and "'x'" not in said


def test_tags_of_quotation_marks_are_different(tmp_path):
    """`` and '' of the Penn treebank are nothing without quotation marks."""
    assert mended_labels(["``", "X"], ["''"]) == {} and not alike_labels(["``", "''", "-", "_", "--"])


def test_of_many_labels_a_few_are_told():
    job, upper = TASKS["classify"], [f"LABEL {at}" for at in range(9)]
    recipe = recipes.make({"name": "own", "task": "classify", **runs.SETTINGS["classify"], "data": {"corpus": "files"}})
    found = job.mend_labels(recipe, examples(upper), [each.lower() for each in upper])
    assert found.answers == [each.lower() for each in upper]
    assert len(found.notes) == 6 and found.notes[-1] == "4 more labels, read as the training's likewise"


def test_an_evaluation_reads_labels_as_the_training_wrote_them(tmp_path, monkeypatch):
    (tmp_path / "test.tsv").write_text("good 1\t1\nbad 1\t0.0\ngood 2\tother\n")
    own = {"corpus": "files", "test": str(tmp_path / "test.tsv"), "columns": {"text": 1, "label": 2, "header": False}}
    recipe = recipes.make({"name": "own", "task": "classify", **runs.SETTINGS["classify"], "data": own})
    monkeypatch.setattr(type(recipe.job), "predict", lambda *_: (["1.0", "0.0", "1.0"], [0.9] * 3, 0))
    told = []
    found = evaluation(Run(recipe, None, (), ("0.0", "1.0")), "test", log=told.append)
    assert found.references == ["1.0", "0.0", "other"] and found.scores["accuracy"] == pytest.approx(200 / 3)
    assert told == ["test: labels '1', read as the training's '1.0', the same number: 1"]


def test_variants_are_asked_once_and_the_nearest_counts(tmp_path):
    """Through the recipe: the training reads every pronunciation, the test has both of them as right."""
    (tmp_path / "own.dict").write_text(
        "tomato T AH0 M EY1\ntomato(2) T AH0 M AA1\nable EY1 B AH0 L\nable EY1 B AH0 L\n"
    )
    own = {"corpus": "files", "train": str(tmp_path / "own.dict"), "test": str(tmp_path / "own.dict")}
    recipe = recipes.make({"name": "own", "task": "transduce", **runs.WRITER, "data": own})
    inputs, answers = recipes.read(recipe, "test")
    assert inputs == ["tomato", "able", "able"]
    assert answers == [["T AH0 M EY1", "T AH0 M AA1"], "EY1 B AH0 L", "EY1 B AH0 L"]
    assert len(recipe.job.examples(recipe, "train", train_examples=recipe.job.examples(recipe, "test"))) > 0
    found = recipe.job.assess(recipe, inputs, ["T AH0 M AA1", "EY1 B AH0 L", "EY1"], answers).scores
    assert (found["count"], found["several_answers"]) == (3, 1) and found["exact_match"] == pytest.approx(200 / 3)
