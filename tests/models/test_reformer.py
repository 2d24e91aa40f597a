"""The Reformer as a language model: a training step, and the choice of memory."""

import keras
import numpy as np
import pytest

from tests.models.cases import ONE_CHUNK, TARGETS
from tests.weights import randomised
from zoo.attention import LSHAttention, MultiHeadAttention
from zoo.check.laws import token_ids
from zoo.depth import make_reformer_stack
from zoo.feedforward import ChunkedFeedForward, FeedForward
from zoo.models import LanguageModel
from zoo.training import SmoothedCrossEntropy, make_steps


def stack(cross=False, hashing=ONE_CHUNK, **settings):
    return make_reformer_stack(2, 6, 2, 8, hashing=hashing, cross=cross, seed=1, **settings)


@pytest.mark.slow
def test_a_compiled_training_step_does_not_depend_on_what_is_kept():
    """Several chunks and padding: the loss of each of three updates. Gradients of a memory: tests/depth."""
    ids = token_ids(((1, 11), (2, 7), (3, 9)), 12, 11)
    batch = {"token_ids": ids[:, :-1], "labels": ids[:, 1:], "weights": np.ones((3, 11), "float32")}
    losses = {}
    for activations in ("plain", "checkpoint", "reversible"):
        settings = {"hashing": {"num_buckets": 4, "chunk_length": 4}, "chunks": 2, "dropout": 0.0}
        model = randomised(LanguageModel(TARGETS, stack(activations=activations, **settings), dropout=0.0))
        steps = make_steps(model, keras.optimizers.SGD(0.1), SmoothedCrossEntropy())
        losses[activations] = [float(steps.train(batch)) for _ in range(3)]
    np.testing.assert_allclose(losses["checkpoint"], losses["plain"], rtol=1e-4)
    np.testing.assert_allclose(losses["reversible"], losses["plain"], rtol=1e-4)
    assert losses["plain"][2] < losses["plain"][0]


def test_make_reformer_stack_says_it_all():
    made = stack(
        cross=True, hashing={"num_buckets": [4, 6], "rounds": 3}, chunks=5, activations="checkpoint", dropout=0.2
    )
    assert made.activations == "checkpoint" and len(made.blocks) == 2
    for block in made.blocks:
        assert isinstance(block.attention, LSHAttention) and isinstance(block.cross_attention, MultiHeadAttention)
        assert block.attention.factors == [4, 6] and block.attention.rounds == 3
        assert isinstance(block.feedforward, ChunkedFeedForward) and block.feedforward.chunks == 5
        assert [drop.rate for drop in block.dropout_layers] == [0.2] * 3
    assert len({block.attention.seed for block in made.blocks}) == 2
    plain = stack(hashing=None)
    assert plain.activations == "reversible"
    for block in plain.blocks:
        assert isinstance(block.attention, MultiHeadAttention) and isinstance(block.feedforward, FeedForward)
        assert block.cross_attention is None
