"""A classifier that reads stories by sentences: trained from a recipe, opened again, scored; and what cannot be."""

import numpy as np
import pytest

from tests.recipes.small import KINDS, recipe, write_corpus
from zoo import recipes
from zoo.text import EOS, sentence_ends


@pytest.mark.slow
def test_a_run_knows_what_ends_a_sentence(tmp_path):
    one = recipe("stories", steps=2)
    data = write_corpus(one, tmp_path / "data")
    recipes.train(one, tmp_path / "run", data)
    run, labels = recipes.open_run(tmp_path / "run"), recipes.open_labels(tmp_path / "run")
    _, model, tokenizer, _ = run
    np.testing.assert_array_equal(model.embedding.ends, sentence_ends(tokenizer.pieces))
    inputs, answers = recipes.corpora.read(one, "test", data)
    scores, outputs = recipes.evaluate(run, labels, "test", data)
    (ids,) = tokenizer.encode(inputs[:1])
    sentences = model.embedding(np.array([[*ids, EOS]]), mask=np.ones((1, len(ids) + 1), bool))[1]
    assert np.asarray(sentences).sum() == inputs[0].count(".") + inputs[0].count("?") == 3
    logits = np.asarray(model({"token_ids": np.array([[*ids, EOS]]), "lengths": np.array([len(ids) + 1])}))
    assert outputs[0] == labels[logits.argmax()]
    assert scores["accuracy"] == pytest.approx(100 * np.mean([a == b for a, b in zip(outputs, answers, strict=True)]))


@pytest.mark.parametrize("changes", [{"spelling": True}, {"model": "tagger", "data": "tagged"}])
def test_only_a_classifier_reads_sentences(changes):
    with pytest.raises(
        ValueError, match="sentences=2 has no effect: it is for recipes with (spelling = False|model = 'classifier')"
    ):
        recipes.make(KINDS["stories"] | changes)
