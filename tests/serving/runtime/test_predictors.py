"""What an artefact of each kind answers, without TensorFlow, is what the Keras model says."""

from types import SimpleNamespace

import numpy as np
import pytest

from serving.kinds import KINDS
from serving.runtime import Runtime, Sampling
from serving.runtime.reading import Reading
from serving.runtime.writing import Continuer
from tests.serving.conftest import LABELS, MAX_LENGTH, TEXTS
from zoo.decoding import beam_search, greedy, sample, uniforms

NASTY = (*TEXTS, "", "  the\u3000cat ", "👩‍👩‍👧 sat e\u0301\u2028日本 mat", "\u200b", "mat " * 40)


@pytest.fixture(scope="module")
def runtimes(artefacts):
    return lambda kind, **kwargs: Runtime(artefacts(kind), threads=1, **kwargs)


def batch_of_one(ids):
    return np.array([ids], "int32"), np.array([len(ids)], "int32")


def read(found, decode):
    """Texts of `(token_ids, lengths, scores)` of one row."""
    ids, lengths, _ = (np.asarray(each)[0] for each in found)
    return [decode(row[:length].tolist()) for row, length in zip(ids, lengths, strict=True)]


@pytest.mark.slow
def test_beam_search_is_that_of_the_model(runtimes, models, tokenizers):
    model, (source, target) = models["generate"], tokenizers
    found = runtimes("generate").run(list(TEXTS), n_best=3)
    for text, result in zip(TEXTS, found, strict=True):
        memory = model.encode(*batch_of_one([*source.encode([text])[0], 3]))
        expected = read(beam_search(model, memory, MAX_LENGTH, beams=3), lambda ids: target.decode([ids])[0])
        assert [each.text for each in result.hypotheses] == expected


def continuation(tokenizer, prompt):
    return lambda ids: tokenizer.decode([prompt + ids])[0][len(tokenizer.decode([prompt])[0]) :]


@pytest.mark.slow
def test_a_prompt_goes_on_as_the_model_says(runtimes, models, tokenizers):
    model, tokenizer = models["continue"], tokenizers[0]
    for text, result in zip(NASTY, runtimes("continue").run(list(NASTY)), strict=True):
        (prompt,) = tokenizer.encode([text])
        memory = model.encode(*batch_of_one(prompt))
        assert [result.text] == read(greedy(model, memory, MAX_LENGTH), continuation(tokenizer, prompt))


@pytest.mark.slow
def test_samples_are_those_of_the_model(runtimes, models, tokenizers):
    model, tokenizer = models["continue"], tokenizers[0]
    settings = {"temperature": 1.3, "top_k": 9, "top_p": 0.9}
    found = runtimes("continue").run(list(TEXTS), n_best=4, sampling=Sampling(**settings, seed=5))
    drawn = uniforms(5, len(TEXTS), 4, MAX_LENGTH)
    for number, (text, result) in enumerate(zip(TEXTS, found, strict=True)):
        (prompt,) = tokenizer.encode([text])
        memory = model.encode(*batch_of_one(prompt))
        expected = sample(model, memory, MAX_LENGTH, drawn[number : number + 1], **settings)
        assert [each.text for each in result.hypotheses] == read(expected, continuation(tokenizer, prompt))
        np.testing.assert_allclose([each.score for each in result.hypotheses], np.asarray(expected[2])[0], atol=1e-4)
    assert len({each.text for result in found for each in result.hypotheses}) > 6


@pytest.mark.release(but=1)
@pytest.mark.parametrize("kind", ["generate", "continue"])
def test_a_sample_hangs_on_its_seed_and_its_number_alone(runtimes, kind):
    runtime, sampling = runtimes(kind), Sampling(seed=3)
    alone = runtime.run(["a mat"], sampling=sampling)[0].text
    assert [each.text for each in runtime.run(["a mat", *TEXTS], sampling=sampling, n_best=3)[0].hypotheses][0] == alone
    assert runtime.run(["a mat"], sampling=Sampling(seed=4))[0].text != alone
    later = Sampling(seed=3, first=2)
    assert runtime.run(["a mat"], sampling=later)[0].text == runtime.run(["", "a", "a mat"], sampling=sampling)[2].text


@pytest.mark.release(but=1)
@pytest.mark.parametrize("kind", ["generate", "continue"])
def test_no_temperature_and_one_token_are_greedy(runtimes, kind):
    runtime = runtimes(kind)
    expected = [result.text for result in runtime.run(list(TEXTS), beam=1)]
    for sampling in (Sampling(temperature=0.0), Sampling(top_k=1), Sampling(top_p=1e-6)):
        assert [result.text for result in runtime.run(list(TEXTS), sampling=sampling)] == expected


@pytest.mark.slow
def test_a_long_continuation_is_a_chain_of_short_ones(runtimes, tokenizers):
    runtime, (prompt,) = runtimes("continue"), tokenizers[0].encode(["the cat"])
    whole = runtime.run(["the cat"], length=3 * MAX_LENGTH)[0].text
    ids, answers = list(prompt), runtime._predictor
    for _ in range(3):
        ((more, _),) = answers.search([ids], 1, 1)[0]
        ids += more
    assert whole == continuation(tokenizers[0], prompt)(ids[len(prompt) :])


@pytest.mark.slow
def test_a_text_is_worth_what_the_model_says(runtimes, models, tokenizers):
    texts = ["the cat", "", "a mat sat"]
    for text, (log_prob, count) in zip(texts, runtimes("continue").score(texts), strict=True):
        (ids,) = tokenizers[0].encode([text])
        logits = np.asarray(models["continue"]({"token_ids": np.array([[2, *ids]], "int32")}), "float64")[0]
        steps = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
        assert count == len(ids)
        assert log_prob == pytest.approx(sum(steps[place, token] for place, token in enumerate(ids)), abs=1e-4)
    ((_, count),) = runtimes("continue").score(["the cat sat on the mat " * 3])
    assert count == 2 * MAX_LENGTH - 1  # BOS takes one of its positions
    with pytest.raises(ValueError, match="only 'continue' scores texts"):
        runtimes("tag").score(["a"])


def test_labels_are_those_of_the_model(runtimes, models, tokenizers):
    for text, result in zip(NASTY, runtimes("classify").run(list(NASTY)), strict=True):
        (ids,) = tokenizers[0].encode([text])
        if not ids:
            assert (result.label, result.probability, result.probabilities, result.error) == ("", 0.0, {}, None)
            continue
        token_ids, lengths = batch_of_one([*ids, 3])
        logits = np.asarray(models["classify"]({"token_ids": token_ids, "lengths": lengths}))[0]
        expected = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        assert result.label == LABELS[expected.argmax()]
        assert list(result.probabilities.values()) == sorted(result.probabilities.values(), reverse=True)
        np.testing.assert_allclose([result.probabilities[label] for label in LABELS], expected, atol=1e-5)


@pytest.mark.slow
def test_tags_are_those_of_the_model(runtimes, models, tokenizers):
    for text, result in zip(NASTY, runtimes("tag").run(list(NASTY)), strict=True):
        words = text.split()
        pieces = tokenizers[0].encode_words(words)
        assert [word.text for word in result.words] == words
        if words:
            token_ids, lengths = batch_of_one([*sum(pieces, []), 3])
            logits = np.asarray(models["tag"]({"token_ids": token_ids, "lengths": lengths}))[0]
            first = [sum(map(len, pieces[:index])) for index in range(len(words))]
            assert [word.tag for word in result.words] == [LABELS[index] for index in logits[first].argmax(axis=-1)]
        assert [text[word.start : word.end] for word in result.words] == words


@pytest.mark.release(but=1)
@pytest.mark.parametrize("kind", ["classify", "tag"])
def test_the_saved_model_agrees_on_nasty_texts(runtimes, artefacts, kind):
    import tensorflow as tf

    from serving.export.graph_tokenizers import GraphTokenizer  # noqa: F401  registers the tokenizers' operations

    loaded = tf.saved_model.load(str(artefacts(kind))).signatures["serving_default"]
    answers = {name: value.numpy() for name, value in loaded(text=tf.constant(NASTY)).items()}
    for row, result in enumerate(runtimes(kind).run(list(NASTY))):
        if kind == "classify":
            assert answers["label"][row].decode() == result.label
            continue
        count = answers["word_counts"][row]
        places = [(word.start, word.end) for word in result.words]
        assert list(zip(answers["starts"][row][:count], answers["ends"][row][:count], strict=True)) == places
        assert [tag.decode() for tag in answers["tags"][row][:count]] == result.answer
        assert not answers["scores"][row][count:].any() and set(answers["tags"][row][count:]) <= {b""}


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("kind", ["continue", "tag"])
def test_answers_do_not_hang_on_batch_mates(runtimes, kind):
    runtime = runtimes(kind)
    together = [result.answer for result in runtime.run(list(NASTY))]
    assert together == [runtime.run([text])[0].answer for text in NASTY]


RUNS = [  # ids and scores of two beams in each run of a graph that writes 4 ids at most
    [([1, 1, 1, 1], -1.0), ([2, 2, 2, 2], -2.0)],
    [([1, 1], -9.0), ([2, 2], -3.0)],
]
ENDED = [[([1, 1], -5.0), ([2, 2, 2, 2], -2.0)], [([3, 3, 3, 3], -1.0)]]  # the second is cut at the end


@pytest.mark.parametrize(
    ("runs", "best"),
    [(RUNS, [("222222", -5.0), ("111111", -10.0)]), (ENDED, [("11", -5.0), ("22223333", -3.0)])],
)
def test_the_best_of_all_runs_comes_first(runs, best):
    """The second beam is worse after one run, and better after two; what ends comes before what is cut off."""
    reading = Reading(ids=(7,))
    loaded = SimpleNamespace(
        name="stub",
        manifest={"generation": {"2": "beam.onnx"}, "default_beam": 2, "max_length": 4},
        generation={"2": "beam.onnx"},
        bound=SimpleNamespace(max_input=100),
        read=lambda texts, end: [reading],
        decode=lambda rows: ["".join(map(str, row)) for row in rows],
    )
    predictor, runs = Continuer(KINDS["continue"], loaded), iter(runs)

    def search(sequences, beam, n_best, given):
        found = next(runs)
        return [found] if n_best == 2 else [[pair] for pair in found]

    predictor.search = search
    (result,) = predictor.run(["a"], n_best=2, length=8)
    assert [(each.text, each.score) for each in result.hypotheses] == best
    assert (result.text, result.score) == best[0]
