"""`zoo.train`, `zoo.evaluate`, `zoo.open` and `export_run`: the commands of the same names, from Python."""

import json
import tomllib

import keras
import pytest

import zoo
from tests.runs.at_once import check_told_at_once
from zoo import recipes, runs
from zoo.runs import python
from zoo.tasks.parts.task import Run

TINY = {
    "data": {"train_size": 40, "valid_size": 8, "test_size": 9},
    "model": {"units": 8},
    "training": {"steps": 2, "validate_every": 1, "warmup": 0, "batch_size": 4, "num_buckets": 1},
    "search": {"beam": 1, "max_output_length": 6},
}


LABELLED = {"name": "x", "task": "classify"}


def test_a_recipe_may_be_a_name_a_file_a_dict_or_a_recipe(tmp_path):
    named = recipes.load("reversal-gru-none", [TINY])
    assert (named.model.units, named.data.longest) == (8, 20)
    path = tmp_path / "own.toml"
    path.write_text(recipes.dumps(named), encoding="utf-8")
    assert recipes.load(path) == recipes.load(named) == named
    assert recipes.load(tomllib.loads(path.read_text(encoding="utf-8"))) == named
    assert recipes.load({"extends": "reversal-gru-none", "name": "reversal-gru-none"}, [TINY]) == named


def test_a_dict_extends_files_of_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.toml").write_text('extends = "reversal-gru-none"\n[model]\nunits = 9\n')
    settings = {"extends": "base", "training": {"steps": 7, "warmup": 0}, "attention": "additive"}
    found = recipes.load(settings, ["training.seed=3"])
    assert (found.model.units, found.training.steps, found.training.seed) == (9, 7, 3)
    assert found.attention.layer == "additive" and "extends" in settings  # what is given is left as it is


@pytest.mark.slow(but=4)
@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("zoo.train('dates-gru')", "unknown recipe 'dates-gru'. Did you mean"),
        ("zoo.train('none.toml')", "there is no recipe none.toml"),
        ("zoo.train({'name': 'x'})", "the recipe lacks task, what the model does: one of classify"),
        ("zoo.train({'extends': 'dates-gru'})", "this recipe extends 'dates-gru', and there is no recipe"),
        ("zoo.train('trec-star')", "name their directory"),
        ("zoo.train('trec-star', settings={'training': {'step': 3}})", "Did you mean 'steps'?"),
        ("zoo.train('trec-star', settings='training.steps=many')", "training.steps must be a whole number"),
        ("zoo.train('trec-star', settings=['training.steps=3', 'training.warmup=4'])", "needs more steps than those"),
        ("zoo.train('trec-star', 'nowhere')", "there is no directory nowhere"),
        ("zoo.train('trec-star', [('a', 'b')])", "recipe trec-star has a corpus of its own, 'trec'"),
        ("zoo.train({'name': 'x', 'task': 'classify'}, [('a', None)])", "All are left out: examples without a label"),
        ("zoo.evaluate('nowhere')", "nowhere is not a finished run: there is no such folder"),
        ("zoo.open('nowhere')", "nowhere is not a finished run"),
    ],
)
def test_what_is_wrong_is_told_before_a_framework_is_imported(code, message):
    check_told_at_once(code, message)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: zoo.train(None), "expected a recipe's name, .*; received None"),
        (lambda: zoo.train(LABELLED, 3), r"train: expected .*, a list of \(text, label\); received 3"),
        (lambda: zoo.train(LABELLED, {"train": [("a", "b")], "valid": None}), "valid: expected .*; received None"),
        (lambda: zoo.train(LABELLED, imports="not_there"), "The module 'not_there' was not found"),
        (lambda: zoo.train(LABELLED, settings=3), "settings must be a dict of tables, .*; received 3"),
        (lambda: zoo.train(LABELLED, imports=3), "imports must be the names of modules; received 3"),
        (lambda: zoo.train(LABELLED, out=3), "out must be the path of a folder; received 3"),
        (lambda: zoo.train(LABELLED, resume="state.npz"), "resume must be True or False; .* received 'state.npz'"),
        (lambda: zoo.train(LABELLED, log=3), "log must be a function that takes a line, or None; received 3"),
        (lambda: zoo.evaluate("run", limit="3"), "limit must be a whole number, or None for all; received '3'"),
        (lambda: zoo.evaluate("run", beams=2.5), "beams must be a whole number, .*; received 2.5"),
        (
            lambda: zoo.evaluate(Run(recipes.make(LABELLED), None, ()), beams=4),
            "scored without a search, which beams would change",
        ),
        (lambda: zoo.evaluate(object()), "expected a Run, .* or its directory; received <object"),
        (lambda: zoo.open(3), "expected a Run, .* or its directory; received 3"),
    ],
)
def test_values_of_another_kind(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_callback_that_is_in_no_list_leaves_no_run(tmp_path):
    """The same call with a list then trains."""
    examples = [(f"{word} {number}", word) for word in ("red", "blue") for number in range(20)]
    for callbacks, message in ((keras.callbacks.EarlyStopping(), "must be a list, such as"), ([3], "Received: 3")):
        with pytest.raises(ValueError, match=message):
            zoo.train(LABELLED, examples, tmp_path / "run", callbacks=callbacks)
    assert not any(tmp_path.iterdir())


def test_examples_may_come_one_after_the_other():
    texts, labels = ("red 1", "blue 2"), ("red", "blue")
    found = python._check_examples(recipes.load(LABELLED), zip(texts, labels, strict=True), "train")
    assert (found["train"].inputs, found["train"].answers) == ([*texts], [*labels])


def test_a_string_of_several_lines_is_a_running_text(tmp_path):
    recipe = recipes.load({"name": "x", "task": "continue"})
    text = "one two three\n" * 400  # longer than a path may be
    assert python._check_examples(recipe, text, "test")["test"].inputs == [text]
    assert python._check_examples(recipe, str(tmp_path), "test") == str(tmp_path)
    with pytest.raises(ValueError, match="holds a run already"):
        (tmp_path / "recipe.toml").touch()
        zoo.train(recipe, text, tmp_path)


def test_names_that_are_not_there():
    import serving

    for module in (zoo, serving):
        with pytest.raises(AttributeError, match="has no attribute 'trian'"):
            module.trian  # noqa: B018
    assert {"train", "evaluate", "open", "register"} <= set(dir(zoo))


def test_a_file_that_is_given_is_trained_on_and_cut(tmp_path):
    """It takes the place of `data.train`: nothing is validated on what was trained on, and the run says what it was."""
    from zoo.tasks.parts import corpora

    (tmp_path / "own.csv").write_text("text,label\n" + "".join(f"{number},{number % 2}\n" for number in range(50)))
    base = {"name": "own", "task": "classify", "data": {"corpus": "files", "test_share": 0.2}}
    for given in ({}, {"data": {"train": "other.csv"}}):
        found, place = corpora.training_data(recipes.load(base, [given]), tmp_path / "own.csv")
        assert place is None and found.data.train == str(tmp_path / "own.csv")
        parts = [recipes.read(found, split, place)[0] for split in ("train", "valid", "test")]
        assert sorted(sum(parts, [])) == sorted(map(str, range(50))) and all(parts)
    named = recipes.load(base, [{"data": {"train": "own.csv"}}])
    assert corpora.training_data(named, tmp_path) == (named, tmp_path)


@pytest.mark.slow
def test_from_a_recipe_to_the_runtime(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = []
    run = zoo.train("reversal-gru-none", settings=TINY, log=lines.append)
    assert run.directory.as_posix() == "runs/reversal-gru-none" and lines[0].startswith("reading the data")
    assert run.model.count_params() == json.loads((run.directory / "training.json").read_text())["parameters"]

    scores = zoo.evaluate(run)
    assert scores == zoo.evaluate("runs/reversal-gru-none") and zoo.open(run) is run
    assert (scores["task"], scores["split"], scores["count"]) == (run.recipe.task, "test", 9)
    assert zoo.evaluate(run, split="valid", beams=2, limit=3)["count"] == 3
    for limit in (0, -1):
        with pytest.raises(ValueError, match=f"limit must be a number of examples, at least 1.*; received {limit}"):
            zoo.evaluate(run, limit=limit)
    assert not (run.directory / "scores.json").exists()
    with pytest.raises(ValueError, match="received 'dev'"):
        zoo.evaluate(run, split="dev")
    with pytest.raises(ValueError, match="holds a run already"):
        zoo.train("reversal-gru-none", settings=TINY)

    from serving import Runtime
    from serving.export import export_run

    path = export_run(run, name="backwards", int8=False)
    assert path.as_posix() == "artefacts/backwards/1"
    expected = runs.translate(run, ["a b c", "q"])
    assert [each.text for each in Runtime(path).run(["a b c", "q"])] == expected


@pytest.mark.release
def test_a_run_that_compares_is_exported(tmp_path):
    """Its examples are pairs, also where they are made of the vocabulary, and so are those that int8 is scored on."""
    from serving import Runtime
    from serving.export import export_run
    from serving.runtime.artefact import read_manifest

    rows = [(f"{a} {b}", f"{b} {a}", "same" if a == b else "other") for a in "abcde" for b in "abcde"]
    data = tmp_path / "pairs.tsv"
    data.write_text("first\tsecond\tlabel\n" + "".join("\t".join(row) + "\n" for row in rows))
    settings = {"name": "pairs", "task": "compare", "data": {"corpus": "files", "train": str(data)}}
    settings |= {"text": {"pieces": "char", "vocab_size": 12}, "model": {"kind": "recurrent", "units": 6}}
    run = zoo.train(settings, out=tmp_path / "run", settings={"training": TINY["training"]})
    assert zoo.evaluate(run, data)["count"] == 25
    path = export_run(run, tmp_path, data=data)
    assert read_manifest(path)["int8"]["texts"] == 25
    (answer,) = Runtime(path).run(["a b\tb a"])
    assert answer.label in ("same", "other")
