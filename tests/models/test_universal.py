"""Universal Transformers as models: positions are their own, and each compiled training step pays for thinking."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.models.cases import SOURCES, TARGETS
from tests.weights import randomised
from zoo.check.laws import assert_close, token_ids
from zoo.depth import Halting, make_stack, make_universal_stack
from zoo.embeddings import NoPositions, SinusoidalPositions
from zoo.models import Classifier, LanguageModel, Tagger, Transformer
from zoo.training import SmoothedCrossEntropy, make_steps


def stack(rule=None):
    return make_universal_stack(3, 6, 2, 8, rule and Halting(rule, threshold=0.9), seed=1)


def test_embeddings_are_given_without_positions():
    model = Transformer(SOURCES, TARGETS, stack(), make_stack(1, 6, 2, 8, cross=True))
    assert type(model.source_positions) is NoPositions and type(model.positions) is SinusoidalPositions
    for make in (Classifier, Tagger):
        assert type(make(TARGETS, 3, stack()).positions) is NoPositions
        assert type(make(TARGETS, 3, make_stack(1, 6, 2, 8)).positions) is SinusoidalPositions
    assert type(LanguageModel(TARGETS, stack()).positions) is NoPositions
    given = LanguageModel(TARGETS, stack(), SinusoidalPositions())
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
    model = randomised(LanguageModel(TARGETS, stack("accumulated"), dropout=0.0))
    ids = token_ids(((1, 7), (2, 7)), 7, TARGETS)
    expected = ops.convert_to_numpy(model({"token_ids": ids}))
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        compiled = tf.function(lambda ids: model({"token_ids": ids}))
    else:
        import jax

        compiled = jax.jit(lambda ids: model({"token_ids": ids}))
    assert_close([ops.convert_to_numpy(compiled(ids))], [expected])
