"""Texts to label are read up to a number of tokens: in training, in validation and in evaluation, and counted."""

import json

import pytest

from tests.recipes.small import recipe, write_corpus
from zoo import recipes, runs
from zoo.runs.training import _describe_cuts, make_parts
from zoo.tasks.parts.vocabularies import first_tokens


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
    text, training = {"noise": {"candidates": 1}}, {"max_length": 0}
    one, whole = (recipe(model, text=text | {"max_input_length": most}, training=training) for most in (3, 0))
    data = write_corpus(one, tmp_path / "data")
    cut, uncut = make_parts(one, data), make_parts(whole, data)
    for split in ("train", "valid"):
        short, long = getattr(cut, split), getattr(uncut, split)
        lengths = [length for batch in long for length in batch["lengths"]]
        assert short.cut == sum(length > 3 + 1 for length in lengths) > 0 and long.cut == 0  # with EOS
        assert max(batch["lengths"].max() for batch in short) == 3 + 1
        assert short.shapes == [(4,)]


def test_examples_that_are_too_long_to_be_trained_on_are_told():
    """The others of a translator's examples; those of the validation stay, however long they are."""
    one = recipe(training={"max_length": 5})
    parts = make_parts(one)
    lengths = [len(text.split()) + 1 for text in recipes.read(one, "train")[0]]  # with EOS
    left_out = sum(length > 5 for length in lengths)
    assert 0 < left_out < len(lengths)
    assert list(_describe_cuts(one, parts)) == [
        f"{left_out} training examples are left out: longer than training.max_length=5 tokens"
    ]
    assert not list(_describe_cuts(recipe(), make_parts(recipe())))


@pytest.mark.release(but=1)
@pytest.mark.slow
@pytest.mark.parametrize("model", ["classifier", "tagger"])
def test_training_and_evaluation_say_how_many_were_cut(model, tmp_path):
    one = recipe(model, text={"max_input_length": 3}, training={"steps": 2, "max_length": 0})
    data, said = write_corpus(one, tmp_path / "data"), []
    summary = runs.train(one, tmp_path / "run", data, log=said.append)
    assert f"{summary['cut']['train']} training texts are read up to text.max_input_length=3 tokens" in said
    texts, _ = recipes.read(one, "test", data)
    scores, outputs = runs.evaluate(runs.open_run(tmp_path / "run"), "test", data)
    assert 0 < scores["cut"] <= len(texts)
    if model == "tagger":
        assert [len(output.split(" ")) for output in outputs] == [len(text.split(" ")) for text in texts]
        assert any("_" in output.split(" ") for output in outputs)
    assert json.loads((tmp_path / "run" / "training.json").read_text())["cut"] == summary["cut"]


def test_only_models_that_label_have_a_longest_input():
    """What writes reads a text whole; and 0 reads all."""
    assert recipe("tagger", text={"max_input_length": 0}).text.max_input_length == 0
    for model in ("seq2seq", "transformer", "language_model"):
        with pytest.raises(ValueError, match="text has no setting 'max_input_length'"):
            recipe(model, text={"max_input_length": 9})
