"""A classifier of pairs, and one that reads sentences, are exported and checked as any other."""

import numpy as np
import pytest

from serving.export import export
from serving.kinds.base import pair
from serving.runtime import Runtime
from serving.runtime.artefact import read_manifest
from serving.runtime.loaded import Loaded
from tests.serving import fake_artefact
from tests.serving.conftest import LABELS, randomised, settings_of
from zoo.depth import Halting, make_star_stack, make_universal_stack
from zoo.embeddings import SentenceEmbedding
from zoo.models import Classifier, PairClassifier
from zoo.text import Tokenizer, sentence_ends

PAIRS = ("the cat sat\ton the mat", "a mat\ta", "\ton a cat on a mat sat")


@pytest.mark.slow
def test_a_pair_has_parity_and_answers_on_onnx_runtime(tokenizers, tmp_path):
    model = randomised(PairClassifier(tokenizers[0].vocab_size, len(LABELS), make_star_stack(2, 16, 2)))
    artefact = export(model, tokenizers[:1], tmp_path, settings_of("compare", texts=PAIRS))
    manifest = read_manifest(artefact)
    quantities = {"ONNX compare probabilities", "SavedModel compare probabilities"}
    assert manifest["kind"] == "compare" and manifest["parity"]["passed"]
    assert quantities | {"SavedModel serving_default probabilities"} <= manifest["parity"]["largest"].keys()
    assert manifest["int8"]["modes"][0]["mode"] == "compare"
    runtime = Runtime(artefact)
    for text, result in zip(PAIRS, runtime.run(list(PAIRS)), strict=True):
        ids = [np.array([[*side, 3]], "int32") for side in tokenizers[0].encode(list(pair(text)))]
        inputs = {f"{name}_ids": side for name, side in zip(("first", "second"), ids, strict=True)}
        inputs |= {name.replace("ids", "lengths"): np.array([side.shape[1]], "int32") for name, side in inputs.items()}
        logits = np.asarray(model(inputs))[0]
        expected = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        assert result.label == LABELS[expected.argmax()]
        np.testing.assert_allclose([result.probabilities[label] for label in LABELS], expected, atol=1e-4)


def test_a_bad_pair_costs_itself_alone(tmp_path, monkeypatch):
    """The label is the difference of both lengths, modulo 3; a text has a piece before its first one, and EOS."""
    limits = {"texts": 9, "familiarity": -2.5, "pieces": 5, "confidence": 0.0}
    fake_artefact.change(fake_artefact.write(tmp_path, "compare"), max_input=8, usual=limits)
    run, asked = Loaded.run, []
    monkeypatch.setattr(Loaded, "run", lambda self, graph, inputs: asked.append(inputs) or run(self, graph, inputs))
    good = {"a\tb": 0, "abc\t": 4, "\tabc": -4, "abcde\tabcde": 0}
    bad = {
        "no tab": "one TAB between them; received 0 TABs",
        "a\tb\tc": "received 2 TABs",
        "a\udcff\tb": "first text: not UTF-8: the byte 0xff at character 2",
        "日日日日日日\tabcdefg": "second text: 9 tokens, at most 8",  # and the first is unlike those of the validation
    }
    texts = [text for both in zip(good, bad, strict=True) for text in both] + ["", "\t", " \t\u3000"] + 40 * ["a\tb"]
    results = dict(zip(texts, Runtime(tmp_path, threads=1).run(texts), strict=True))
    assert max(len(inputs["first_ids"]) for inputs in asked) <= 32
    assert max(inputs["second_ids"].shape[1] for inputs in asked) <= 8
    assert [results[text].label for text in good] == [fake_artefact.LABELS[total % 3] for total in good.values()]
    for text, message in bad.items():
        assert message in results[text].error and (results[text].label, results[text].probability) == ("", 0.0)
        assert results[text].warning is None  # what is not answered is not doubted
    assert all((each.label, each.error) == ("", None) for each in (results[text] for text in ("", "\t", " \t\u3000")))


@pytest.mark.slow
def test_sentences_have_parity(tmp_path):
    texts = "the cat sat. a mat sat. is a cat on the mat?", "the cat.", "on a mat"
    tokenizer = Tokenizer.train(texts, 60, model_type="bpe")
    embedding = SentenceEmbedding(tokenizer.vocab_size, 16, longest=3, shortest=2)
    embedding.mark(sentence_ends(tokenizer.pieces))
    encoder = make_universal_stack(3, 16, 2, 32, Halting())
    model = randomised(Classifier(tokenizer.vocab_size, len(LABELS), encoder, embedding=embedding))
    artefact = export(model, [tokenizer], tmp_path, settings_of("classify", texts=texts, int8=False))
    assert read_manifest(artefact)["parity"]["passed"]


@pytest.mark.parametrize("text", ["no tab", "a\tb\tc", ""])
def test_a_pair_has_one_tab(text):
    assert pair("a b\tc") == ("a b", "c") and pair("\t") == ("", "")
    with pytest.raises(ValueError, match="one TAB between them; received [02] TABs"):
        pair(text)
