"""A training step whose logits never exist all at once."""

import keras
import numpy as np
import pytest

from zoo.depth import make_stack
from zoo.embeddings import TokenEmbedding
from zoo.models import LanguageModel, Transformer
from zoo.training import ChunkedCrossEntropy, SmoothedCrossEntropy, make_steps


@pytest.mark.release
@pytest.mark.parametrize("kind", ["language_model", "transformer", "own_output"])
def test_a_chunked_loss_trains_the_same(kind):
    """Three updates: losses and weights, with half of the positions' logits at a time."""
    found = []
    for loss in (SmoothedCrossEntropy(0.1), ChunkedCrossEntropy(2, 0.1)):
        keras.utils.set_random_seed(3)
        model, batch = chunked_case(kind)
        steps = make_steps(model, keras.optimizers.SGD(0.1), loss)
        losses = [float(steps.train(batch)) for _ in range(3)]
        steps.sync()
        found.append((losses, float(steps.evaluate(batch)[0]), model.get_weights()))
    (losses, nll, weights), (other_losses, other_nll, others) = found
    assert losses[2] < losses[0]
    np.testing.assert_allclose(other_losses, losses, rtol=1e-5)
    np.testing.assert_allclose(other_nll, nll, rtol=1e-5)
    for one, other in zip(others, weights, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def chunked_case(kind):
    """A built model and a batch whose five positions two chunks do not divide."""
    stacks = [make_stack(1, 8, 2, 8, dropout=0.0, cross=cross) for cross in (False, True)]
    ids = np.random.default_rng(5).integers(4, 11, (3, 5)).astype("int32")
    lengths = np.array([5, 2, 3], "int32")
    batch = {"labels": ids, "weights": np.float32(np.arange(5) < lengths[:, None])}
    if kind == "language_model":
        model, inputs = LanguageModel(11, stacks[0], dropout=0.0), {"token_ids": ids[:, ::-1]}
    else:
        target = TokenEmbedding(11, 8, tied=False, output_bias=True) if kind == "own_output" else 11
        model = Transformer(11, target, *stacks, dropout=0.0)
        inputs = {"source_ids": ids, "source_lengths": lengths, "target_ids": ids[:, ::-1]}
    model.build()
    return model, batch | inputs


def test_sizes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="positive number of chunks. Received: 0"):
        ChunkedCrossEntropy(0)
    with pytest.raises(ValueError, match="smoothing must lie in"):
        ChunkedCrossEntropy(2, smoothing=1.0)
