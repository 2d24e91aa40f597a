"""What models are made of is there: every word of a source is read, and dropout is on in training alone."""

import numpy as np
import pytest
from keras import ops

from tests.models.cases import SOURCES, TARGETS, batch, causal_text, text
from zoo.check.laws import changed
from zoo.depth import make_stack
from zoo.embeddings import TokenEmbedding
from zoo.models import Classifier, LanguageModel, Seq2Seq, Transformer

ROWS = ((1, 7), (2, 3), (3, 0))
TRANSLATORS = ("transformer-pre_norm", "seq2seq-lstm-1-None", "seq2seq-lstm-1-additive", "seq2seq-lstm-1-dot")


@pytest.mark.slow
@pytest.mark.release(but=2)
@pytest.mark.parametrize("name", TRANSLATORS)
def test_every_source_word_counts(models, name):
    model, inputs = models(name), batch(ROWS, 7, 5)
    before = ops.convert_to_numpy(model(inputs))
    for position in range(7):
        other = inputs["source_ids"].copy()
        other[:, position] = (other[:, position] + 1) % SOURCES
        after = ops.convert_to_numpy(model({**inputs, "source_ids": other}))
        np.testing.assert_array_equal(changed(after, before, (1, 2)), position < inputs["source_lengths"])


def stack(cross=False):
    return make_stack(1, 6, 2, 8, dropout=0.5, cross=cross, seed=3 + cross)


MODELS = {
    "transformer": (lambda: Transformer(SOURCES, TARGETS, stack(), stack(True), dropout=0.5, seed=3), batch),
    "seq2seq": (lambda: Seq2Seq(SOURCES, TARGETS, 5, num_layers=2, dropout=0.5, seed=3), batch),
    "language-model": (lambda: LanguageModel(TARGETS, stack(), dropout=0.5, seed=3), causal_text),
    "classifier": (lambda: Classifier(TARGETS, 3, stack(), dropout=0.5, seed=3), text),
}


@pytest.mark.slow(but=("language-model", "classifier"))
@pytest.mark.parametrize("name", MODELS)
def test_dropout_is_seeded_and_in_training_only(name):
    make, arguments = MODELS[name]
    first, second, inputs = make(), make(), arguments(ROWS, 7, 5)
    still = ops.convert_to_numpy(first(inputs))
    second(inputs)
    for one, other in zip(first.trainable_weights, second.trainable_weights, strict=True):
        other.assign(one)
    np.testing.assert_array_equal(ops.convert_to_numpy(first(inputs, training=False)), still)
    one, other = (ops.convert_to_numpy(model(inputs, training=True)) for model in (first, second))
    np.testing.assert_array_equal(one, other)
    assert np.abs(one - still).max() > 1e-3


@pytest.mark.parametrize("name", MODELS)
def test_inputs_are_told_by_name_and_axes(name):
    make, arguments = MODELS[name]
    model, inputs = make(), arguments(ROWS, 7, 5)
    ids = next(key for key in inputs if key.endswith("ids"))
    wrong = [
        (inputs[ids], "Received: "),
        ({key: value for key, value in inputs.items() if key != ids}, "Received: "),
        ({**inputs, ids: inputs[ids][0]}, rf"Received: .*{ids} \({inputs[ids].shape[1]},\)"),
    ]
    for each, received in wrong:
        with pytest.raises(ValueError, match=rf"expected .*{ids} \(batch, time\).* {received}"):
            model(each)
    optional = {"transformer": ["target_lengths"], "language-model": ["lengths"]}.get(name, [])
    for lengths in [*optional, *(key for key in inputs if key.endswith("lengths"))]:
        with pytest.raises(ValueError, match=rf"expected .*{lengths} \(batch,\).* Received: .*{lengths} \(3, 1\)"):
            model({**inputs, lengths: np.ones((3, 1), "int32")})


def test_ids_that_mixed_precision_has_rounded_are_refused():
    """float16 has no 2049; a layer alone is given the ids as they are."""
    policy, ids = "mixed_float16", np.array([[2049, 4999]], "float32")
    model = LanguageModel(5000, make_stack(1, 6, 2, 8), dtype=policy)
    with pytest.raises(ValueError, match="token_ids as floats, .* rounded to float16.*Give whole numbers"):
        model({"token_ids": ids})
    embedding = TokenEmbedding(5000, 6, dtype=policy)
    np.testing.assert_array_equal(*(ops.convert_to_numpy(embedding(each)) for each in (ids, ids.astype("int32"))))


@pytest.mark.parametrize("name", ["transformer", "seq2seq", "classifier"])
def test_padding_may_be_no_id_of_the_vocabulary(name):
    """Such as -100: TensorFlow refused it, and on JAX the whole row was NaN."""
    make, arguments = MODELS[name]
    model, inputs = make(), arguments(ROWS, 7, 5)
    ids, lengths = ("token_ids", "lengths") if name == "classifier" else ("source_ids", "source_lengths")
    padding = np.arange(inputs[ids].shape[1]) >= inputs[lengths][:, None]
    strange = {**inputs, ids: np.where(padding, -100, inputs[ids]).astype("int32")}
    np.testing.assert_array_equal(*(ops.convert_to_numpy(model(each)) for each in (inputs, strange)))
