"""An ensemble is the mean of its members' log-probabilities, in a pass of the whole and step by step."""

import keras
import numpy as np
import pytest

from zoo.decoding import greedy
from zoo.depth import make_stack
from zoo.models import Ensemble, Seq2Seq, Transformer

SIZES = {"num_layers": 1, "units": 6, "num_heads": 2, "hidden_units": 5}
BATCH = {
    "source_ids": np.array([[4, 5, 6, 7, 3], [8, 9, 3, 0, 0]], "int32"),
    "source_lengths": np.array([5, 3], "int32"),
    "target_ids": np.array([[2, 5, 7, 4], [2, 6, 4, 9]], "int32"),
}


@pytest.fixture(scope="module")
def members():
    keras.utils.set_random_seed(3)
    found = [Seq2Seq(11, 13, units=6, cell="lstm"), Seq2Seq(11, 13, units=5, attention="dot")]
    found.append(Transformer(11, 13, make_stack(**SIZES), make_stack(**SIZES, cross=True)))
    for each in found:
        each.build()
    return found


def log_probabilities(logits):
    logits = np.asarray(logits, "float64")
    shifted = logits - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))


def test_it_is_the_mean_of_log_probabilities(members):
    expected = np.mean([log_probabilities(each(BATCH)) for each in members], axis=0)
    np.testing.assert_allclose(Ensemble(members)(BATCH), expected, atol=1e-5)


def test_keras_export_is_refused_as_of_its_members(members, tmp_path):
    with pytest.raises(ValueError, match=r"Ensemble.export\(format='tf_saved_model'\).*serving.export.export"):
        Ensemble(members).export(tmp_path / "there")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_search_goes_on_with_what_all_members_found(members):
    model, found = Ensemble(members), []
    memory = model.encode(BATCH["source_ids"], BATCH["source_lengths"])
    token, state = model.start(memory)
    for position in range(4):
        np.testing.assert_array_equal(token[:, 0], BATCH["target_ids"][:, position] if position else 2)
        logits, state = model.step(token, state, memory)
        found.append(np.asarray(logits)[:, 0])
        token = BATCH["target_ids"][:, position + 1 : position + 2]
    np.testing.assert_allclose(np.stack(found, axis=1), model(BATCH), atol=1e-4)
    assert np.asarray(greedy(model, memory, 5)[0]).shape == (2, 1, 5)


def test_a_file_keeps_it(members, tmp_path):
    model = Ensemble(members)
    model.build()
    model.save(tmp_path / "ensemble.keras")
    loaded = keras.models.load_model(tmp_path / "ensemble.keras")
    np.testing.assert_allclose(loaded(BATCH), model(BATCH), atol=1e-6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: [Seq2Seq(5, 5, units=2)], "at least two members. Received: 1"),
        (lambda: [Seq2Seq(5, 5, units=2), Seq2Seq(5, 6, units=2)], r"share their vocabularies.*\(5, 5\), \(5, 6\)"),
    ],
)
def test_what_is_no_ensemble_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        Ensemble(make())
