"""The Reformer as a language model and as an encoder-decoder: steps, a training step, and the choice of memory."""

import keras
import numpy as np
import pytest

from tests.models.cases import ONE_CHUNK, SOURCES, TARGETS
from tests.weights import randomised
from zoo.attention import LSHAttention, MultiHeadAttention
from zoo.check.laws import lengths, token_ids
from zoo.check.steps import check_steps
from zoo.depth import make_reformer_stack
from zoo.embeddings import AxialPositions
from zoo.feedforward import ChunkedFeedForward, FeedForward
from zoo.models import LanguageModel, Transformer
from zoo.training import SmoothedCrossEntropy, make_steps

ROWS = ((1, 5), (2, 2), (3, 0))


def stack(cross=False, hashing=ONE_CHUNK, **settings):
    return make_reformer_stack(2, 6, 2, 8, hashing=hashing, cross=cross, seed=1, **settings)


def language_model(positions=None, **settings):
    return randomised(LanguageModel(TARGETS, stack(**settings), positions, dropout=0.0))


def encoder_decoder(**settings):
    return randomised(Transformer(SOURCES, TARGETS, stack(**settings), stack(cross=True, **settings), dropout=0.0))


@pytest.mark.release(but=1)
@pytest.mark.parametrize(
    ("make", "vocabulary", "max_length"),
    [
        (language_model, TARGETS, None),
        pytest.param(lambda: language_model(AxialPositions((4, 4))), TARGETS, 5, marks=pytest.mark.slow),
        (encoder_decoder, SOURCES, 5),
        pytest.param(encoder_decoder, SOURCES, None, marks=pytest.mark.slow),
    ],
    ids=["language-model", "axial-language-model", "encoder-decoder", "growing-encoder-decoder"],
)
def test_steps_are_the_full_pass_of_one_chunk(make, vocabulary, max_length):
    following = token_ids(((7, 4), (8, 4), (9, 4)), 4, TARGETS)[:, None].repeat(2, axis=1)
    parents = np.array([[[0, 1, 1, 0]] * 2, [[1, 0, 0, 1]] * 2, [[0, 0, 1, 1]] * 2])
    source = token_ids(ROWS, 5, vocabulary, noise=5)
    check_steps(make(), source, lengths(ROWS), following, parents, max_length)


@pytest.mark.slow
@pytest.mark.parametrize("make", [language_model])  # gradients of a memory: tests/depth/test_reversible.py
def test_a_compiled_training_step_does_not_depend_on_what_is_kept(make):
    """Several chunks and padding: the loss of each of three updates."""
    ids = token_ids(((1, 11), (2, 7), (3, 9)), 12, 11)
    batch = {"labels": ids[:, 1:], "weights": np.ones((3, 11), "float32")}
    if make is language_model:
        batch["token_ids"] = ids[:, :-1]
    else:
        batch |= {"source_ids": ids, "source_lengths": np.array([11, 7, 9], "int32"), "target_ids": ids[:, :-1]}
    losses = {}
    for activations in ("plain", "checkpoint", "reversible"):
        settings = {"hashing": {"num_buckets": 4, "chunk_length": 4}, "chunks": 2, "dropout": 0.0}
        model = make(activations=activations, **settings)
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
