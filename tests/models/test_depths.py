"""Reformers and Universal Transformers as models: compiled steps, what is kept and what thinking costs, positions."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.models.cases import ONE_CHUNK, SOURCES, TARGETS
from tests.weights import randomised
from zoo.attention import LSHAttention, MultiHeadAttention
from zoo.check.laws import assert_close, token_ids
from zoo.depth import Halting, make_reformer_stack, make_stack, make_universal_stack
from zoo.embeddings import NoPositions, SinusoidalPositions
from zoo.feedforward import ChunkedFeedForward, FeedForward
from zoo.models import Classifier, LanguageModel, Tagger, Transformer
from zoo.training import SmoothedCrossEntropy, make_steps


def reformer(cross=False, hashing=ONE_CHUNK, **settings):
    return make_reformer_stack(2, 6, 2, 8, hashing=hashing, cross=cross, seed=1, **settings)


@pytest.mark.slow
def test_a_compiled_training_step_does_not_depend_on_what_is_kept():
    """Several chunks and padding: the loss of each of three updates. Gradients of a memory: tests/depth."""
    ids = token_ids(((1, 11), (2, 7), (3, 9)), 12, 11)
    batch = {"token_ids": ids[:, :-1], "labels": ids[:, 1:], "weights": np.ones((3, 11), "float32")}
    losses = {}
    for activations in ("plain", "checkpoint", "reversible"):
        settings = {"hashing": {"num_buckets": 4, "chunk_length": 4}, "chunks": 2, "dropout": 0.0}
        model = randomised(LanguageModel(TARGETS, reformer(activations=activations, **settings), dropout=0.0))
        steps = make_steps(model, keras.optimizers.SGD(0.1), SmoothedCrossEntropy())
        losses[activations] = [float(steps.train(batch)) for _ in range(3)]
    np.testing.assert_allclose(losses["checkpoint"], losses["plain"], rtol=1e-4)
    np.testing.assert_allclose(losses["reversible"], losses["plain"], rtol=1e-4)
    assert losses["plain"][2] < losses["plain"][0]


def test_make_reformer_stack_says_it_all():
    made = reformer(
        cross=True, hashing={"num_buckets": [4, 6], "rounds": 3}, chunks=5, activations="checkpoint", dropout=0.2
    )
    assert made.activations == "checkpoint" and len(made.blocks) == 2
    for block in made.blocks:
        assert isinstance(block.attention, LSHAttention) and isinstance(block.cross_attention, MultiHeadAttention)
        assert block.attention.factors == [4, 6] and block.attention.rounds == 3
        assert isinstance(block.feedforward, ChunkedFeedForward) and block.feedforward.chunks == 5
        assert [drop.rate for drop in block.dropout_layers] == [0.2] * 3
    assert len({block.attention.seed for block in made.blocks}) == 2
    plain = reformer(hashing=None)
    assert plain.activations == "reversible"
    for block in plain.blocks:
        assert isinstance(block.attention, MultiHeadAttention) and isinstance(block.feedforward, FeedForward)
        assert block.cross_attention is None


def universal(rule=None):
    return make_universal_stack(3, 6, 2, 8, rule and Halting(rule, threshold=0.9), seed=1)


def test_embeddings_are_given_without_positions():
    model = Transformer(SOURCES, TARGETS, universal(), make_stack(1, 6, 2, 8, cross=True))
    assert type(model.source_positions) is NoPositions and type(model.positions) is SinusoidalPositions
    for make in (Classifier, Tagger):
        assert type(make(TARGETS, 3, universal()).positions) is NoPositions
        assert type(make(TARGETS, 3, make_stack(1, 6, 2, 8)).positions) is SinusoidalPositions
    assert type(LanguageModel(TARGETS, universal()).positions) is NoPositions
    given = LanguageModel(TARGETS, universal(), SinusoidalPositions())
    assert type(given.positions) is SinusoidalPositions


@pytest.mark.slow
def test_a_compiled_training_step_pays_for_thinking():
    """Loss and ponder cost of an update; a high price makes positions halt sooner."""
    ids = token_ids(((1, 11), (2, 7), (3, 9)), 12, 11)
    batch = {"token_ids": ids[:, :-1], "labels": ids[:, 1:], "weights": np.ones((3, 11), "float32")}
    steps = {}
    for ponder in (0.0, 3.0):
        keras.utils.set_random_seed(3)
        decoder = make_universal_stack(4, 6, 2, 8, Halting(ponder=ponder), dropout=0.0, max_offset=3)
        model = LanguageModel(13, decoder, dropout=0.0)
        model.build()
        decoder.halting.dense.bias.assign([-2.0])
        training = make_steps(model, keras.optimizers.SGD(0.1), SmoothedCrossEntropy())
        first = float(training.train(batch))
        for _ in range(20):
            last = float(training.train(batch))
        assert last < first
        training.sync()
        thought = decoder.ponder(model.embedding(ids), causal=True)[1]
        steps[ponder] = float(ops.mean(thought["updates"]))
    assert steps[3.0] < steps[0.0]


def test_a_compiled_pass_stops_early_too():
    model = randomised(LanguageModel(TARGETS, universal("accumulated"), dropout=0.0))
    ids = token_ids(((1, 7), (2, 7)), 7, TARGETS)
    expected = ops.convert_to_numpy(model({"token_ids": ids}))
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        compiled = tf.function(lambda ids: model({"token_ids": ids}))
    else:
        import jax

        compiled = jax.jit(lambda ids: model({"token_ids": ids}))
    assert_close([ops.convert_to_numpy(compiled(ids))], [expected])
