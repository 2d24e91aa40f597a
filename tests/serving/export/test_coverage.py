"""An artefact with a coverage penalty ranks as the Keras model does, with the beta of the artefact or of a caller."""

import numpy as np
import onnx
import pytest
import tensorflow as tf

from serving.export import export
from serving.export.kinds import kind_of
from serving.runtime import Runtime, Sampling
from serving.runtime.artefact import read_manifest
from tests.serving.conftest import MAX_LENGTH, TEXTS, exported_once, make_model, make_seq2seq, settings_of
from zoo.decoding import beam_search
from zoo.decoding.rules import Rules

BETA = 0.4
MAKERS = {"transformer": lambda tokenizers: make_model("generate", tokenizers), "seq2seq": make_seq2seq}


@pytest.fixture(scope="module", params=[pytest.param(name, marks=pytest.mark.slow) for name in MAKERS])
def made(request, tokenizers, tmp_path_factory):
    """A model, and its artefact with rules of its own; the export has compared all forms."""
    model = MAKERS[request.param](tokenizers)

    def make(folder):
        rules = {"coverage_penalty": BETA, "no_repeat_ngram_size": 2}
        graphs = ("search", "greedy", "sample")
        export(model, tokenizers, folder, settings_of("generate", rules=rules, graphs=graphs, int8=False))

    return model, exported_once(tmp_path_factory, f"coverage-{request.param}", make)


def searched(model, tokenizers, text, **given):
    source, target = tokenizers
    ids = [*source.encode([text])[0], 3]
    lengths = np.array([len(ids)], "int32")
    memory = model.encode(np.array([ids], "int32"), lengths)
    rules = Rules(no_repeat_ngram_size=2, **given)
    rows, counts, scores = (np.asarray(part)[0] for part in beam_search(model, memory, MAX_LENGTH, 3, rules=rules))
    texts = [target.decode([row[:count].tolist()])[0] for row, count in zip(rows, counts, strict=True)]
    return [pair for pair in zip(texts, scores, strict=True) if pair[1] > -1e9]


def test_every_form_answers_what_the_model_answers(made, tokenizers):
    model, directory = made
    runtime, saved = Runtime(directory, threads=1), tf.saved_model.load(str(directory))
    manifest = read_manifest(directory)
    assert manifest["rules"]["coverage_penalty"] == BETA and manifest["parity"]["passed"]
    best = saved.signatures["serving_default"](text=tf.constant(TEXTS))
    for number, result in enumerate(runtime.run(list(TEXTS))):
        assert best["output_text"][number].numpy().decode() == result.text
        np.testing.assert_allclose(best["scores"][number], result.score, rtol=1e-5)
    for beta in (None, 0.0, 20.0):
        given = {"max_length": 4} if beta is None else {"coverage_penalty": beta}
        for text, result in zip(TEXTS, runtime.run(list(TEXTS), n_best=3, **given), strict=True):
            expected = searched(model, tokenizers, text, **{"coverage_penalty": BETA} | given)
            assert [each.text for each in result.hypotheses] == [text for text, _ in expected]
            received = [each.score for each in result.hypotheses]
            np.testing.assert_allclose(received, [score for _, score in expected], rtol=1e-5)
    plain, ranked = (runtime.run([TEXTS[0]], coverage_penalty=beta)[0] for beta in (0.0, BETA))
    assert ranked.score < plain.score - 1


def test_the_saved_model_takes_a_row_for_each_text(made, tokenizers):
    model, directory = made
    search = tf.saved_model.load(str(directory)).signatures["tokens_rules"]
    ids = [[*tokenizers[0].encode([text])[0], 3] for text in TEXTS]
    lengths = np.array([len(each) for each in ids], "int32")
    given = {
        "token_ids": np.array([each + [0] * (max(lengths) - len(each)) for each in ids], "int32"),
        "lengths": lengths,
        "no_repeat_ngram_size": np.full(3, 2, "int32"),
        "repetition_penalty": np.ones(3, "float32"),
        "forced_tokens": np.full((3, 1), -1, "int32"),
        "bad_words": np.full((3, 1, 1), -1, "int32"),
        "length_ratio": np.zeros(3, "float32"),
        "coverage_penalty": np.array([0.0, BETA, 3.0], "float32"),
        **{name: np.zeros(3, "int32") for name in ("min_length", "max_length", "length_extra", "n_best")},
    }
    found = search(**{name: tf.constant(value) for name, value in given.items()})
    for row, text in enumerate(TEXTS):
        expected = searched(model, tokenizers, text, coverage_penalty=float(given["coverage_penalty"][row]))
        np.testing.assert_allclose(found["scores"][row][: len(expected)], [each for _, each in expected], rtol=1e-5)


@pytest.mark.release
def test_what_cannot_be_ranked_is_refused_in_words(made, artefacts):
    _, directory = made
    runtime, without = Runtime(directory, threads=1), Runtime(artefacts("generate"), threads=1)
    for more, said in (({"beam": 1}, "with beam=1"), ({"sampling": Sampling(seed=1)}, "with sampling")):
        with pytest.raises(ValueError, match=f"ranks the hypotheses of a beam search; received it {said}"):
            runtime.run(["a mat"], coverage_penalty=0.2, **more)
        assert runtime.run(["a mat"], coverage_penalty=0.0, **more) == runtime.run(["a mat"], **more)
    with pytest.raises(ValueError, match="exported without coverage_penalty.*seqzoo export .* --coverage-penalty 0.2"):
        without.run(["a mat"], coverage_penalty=0.2)
    assert without.run(["a mat"], coverage_penalty=0) == without.run(["a mat"])


def test_an_export_that_could_not_compute_it_is_refused(tokenizers, models):
    rules = {"coverage_penalty": 0.2}
    with pytest.raises(ValueError, match="expected a beam width of 2 or more"):
        settings_of("generate", rules=rules, beams=(1,))
    with pytest.raises(ValueError, match="with attention=None looks at no position"):
        kind_of(make_seq2seq(tokenizers, attention=None), settings_of("generate", rules=rules))
    with pytest.raises(ValueError, match="LanguageModel has no coverage penalty"):
        kind_of(models["continue"], settings_of("continue", rules=rules, beams=(2,)))


def test_without_it_a_graph_is_what_it_was(made, artefacts):
    """No node of it stands in the graph of an artefact that has no value for it."""

    def nodes(directory):
        graph = onnx.load(directory / "model.onnx").graph
        bodies = [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
        return {node.op_type for each in (graph, *bodies) for node in each.node}, {each.name for each in graph.input}

    (plain, inputs), (ranked, more) = nodes(artefacts("generate")), nodes(made[1])
    assert more - inputs == {"coverage_penalty"} and "coverage_penalty" not in inputs
    assert "Log" in ranked - plain
