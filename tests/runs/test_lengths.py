"""Texts that are longer than a model has positions for are told with what to set; those to label are cut, counted."""

import json

import numpy as np
import pytest

from tests.recipes.small import recipe, write_corpus
from zoo import recipes, runs
from zoo.runs import training
from zoo.runs.training import _describe_cuts, make_parts
from zoo.tasks.parts import answering
from zoo.tasks.parts.answering import translate
from zoo.tasks.parts.building import build_model
from zoo.tasks.parts.task import Run
from zoo.tasks.parts.vocabularies import first_tokens

BOUNDED = {
    "positions.max_positions": ["positions.layer=learned", "positions.max_positions=8"],
    "model.context": ["positions.layer=axial", "positions.columns=4", "model.context=8"],
    "attention.max_time": ["attention.layer=multi_linear", "attention.max_time=8", "attention.rank=2"],
}
LONG = ["data.shortest=9", "data.longest=9"]  # 10 tokens, and batches of 12
ONE_STEP = {"steps": 1, "validate_every": 1, "average": 1}


@pytest.mark.parametrize("setting", BOUNDED)
def test_texts_beyond_the_positions_are_refused_in_words(setting):
    one = recipe("transformer", *BOUNDED[setting])
    short, long = (training.make_parts(recipe("transformer", *BOUNDED[setting], *more)) for more in ([], LONG))
    model = training.build_with_precision(one, short.sizes, "float32")
    answering.check_lengths(one, model, {"training": short.train, "validation": short.valid})
    told = "has texts of up to 12 tokens, and the model has positions for 8. Set"
    with pytest.raises(ValueError, match=f"the training {told} {setting} to 12 or more, .*training.max_length"):
        answering.check_lengths(one, model, {"training": long.train, "validation": short.valid})
    with pytest.raises(ValueError, match=f"the validation {told} {setting} to 12 or more, or shorten the texts"):
        answering.check_lengths(one, model, {"training": short.train, "validation": long.valid})


def test_a_model_without_a_bound_reads_any_text():
    one = recipe("transformer", *LONG)
    parts = training.make_parts(one)
    answering.check_lengths(one, training.build_with_precision(one, parts.sizes, "float32"), {"training": parts.train})


def test_it_is_told_before_the_first_step_and_nothing_is_left(tmp_path, monkeypatch):
    monkeypatch.setattr("zoo.training.fit", lambda *_: pytest.fail("the training has begun"))
    long = recipe("transformer", *BOUNDED["positions.max_positions"], *LONG)
    with pytest.raises(ValueError, match="Set positions.max_positions to 12 or more"):
        runs.train(long, tmp_path / "run", log=len)
    written = recipe("transformer", *BOUNDED["positions.max_positions"], "search.max_output_length=9")
    with pytest.raises(
        ValueError, match=r"max_output_length=9 is more than the 8 positions of the model.*Set it to 8 or less"
    ):
        runs.train(written, tmp_path / "run", log=len)
    assert not list(tmp_path.iterdir())


def test_sentences_that_an_embedding_gathers_are_not_tokens(tmp_path):
    """A text of 24 tokens has eight sentences at most, for which there are positions: what counts is the model."""
    one = recipe("stories", "positions.layer=concatenated", "positions.max_positions=12", "positions.columns=2")
    parts = training.make_parts(one, write_corpus(one, tmp_path / "data"))
    model = training.build_with_precision(one, parts.sizes, "float32")
    assert answering.max_tokens(model) == 12 < max(parts.train.shapes[-1])
    answering.check_lengths(one, model, {"training": parts.train})


def test_continuations_that_are_cut_are_told():
    one = recipe("language_model", "positions.layer=learned", "positions.max_positions=10")
    (note,) = answering.describe_lengths(one, build_model(one.job, one, 9))
    assert "at most 5 of the 6 tokens of search.max_output_length" in note and "positions for 10" in note
    roomy = recipe("language_model", "positions.layer=learned", "positions.max_positions=12")
    assert not list(answering.describe_lengths(roomy, build_model(roomy.job, roomy, 9)))


@pytest.mark.slow
def test_a_search_reads_what_fits_and_names_what_does_not():
    """Seven positions: sources are padded to no more, and one of eight tokens is refused before any is searched."""
    one = recipe("transformer", "positions.layer=learned", "positions.max_positions=7")
    parts = training.make_parts(one)
    run_of = Run(one, training.build_with_precision(one, parts.sizes, "float32"), parts.tokenizers, ())
    words = parts.examples[0][0].split()
    fits = " ".join(np.resize(words, 6))
    assert len(translate(run_of, [fits, words[0]])) == 2
    with pytest.raises(ValueError, match="a text has 8 tokens, and the model has positions for 7.*Leave out"):
        translate(run_of, [fits, f"{fits} {words[0]}"])


@pytest.mark.slow
def test_a_test_that_is_longer_is_told_before_any_answer(tmp_path):
    one = recipe("classifier", "positions.layer=concatenated", "positions.max_positions=16", "positions.columns=2",
                 training=ONE_STEP)  # fmt: skip
    data = write_corpus(one, tmp_path / "data")
    parts = training.make_parts(one, data)
    run_of = Run(one, training.build_with_precision(one, parts.sizes, "float32"), parts.tokenizers, parts.labels)
    with pytest.raises(ValueError, match=r"the data has texts .* positions for 16.*text.max_input_length"):
        one.job.predict(run_of, [parts.examples[0][0] * 9], lambda done: pytest.fail("a text was answered"))


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
