"""A batch in parts is the batch: gradient accumulation, and losses that are scaled for float16."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.shared import once_more_on_jax
from tests.training import tiny
from zoo.depth import make_stack, make_star_stack
from zoo.feedforward import ProductKeyMemory
from zoo.models import LanguageModel, Tagger
from zoo.training import ChunkedCrossEntropy, RowAdam, SmoothedCrossEntropy, make_steps
from zoo.training.steps.shared import rows_by_part


def batch(step=0, rows=16, time=7):
    """Rows of other lengths, and one that is all padding."""
    draw = np.random.default_rng(step)
    lengths = draw.integers(1, time + 1, rows).astype("int32")
    weights = (np.arange(time) < lengths[:, None]).astype("float32")
    weights[3] = 0.0
    return {
        "token_ids": draw.integers(4, 11, (rows, time)).astype("int32"),
        "lengths": lengths,
        "labels": draw.integers(0, 5, (rows, time)).astype("int32"),
        "weights": weights,
    }


def trained(parts, optimizer=None, loss=None, steps=4, model=None):
    """(weights, losses) after some updates."""
    keras.utils.set_random_seed(1)
    model = (
        model()
        if model
        else Tagger(11, 5, make_stack(1, units=8, num_heads=2, hidden_units=8, dropout=0.0), dropout=0.0)
    )
    model.build()
    compiled = make_steps(model, optimizer() if optimizer else sgd(), loss or SmoothedCrossEntropy(0.1), parts)
    losses = [float(compiled.train(batch(step))) for step in range(steps)]
    compiled.sync()
    assert compiled.num_programs == 1
    return [np.array(weight.value, copy=None) for weight in model.trainable_variables], losses


def sgd():
    """Its updates are the gradients, where Adam's are hardly more than their signs; they are clipped when whole."""
    return keras.optimizers.SGD(0.1, global_clipnorm=0.5)


def same(one, other):
    for mine, yours in zip(one, other, strict=True):
        np.testing.assert_allclose(mine, yours, atol=1e-5, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("parts", [2, 4])
def test_parts_train_as_the_whole_batch(parts):
    """Though they have other numbers of tokens; one of 16 parts has none."""
    whole, found = trained(1), trained(parts)
    same(found[0], whole[0])
    np.testing.assert_allclose(found[1], whole[1], rtol=1e-5)


class Idle(keras.Model):
    """Labels each token by its embedding, and has a layer that nothing reads."""

    def __init__(self):
        super().__init__()
        self.logits, self.idle = keras.layers.Embedding(11, 5), keras.layers.Dense(5)

    def build(self, input_shape=None):
        self.logits.build()
        self.idle.build((None, 5))
        self.built = True

    def call(self, inputs, training=None):
        return self.logits(inputs["token_ids"])


def star():
    """The last relay of a star that tags: nothing reads it."""
    return Tagger(11, 5, make_star_stack(2, 8, 2), dropout=0.0)


@pytest.mark.parametrize("model", [Idle, pytest.param(star, marks=pytest.mark.slow)])
def test_a_weight_without_a_gradient_stays_as_it_is(model):
    whole, found = trained(1, steps=1, model=model), trained(2, steps=1, model=model)
    same(found[0], whole[0])


@pytest.mark.slow
def test_a_part_of_padding_alone_adds_nothing():
    same(trained(16)[0], trained(1)[0])


@pytest.mark.slow
def test_in_chunks_of_the_time_too():
    def chunked():
        return LanguageModel(11, make_stack(1, units=8, num_heads=2, hidden_units=8, dropout=0.0), dropout=0.0)

    def without_lengths(parts):
        keras.utils.set_random_seed(1)
        model = chunked()
        model.build()
        compiled = make_steps(model, sgd(), ChunkedCrossEntropy(2), parts)
        for step in range(3):
            one = batch(step)
            compiled.train({name: one[name] for name in ("token_ids", "labels", "weights")})
        compiled.sync()
        return [np.array(weight.value, copy=None) for weight in model.trainable_variables]

    same(without_lengths(4), without_lengths(1))


@pytest.mark.slow
def test_rows_of_a_memory_are_updated_as_with_the_whole_batch():
    def memory():
        stack = make_stack(1, units=8, num_heads=2, hidden_units=8, dropout=0.0)
        stack.blocks[0].feedforward = ProductKeyMemory(8, num_keys=4, k=2, num_heads=2, query_dim=4, query_norm="layer")
        return Tagger(11, 5, stack, dropout=0.0)

    def optimizer():
        return RowAdam(0.01, row_learning_rate=0.01, epsilon=1e-3)

    same(trained(4, optimizer, steps=2, model=memory)[0], trained(1, optimizer, steps=2, model=memory)[0])


def test_each_part_has_rows_of_every_block():
    """Blocks of rows lie on other devices; so no row has to move."""
    np.testing.assert_array_equal(ops.convert_to_numpy(rows_by_part(np.arange(6), 2)), [[0, 2, 4], [1, 3, 5]])


@pytest.mark.slow
def test_a_scaled_loss_is_the_loss():
    """The gradients are scaled back before they are clipped, and the value is not scaled."""
    scaled = trained(1, lambda: keras.optimizers.LossScaleOptimizer(sgd(), initial_scale=1024.0))
    same(scaled[0], trained(1)[0])
    np.testing.assert_allclose(scaled[1], trained(1)[1], rtol=1e-5)
    same(trained(4, lambda: keras.optimizers.LossScaleOptimizer(sgd(), initial_scale=64.0))[0], trained(1)[0])


class Huge(SmoothedCrossEntropy):
    """A loss whose scaled gradient is beyond float32."""

    def call(self, labels, logits):
        return 1e30 * super().call(labels, logits)


@pytest.mark.slow
def test_a_gradient_that_overflows_is_left_out_and_the_scale_halved():
    model = Tagger(11, 5, make_stack(1, units=8, num_heads=2, hidden_units=8, dropout=0.0), dropout=0.0)
    model.build()
    optimizer = keras.optimizers.LossScaleOptimizer(sgd(), initial_scale=1e30)
    compiled = make_steps(model, optimizer, Huge())
    before = [np.array(weight.value, copy=None).copy() for weight in model.trainable_variables]
    compiled.train(batch())
    compiled.sync()
    assert float(optimizer.dynamic_scale) == pytest.approx(5e29)
    for old, weight in zip(before, model.trainable_variables, strict=True):
        np.testing.assert_array_equal(old, np.array(weight.value, copy=None))


@pytest.mark.parametrize("parts", [0, 1.5, "2"])
def test_wrong_numbers_of_parts_are_refused(parts):
    with pytest.raises(ValueError, match="parts must be a whole number, at least 1; received"):
        make_steps(tiny.ByName(), sgd(), SmoothedCrossEntropy(), parts)


@pytest.mark.release
def test_the_same_on_jax():
    once_more_on_jax(__file__)
