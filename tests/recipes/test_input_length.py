"""Texts to label are read up to a number of tokens: in training, in validation and in evaluation, and counted."""

import json

import pytest

from tests.recipes.small import recipe, write_corpus
from zoo import recipes
from zoo.recipes import corpora
from zoo.recipes.data import first_tokens, make_data
from zoo.recipes.stored import read_stored


@pytest.mark.parametrize(
    ("words", "most", "expected"),
    [
        ([[1, 2], [3], [4, 5]], 0, [[1, 2], [3], [4, 5]]),
        ([[1, 2], [3], [4, 5]], 5, [[1, 2], [3], [4, 5]]),
        ([[1, 2], [3], [4, 5]], 4, [[1, 2], [3], [4]]),
        ([[1, 2], [3], [4, 5]], 3, [[1, 2], [3]]),
        ([[1, 2, 3, 4]], 2, [[1, 2]]),
        ([], 2, []),
    ],
)
def test_the_first_tokens_are_kept(words, most, expected):
    assert first_tokens(words, most) == expected


@pytest.mark.parametrize("model", ["classifier", "tagger"])
def test_no_batch_is_longer_and_each_cut_text_is_counted(model, tmp_path):
    one, whole = (recipe(model, max_input_length=most, subword_candidates=1, max_length=0) for most in (3, 0))
    data = write_corpus(one, tmp_path / "data")
    cut, uncut = make_data(one, data), make_data(whole, data)
    for split in ("train", "valid"):
        short, long = getattr(cut, split), getattr(uncut, split)
        lengths = [length for batch in long for length in batch["lengths"]]
        assert short.cut == sum(length > 3 + 1 for length in lengths) > 0 and long.cut == 0  # with EOS
        assert max(batch["lengths"].max() for batch in short) == 3 + 1
        assert short.shapes == [(4,)]


@pytest.mark.slow
@pytest.mark.parametrize("model", ["classifier", "tagger"])
def test_training_and_evaluation_say_how_many_were_cut(model, tmp_path):
    one = recipe(model, max_input_length=3, steps=2, max_length=0)
    data, said = write_corpus(one, tmp_path / "data"), []
    summary = recipes.train(one, tmp_path / "run", data, log=said.append)
    assert f"{summary['cut']['train']} training texts are read up to max_input_length=3 tokens" in said
    run, labels = recipes.open_run(tmp_path / "run"), recipes.open_labels(tmp_path / "run")
    texts, answers = corpora.read(one, "test", data)
    scores, outputs = recipes.evaluate(run, labels, "test", data)
    assert 0 < scores["cut"] <= len(texts)
    if model == "tagger":
        assert [len(output.split(" ")) for output in outputs] == [len(text.split(" ")) for text in texts]
        assert any("_" in output.split(" ") for output in outputs)
    assert json.loads((tmp_path / "run" / "training.json").read_text())["cut"] == summary["cut"]


def test_runs_of_earlier_versions_read_whole_texts(tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text(recipes.dumps(recipe("tagger")).replace("max_input_length = 512\n", ""))
    assert read_stored(path).max_input_length == 0
    assert recipes.load(path).max_input_length == 512
    path.write_text(recipes.dumps(recipe()).replace("max_input_length = 512\n", ""))
    assert read_stored(path) == recipe()  # of a model that labels nothing the setting stays as it is
