"""A classifier that reads stories by sentences: trained from a recipe, opened again, scored; and what cannot be."""

import numpy as np
import pytest

from tests.recipes.small import recipe, write_corpus
from zoo import recipes, runs
from zoo.text import EOS, sentence_ends


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


def test_only_a_classifier_reads_sentences():
    with pytest.raises(
        ValueError,
        match="embedding must be one of tokens, spelled; received 'sentences'. The reason: sentences gives one vector",
    ):
        recipe("tagger", embedding={"layer": "sentences", "shortest": 3})
    with pytest.raises(ValueError, match="embedding must be one of tokens; received 'sentences'"):
        recipe("language_model", embedding="sentences")


def test_an_embedding_reads_sentences_or_spelling():
    """They are two layers of one slot, so neither has the settings of the other."""
    with pytest.raises(ValueError, match="embedding = 'spelled' has no setting 'shortest'. .*It takes buckets, alone"):
        recipe("stories", embedding={"layer": "spelled", "shortest": 2})
