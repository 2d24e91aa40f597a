"""A Transformer whose positions are learned, and one whose decoder has adaptive spans: steps, files, refusals."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.weights import randomised
from zoo.attention import AdaptiveSpanAttention, MultiHeadAttention
from zoo.blocks import PreNorm
from zoo.check.laws import lengths, token_ids
from zoo.check.steps import check_steps
from zoo.depth import DepthAdaptiveStack, GeometricExit, make_stack
from zoo.embeddings import AxialPositions, ConvolutionalPositions, LearnedPositions
from zoo.feedforward import FeedForward
from zoo.models import DepthAdaptiveTransformer, Transformer

VOCABULARY = 11
ROWS = ((1, 7), (2, 3), (3, 1))
SOURCE, LENGTHS = token_ids(ROWS, 7, VOCABULARY, noise=5), lengths(ROWS)
INPUTS = {
    "source_ids": SOURCE,
    "source_lengths": LENGTHS,
    "target_ids": token_ids(((4, 5), (5, 5), (6, 5)), 5, VOCABULARY),
}
FOLLOWING = token_ids(((7, 8), (8, 8), (9, 8)), 8, VOCABULARY).reshape(3, 2, 4)
PARENTS = token_ids(((4, 8), (5, 8), (6, 8)), 8, 2).reshape(3, 2, 4)


def encoder():
    return make_stack(1, units=6, num_heads=2, hidden_units=8)


def block(kind=PreNorm, attention=None):
    span = attention or AdaptiveSpanAttention(6, 2, max_span=4, ramp=2, initial_span=2)
    return kind(span, FeedForward(6, 8), MultiHeadAttention(6, 2))


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("max_length", [pytest.param(None, marks=pytest.mark.slow), 6], ids=["growing", "static"])
def test_tokens_that_leave_early_pass_by_adaptive_spans(max_length):
    decoder = DepthAdaptiveStack([block(), block(), block()], GeometricExit(3))
    model = randomised(DepthAdaptiveTransformer(VOCABULARY, VOCABULARY, encoder(), decoder), 3, but=("fractions",))
    kernel = decoder.exit.dense.kernel
    kernel.assign(8.0 * ops.convert_to_tensor(kernel))  # tokens differ in their depths
    check_steps(model, SOURCE, LENGTHS, FOLLOWING, PARENTS, max_length)
    exits = ops.convert_to_numpy(model.think(INPUTS)["exits"])
    assert len(np.unique(exits)) > 1  # or else nobody would have passed by


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize(
    "make", [lambda: LearnedPositions(9), lambda: AxialPositions((3, 3))], ids=["learned", "axial"]
)
@pytest.mark.parametrize("adaptive", [pytest.param(False, marks=pytest.mark.slow), True])
def test_positions_of_a_transformer_are_what_it_is_given(make, adaptive, tmp_path):
    decoder = make_stack(2, units=6, num_heads=2, hidden_units=8, cross=True)
    if adaptive:
        decoder = DepthAdaptiveStack(decoder.blocks, GeometricExit(2))
    model = (DepthAdaptiveTransformer if adaptive else Transformer)(
        VOCABULARY, VOCABULARY, encoder(), decoder, positions=make()
    )
    randomised(model, 3, but=("fractions",))
    check_steps(model, SOURCE, LENGTHS, FOLLOWING, PARENTS)
    sides = model.source_positions.get_weights(), model.positions.get_weights()
    assert all((one != other).any() for one, other in zip(*sides, strict=True))  # a matrix for each side
    logits = ops.convert_to_numpy(model(INPUTS))
    for side in (model.source_positions, model.positions):
        before = side.get_weights()
        side.set_weights([each + 1.0 + np.arange(each.shape[-1]) for each in before])
        assert np.abs(ops.convert_to_numpy(model(INPUTS)) - logits).max() > 1e-3
        side.set_weights(before)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert type(again.positions) is type(again.source_positions) is type(model.positions)
    np.testing.assert_array_equal(ops.convert_to_numpy(again(INPUTS)), logits)
    with pytest.raises(ValueError, match="max_length=10 is too long: .* 9 tokens"):
        model.start(model.encode(SOURCE, LENGTHS), max_length=10)
    with pytest.raises(ValueError, match="A sequence of 10 positions is too long"):
        model({**INPUTS, "target_ids": np.ones((3, 10), "int32")})


def test_positions_that_look_ahead_are_refused():
    with pytest.raises(ValueError, match="must not look ahead.*Received: ConvolutionalPositions"):
        Transformer(9, 9, encoder(), make_stack(1, 6, 2, 8, cross=True), positions=ConvolutionalPositions())
