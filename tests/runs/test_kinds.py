"""A run of each kind of model that is no seq2seq: what it leaves behind, that it goes on, and what it scores."""

import json
import math

import numpy as np
import pytest

from tests.recipes.small import KINDS, recipe, write_corpus
from zoo import recipes, runs
from zoo.data import first_pieces
from zoo.tasks.parts import corpora
from zoo.tasks.parts.building import build_model
from zoo.text import BOS, EOS, PAD, sentence_ends

ELSEWHERE = ("seq2seq", "stories")  # have tests of their own
OFTEN = ("transformer", "language_model", "classifier", "pairs", "tagger")  # the others at releases


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=[pytest.mark.slow] if name in OFTEN else [pytest.mark.slow, pytest.mark.release])
        for name in KINDS
        if name not in ELSEWHERE
    ],
)
def kind(request, tmp_path_factory):
    """(run directory, summary, recipe, data directory); the training was stopped half-way and went on."""
    one, directory = recipe(request.param), tmp_path_factory.mktemp("run")
    data = write_corpus(one, directory / "data")
    runs.train(recipe(request.param, "training.steps=2"), directory / "small", data)
    return directory / "small", runs.train(one, directory / "small", data, resume=True), one, data


def made(one, *sizes):
    return build_model(one.job, one, *sizes)


def weights(model):
    return [np.array(variable.value, copy=None) for variable in model.trainable_variables]


@pytest.mark.release(but=1)
def test_the_directory_is_complete(kind):
    directory, summary, one, data = kind
    files = {path.name for path in directory.iterdir()}
    expected = {"recipe.toml", "source.spm", "checkpoint", "metrics.csv", "model.keras"}
    expected |= {"training.json", "data.json"}
    expected |= {"target.spm"} if one.task in ("translate", "transduce") else set()
    expected |= {"labels.json"} if one.task in ("classify", "compare", "tag") else set()
    assert files - {"tensorboard"} == expected
    assert recipes.load(directory / "recipe.toml") == one
    assert json.loads((directory / "training.json").read_text()) == summary
    assert summary["steps"] == 4 and summary["parameters"] > 0
    assert summary["data_sha256"] == corpora.digest(*recipes.read(one, "train", data))


@pytest.mark.release(but=1)
def test_a_run_opens_as_it_was_saved(kind):
    directory, summary, one, _ = kind
    run = runs.open_run(directory)
    sizes = [tokenizer.vocab_size for tokenizer in run.tokenizers]
    assert (run.recipe, sizes, len(run.labels)) == (one, summary["vocabularies"], summary["labels"])
    assert run.model.count_params() == summary["parameters"]
    assert [part.name for part in run.model.signatures()][0] == "serving_default"
    if one.task == "translate":
        assert one.text.shared and run.tokenizers[0].model_bytes == run.tokenizers[1].model_bytes


@pytest.mark.release(but="language_model")
@pytest.mark.slow
def test_a_run_goes_on_where_it_was(kind, tmp_path):
    directory, _, one, data = kind
    runs.train(one, tmp_path / "whole", data)
    for whole, halves in zip(
        *(weights(runs.open_run(path).model) for path in (tmp_path / "whole", directory)), strict=True
    ):
        np.testing.assert_array_equal(whole, halves)


@pytest.mark.release(but=1)
def test_evaluation_of_each_kind(kind):
    directory, _, one, data = kind
    run, done = runs.open_run(directory), []
    split, labels = recipes.last_split(one), run.labels
    scores, outputs = runs.evaluate(run, split, data, progress=lambda n, total: done.append((n, total)))
    inputs, answers = recipes.read(one, split, data)
    if one.task == "continue":
        found = nats(run, inputs[0]) if one.data.corpus == "text" else nats_of_completions(run, inputs, answers)
        assert outputs == [] and scores["nats_per_character"] == pytest.approx(found, rel=1e-4)
        return
    assert done[-1] == (len(inputs), len(inputs)) and len(outputs) == len(inputs)
    if one.task == "transduce":
        wrong = [one != other for one, other in zip(outputs, answers, strict=True)]
        assert scores["wer"] == pytest.approx(100 * np.mean(wrong)) and scores["per"] > 0
        return
    if not labels:
        assert scores["exact_match"] == 100 * np.mean(
            [one == other for one, other in zip(outputs, answers, strict=True)]
        )
        return
    assert outputs[:2] == [best(run, text) for text in inputs[:2]]
    words = [
        pair
        for one, other in zip(outputs, answers, strict=True)
        for pair in zip(one.split(), other.split(), strict=True)
    ]
    assert scores["labels"] == len(words)
    assert scores["accuracy"] == pytest.approx(100 * np.mean([one == other for one, other in words]))


def best(run, text):
    """The model's answer to one text, alone and unpadded."""
    if run.recipe.task == "compare":
        sides = zip(("first", "second"), run.tokenizers[0].encode(list(text)), strict=True)
        pair = {f"{side}_ids": np.array([[*ids, EOS]], "int32") for side, ids in sides}
        lengths = {f"{side}_lengths": np.array([pair[f"{side}_ids"].size], "int32") for side in ("first", "second")}
        return run.labels[np.asarray(run.model(pair | lengths))[0].argmax()]
    words = run.tokenizers[0].encode_words(text.split(" "))
    ids = np.array([[*sum(words, []), EOS]], "int32")
    logits = np.asarray(run.model({"token_ids": ids, "lengths": np.array([ids.size], "int32")}))[0]
    chosen = logits.argmax(-1)[first_pieces(words)] if run.recipe.task == "tag" else [logits.argmax()]
    return " ".join(run.labels[index] for index in chosen)


def nats(run, text):
    """Mean -log p of a text's characters, window by window, in NumPy from the model's logits."""
    model, (tokenizer,), context = run.model, run.tokenizers, run.recipe.model.context
    ids, total = tokenizer.encode([text])[0], 0.0
    for start in range(0, len(ids), context):
        window = ids[start : start + context]
        padded = [*window, *[PAD] * (context - len(window))]  # which LSH attention sorts like any other token
        logits = np.asarray(model({"token_ids": np.array([[BOS, *padded[:-1]]], "int32")}), "float64")[0]
        total -= sum(row[token] - math.log(np.exp(row).sum()) for row, token in zip(logits, window, strict=False))
    return total / len(text)


def nats_of_completions(run, prompts, completions):
    """Mean -log p of the characters behind the prompts."""
    model, (tokenizer,) = run.model, run.tokenizers
    total = 0.0
    for prompt, completion in zip(prompts, completions, strict=True):
        ids = tokenizer.encode([prompt + completion])[0]
        logits = np.asarray(model({"token_ids": np.array([[BOS, *ids[:-1]]], "int32")}), "float64")[0]
        written = zip(logits[len(prompt) :], ids[len(prompt) :], strict=True)
        total -= sum(row[token] - math.log(np.exp(row).sum()) for row, token in written)
    return total / sum(map(len, completions))


@pytest.mark.parametrize(("model", "sizes"), [("seq2seq", (9, 11)), ("transformer", (9, 9)), ("tagger", (9, 3))])
def test_the_seed_decides_the_weights_and_nothing_else_does(model, sizes):
    same, again, other = (made(recipe(model, training={"seed": seed}), *sizes) for seed in (3, 3, 4))
    for one, two in zip(weights(same), weights(again), strict=True):
        np.testing.assert_array_equal(one, two)
    assert any((a != b).any() for a, b in zip(weights(same), weights(other), strict=True))


def test_wirings_have_the_same_parameters_or_nearly():
    counts = {
        block: made(recipe("tagger", block=block), 9, 3).count_params()
        for block in ("post_norm", "pre_norm", "macaron")
    }
    assert counts["pre_norm"] - counts["post_norm"] == 2 * 4  # the final norm
    assert counts["macaron"] - counts["pre_norm"] == 2 * 4 + 4  # one more norm, and one more bias of an output


@pytest.mark.release
def test_a_run_knows_what_ends_a_sentence(tmp_path):
    one = recipe("stories", training={"steps": 2})
    data = write_corpus(one, tmp_path / "data")
    runs.train(one, tmp_path / "run", data)
    run = runs.open_run(tmp_path / "run")
    model, (tokenizer,), labels = run.model, run.tokenizers, run.labels
    np.testing.assert_array_equal(model.embedding.ends, sentence_ends(tokenizer.pieces))
    inputs, answers = recipes.read(one, "test", data)
    scores, outputs = runs.evaluate(run, "test", data)
    (ids,) = tokenizer.encode(inputs[:1])
    sentences = model.embedding(np.array([[*ids, EOS]]), mask=np.ones((1, len(ids) + 1), bool))[1]
    assert np.asarray(sentences).sum() == inputs[0].count(".") + inputs[0].count("?") == 3
    logits = np.asarray(model({"token_ids": np.array([[*ids, EOS]]), "lengths": np.array([len(ids) + 1])}))
    assert outputs[0] == labels[logits.argmax()]
    assert scores["accuracy"] == pytest.approx(100 * np.mean([a == b for a, b in zip(outputs, answers, strict=True)]))
