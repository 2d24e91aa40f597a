"""Ids enter a network in one place: positions of one's own that do more than add rows decode as they train."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from keras import layers, ops

from tests.models.cases import TARGETS
from tests.weights import of_policy, randomised
from zoo.check.laws import lengths, token_ids
from zoo.check.steps import check_steps
from zoo.core.masks import ImplicitMasks
from zoo.core.protocols import Positions
from zoo.decoding import greedy
from zoo.depth import GeometricExit, make_depth_adaptive_stack, make_stack
from zoo.embeddings import LearnedPositions
from zoo.models import DepthAdaptiveTransformer, LanguageModel, Tagger, Transformer

SIZES = {"units": 6, "num_heads": 2, "hidden_units": 8}
ROWS = ((1, 4), (2, 2), (3, 0))
PROMPTS, LENGTHS = token_ids(ROWS, 4, TARGETS), lengths(ROWS)
FOLLOWING = token_ids(((7, 6), (8, 6), (9, 6)), 6, TARGETS).reshape(3, 2, 3)
PARENTS = np.array([[[1, 0, 0], [0, 0, 1]], [[0, 1, 1], [1, 1, 0]], [[0, 0, 1], [1, 0, 1]]])


class Normed(layers.Layer):
    """`LN(x + P)`, as BART has it, by somebody who read the protocol and no more: nothing of the zoo is inherited."""

    traits = Positions(by_place=True, longest=16)

    def build(self, x_shape):
        self.matrix = self.add_weight(name="matrix", shape=(16, x_shape[-1]))
        self.norm = layers.LayerNormalization(name="norm", dtype=self.dtype_policy)
        self.norm.build(x_shape)

    def at(self, positions, units):
        return ops.take(ops.cast(self.matrix, self.compute_dtype), positions, axis=0)

    def call(self, x, mask=None):
        return self.norm(x + self.at(ops.arange(ops.shape(x)[1], dtype="int32"), x.shape[-1]))


class NormedLearned(LearnedPositions):
    """The same on top of the zoo's, with the arguments that the docs show."""

    def build(self, x_shape):
        super().build(x_shape)
        self.norm = layers.LayerNormalization(name="norm", dtype=self.dtype_policy)
        self.norm.build(x_shape)

    def call(self, x, mask=None):
        return self.norm(super().call(x, mask))


class Scaled(ImplicitMasks, layers.Layer):
    """`x_t (1 + t / 7)`: no rows are added, there is no `at`, and it is told where a new vector stands."""

    traits = Positions(by_place=True)

    def call(self, x, mask=None, places=None):
        places = ops.arange(ops.shape(x)[1], dtype="int32")[None] if places is None else places
        return x * (1.0 + ops.cast(places, x.dtype)[:, :, None] / 7.0)


def language_model(positions):
    return LanguageModel(TARGETS, make_stack(2, **SIZES), positions, dropout=0.0)


def transformer(positions):
    stacks = make_stack(1, **SIZES), make_stack(2, **SIZES, cross=True)
    return Transformer(TARGETS, TARGETS, *stacks, dropout=0.0, positions=positions)


def depth_adaptive(positions):
    stacks = make_stack(1, **SIZES), make_depth_adaptive_stack(3, **SIZES, exit=GeometricExit(3))
    return DepthAdaptiveTransformer(TARGETS, TARGETS, *stacks, dropout=0.0, positions=positions)


MODELS = [language_model, transformer, depth_adaptive]
LAYERS = {"normed": Normed, "normed-learned": lambda: NormedLearned(16), "scaled": Scaled}


EVERY_RUN = [("normed", language_model, 4), ("normed-learned", transformer, None), ("scaled", depth_adaptive, 4)]
OTHERS = [one for one in itertools.product(LAYERS, MODELS, (None, 4)) if one not in EVERY_RUN]


@pytest.mark.parametrize(
    ("positions", "make", "max_length"),
    [*EVERY_RUN, *(pytest.param(*one, marks=pytest.mark.slow) for one in OTHERS)],
    ids=lambda value: value.__name__ if callable(value) else str(value),
)
def test_steps_are_the_full_pass(positions, make, max_length):
    model = randomised(make(LAYERS[positions]()), 3, 0.4)
    check_steps(model, PROMPTS, LENGTHS, FOLLOWING, PARENTS, max_length)


@pytest.mark.release(but=3)
@pytest.mark.slow
@pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("positions", LAYERS)
def test_graphs_write_what_python_writes(make, positions):
    """With growing caches in a graph of dynamic sizes, and with static ones compiled by XLA."""
    model = randomised(make(LAYERS[positions]()), 3, 0.4)

    def write(ids, counts, growing):
        return greedy(model, model.encode(ids, counts), 5, growing=growing)[0]

    expected = ops.convert_to_numpy(write(PROMPTS, LENGTHS, False))
    specs = [tf.TensorSpec((None, None), "int32"), tf.TensorSpec((None,), "int32")]
    graph = tf.function(lambda ids, counts: write(ids, counts, True), input_signature=specs, autograph=False)
    compiled = tf.function(lambda ids, counts: write(ids, counts, False), jit_compile=True, autograph=False)
    for function in (graph, compiled):
        np.testing.assert_array_equal(function(PROMPTS, LENGTHS), expected)


def test_a_norm_behind_the_sum_is_its_equation():
    """In a step, too: `LN(sqrt(d) E_i + P_t)`, by NumPy in float64."""
    model = randomised(language_model(Normed()), 3, 0.4)
    layer, entrance = model.positions, model.entrance
    ids, places = np.array([[3, 5], [1, 4]], "int32"), np.array([2, 9], "int32")
    found = ops.convert_to_numpy(entrance.step(ids, places))
    matrix, rows = (np.asarray(weight, "float64") for weight in (model.embedding.matrix, layer.matrix))
    summed = 6**0.5 * matrix[ids] + rows[places][:, None]
    centred = summed - summed.mean(-1, keepdims=True)
    normed = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + layer.norm.epsilon)
    expected = normed * np.asarray(layer.norm.gamma) + np.asarray(layer.norm.beta)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(ops.convert_to_numpy(entrance.step(ids, places, 16)), expected, atol=1e-5)


def test_labels_are_read_through_the_same_entrance():
    model = Tagger(TARGETS, 3, make_stack(1, **SIZES), NormedLearned(16), dropout=0.0)
    inputs = {"token_ids": PROMPTS, "lengths": LENGTHS}
    states, mask = (np.asarray(each) for each in model.read(inputs))
    kept = np.where(mask, PROMPTS, 0)
    entered = model.positions(model.embedding(kept))
    np.testing.assert_allclose(model.entrance.read(kept, mask)[0], entered, atol=1e-6)
    expected = np.asarray(model.encoder(entered, mask=mask))
    np.testing.assert_allclose(states[mask], expected[mask], atol=1e-5)


def test_mixed_precision_enters_alike():
    with of_policy("mixed_bfloat16"):
        model = randomised(language_model(Normed()), 3, 0.4)
    whole, _ = model.entrance.read(PROMPTS)
    for place in range(4):
        step = model.entrance.step(PROMPTS[:, place : place + 1], np.full(3, place, "int32"))
        assert step.dtype == "bfloat16"
        np.testing.assert_array_equal(ops.cast(step, "float32"), ops.cast(whole[:, place : place + 1], "float32"))
