"""Token ids and positions as vectors."""

import keras
import numpy as np
import pytest
from keras import ops

from tests import star_oracles, transformer_oracles
from zoo.check.laws import length_mask, sequences
from zoo.embeddings import (
    AxialPositions,
    ConcatenatedPositions,
    ConvolutionalPositions,
    LearnedPositions,
    SentenceEmbedding,
    SinusoidalPositions,
    SpelledEmbedding,
    TokenEmbedding,
)

IDS = np.array([[0, 12, 5], [5, 5, 1]], "int32")


def test_tokens_are_scaled_rows_and_logits_products_with_them():
    layer = TokenEmbedding(13, 7)
    x = ops.convert_to_numpy(layer(IDS))
    matrix = ops.convert_to_numpy(layer.matrix).astype("float64")
    np.testing.assert_allclose(x, np.sqrt(7) * matrix[IDS], atol=1e-6)
    hidden = sequences(((1, 3), (2, 3)), 3, 7)
    np.testing.assert_allclose(ops.convert_to_numpy(layer.logits(hidden)), hidden @ matrix.T, atol=1e-5)
    assert len(layer.weights) == 1


def test_scaled_embeddings_start_with_variance_one():
    layer = TokenEmbedding(1009, 61)
    assert abs(ops.convert_to_numpy(layer(np.arange(1009))).std() - 1) < 0.02


@pytest.mark.parametrize("layer", [TokenEmbedding(13, 7), SpelledEmbedding(13, 7), SentenceEmbedding(13, 7)])
def test_ids_may_be_numbers_of_any_kind(layer):
    def vectors(ids):
        return ops.convert_to_numpy(keras.tree.flatten(layer(ids))[0])

    for dtype in ("uint8", "uint16", "int64", "float32"):
        np.testing.assert_array_equal(vectors(IDS.astype(dtype)), vectors(IDS))


@keras.saving.register_keras_serializable("tests")
class OfOnesOwn(keras.Model):
    """Without a `build`: Keras builds it by a call with a symbolic float32, when it reads a file, too."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.embedding, self.readout = TokenEmbedding(13, 7), keras.layers.Dense(3)

    def call(self, ids):
        return self.readout(self.embedding(ids))


def test_a_model_of_ones_own_has_its_weights_out_of_a_file(tmp_path):
    model = OfOnesOwn()
    expected = ops.convert_to_numpy(model(IDS))
    model.save(tmp_path / "model.keras")
    received = keras.models.load_model(tmp_path / "model.keras")(IDS)
    np.testing.assert_array_equal(ops.convert_to_numpy(received), expected)


def test_logits_are_float32_in_low_precision():
    layer = TokenEmbedding(13, 7, dtype="mixed_bfloat16")
    x = layer(IDS)
    assert ops.dtype(x) == "bfloat16"
    assert ops.dtype(layer.logits(x)) == "float32"


@pytest.mark.parametrize("units", [1, 5, 8])
def test_sinusoids_are_the_papers(units):
    layer = SinusoidalPositions()
    x = sequences(((1, 211),), 211, units)
    expected = x[0] + transformer_oracles.sinusoids(211, units)
    np.testing.assert_allclose(ops.convert_to_numpy(layer(x))[0], expected, atol=2e-5)
    assert not layer.weights


def test_sinusoids_far_out_are_still_the_papers():
    """Float32 angles of thousands: an error of the angle's own precision, no more."""
    layer, places = SinusoidalPositions(), np.array([997, 4999], "int32")
    expected = transformer_oracles.sinusoids(5000, 7)[places]
    np.testing.assert_allclose(ops.convert_to_numpy(layer.at(places, 7)), expected, atol=1e-3)


def test_learned_positions_are_rows_of_the_matrix():
    layer = LearnedPositions(11)
    x = sequences(((1, 7), (2, 7)), 7, 5)
    received = ops.convert_to_numpy(layer(x))
    matrix = ops.convert_to_numpy(layer.matrix)
    assert matrix.shape == (11, 5)
    np.testing.assert_allclose(received, x + matrix[:7], atol=1e-6)


@pytest.mark.parametrize("row_units", [None, 2, 5])
def test_axial_positions_are_a_row_and_a_column(row_units):
    layer = AxialPositions((4, 3), row_units)
    width = row_units or 3
    x = sequences(((1, 12), (2, 12)), 12, 6)
    received = ops.convert_to_numpy(layer(x))
    rows, columns = (ops.convert_to_numpy(matrix) for matrix in (layer.rows, layer.columns))
    assert rows.shape == (4, width) and columns.shape == (3, 6 - width) and layer.max_positions == 12
    for place in range(12):
        added = np.concatenate([rows[place // 3], columns[place % 3]])
        np.testing.assert_allclose(received[:, place], x[:, place] + added, atol=1e-6)
    np.testing.assert_array_equal(layer.at(np.array([11, 12, 99], "int32")), np.tile(added, (3, 1)))
    with pytest.raises(ValueError, match="13 positions is too long: expected at most max_positions=12"):
        layer(np.zeros((1, 13, 6), "float32"))


@pytest.mark.parametrize("shape", [(0, 3), (3,), (2, 3, 4), (2.0, 3), ()])
def test_grids_are_checked(shape):
    with pytest.raises(ValueError, match="rows and columns of the grid.*Received: shape="):
        AxialPositions(shape)


def test_axial_positions_need_even_units():
    with pytest.raises(ValueError, match="must be even, or row_units given. Received: 5"):
        AxialPositions((4, 3)).build((None, None, 5))
    with pytest.raises(ValueError, match="no channel for the columns.*Received: row_units=5"):
        AxialPositions((4, 3), 5).build((None, None, 5))
    with pytest.raises(ValueError, match="positive row_units, or None. Received: row_units=0"):
        AxialPositions((4, 3), 0)


@pytest.mark.parametrize("width", [1, 3, 7])
def test_a_convolution_is_its_sum(width):
    """Also over fewer positions than it is wide."""
    layer, rows = ConvolutionalPositions(width), ((1, 5), (2, 2), (3, 0))
    x, mask = sequences(rows, 5, 3, noise=4), length_mask(rows, 5)
    layer(x)
    layer.mix.bias.assign([0.5, -0.5, 0.1])
    received = ops.convert_to_numpy(layer(x, mask=mask))
    for row, (_, length) in enumerate(rows):
        expected = transformer_oracles.convolve(layer, x[row, :length].astype("float64"))
        np.testing.assert_allclose(received[row, :length], expected, atol=1e-5)


def test_positions_may_stand_beside_the_embeddings():
    layer, x = ConcatenatedPositions(11, 3), sequences(((1, 7), (2, 7)), 7, 5)
    layer(x)
    layer.projection.bias.assign(np.arange(5.0))
    received = ops.convert_to_numpy(layer(x))
    for row in range(2):
        np.testing.assert_allclose(received[row], star_oracles.concatenated(layer, x[row].astype("float64")), atol=1e-5)
    with pytest.raises(ValueError, match="12 positions is too long: expected at most max_positions=11"):
        layer(np.zeros((1, 12, 5), "float32"))
    with pytest.raises(ValueError, match="positive number of units. Received: units=0"):
        ConcatenatedPositions(11, 0)


@pytest.mark.parametrize("width", [0, -1, 2, 3.0, None])
def test_widths_are_checked(width):
    with pytest.raises(ValueError, match=f"odd number as width. Received: {width!r}"):
        ConvolutionalPositions(width)


@pytest.mark.parametrize(
    "make",
    [SinusoidalPositions, lambda: LearnedPositions(11), lambda: AxialPositions((4, 3))],
    ids=["sinusoidal", "learned", "axial"],
)
def test_rows_may_be_asked_for_in_any_shape(make):
    layer = make()
    whole = ops.convert_to_numpy(layer(np.zeros((1, 11, 6), "float32")))[0]
    for places in (np.array(3), np.array([7, 0]), np.array([[1, 10, 2], [0, 0, 5]])):
        found = ops.convert_to_numpy(layer.at(places.astype("int32"), 6))
        np.testing.assert_allclose(found, whole[places], atol=1e-6)


def test_positions_beyond_the_matrix():
    """Refused where the length is known, the last row where it is not."""
    layer = LearnedPositions(5)
    layer(np.zeros((1, 5, 3), "float32"))
    with pytest.raises(ValueError, match="6 positions is too long: expected at most max_positions=5. Cut it"):
        layer(np.zeros((1, 6, 3), "float32"))
    last = ops.convert_to_numpy(layer.matrix)[4]
    np.testing.assert_array_equal(ops.convert_to_numpy(layer.at(np.array([4, 5, 99], "int32"))), [last] * 3)


@pytest.mark.parametrize(("name", "sizes"), [("vocab_size", (0, 7)), ("vocab_size", (2.0, 7)), ("units", (13, None))])
def test_sizes_are_checked(name, sizes):
    wrong = sizes[name == "units"]
    with pytest.raises(ValueError, match=f"positive integer as {name}. Received: {wrong!r}"):
        TokenEmbedding(*sizes)


@pytest.mark.parametrize("max_positions", [0, -1, 2.0, None])
def test_positions_are_checked(max_positions):
    with pytest.raises(ValueError, match=f"positive number of positions. Received: {max_positions!r}"):
        LearnedPositions(max_positions)


def test_spelled_words_are_sums_over_their_pieces():
    """Three words of two, one and two pieces, and padding, against sums in NumPy."""
    layer, random = SpelledEmbedding(9, 5, features=3, buckets=7), np.random.default_rng(0)
    table, starts = random.integers(7, size=(9, 3)), np.array([1, 1, 1, 1, 1, 0, 0, 1, 1])
    layer.set_features(table, starts)
    ids, words = np.array([[4, 5, 7, 8, 6, 0, 0]], "int32"), [[0, 1], [2], [3, 4], [5], [6]]
    matrix, spelling = (ops.convert_to_numpy(each).astype("float64") for each in (layer.matrix, layer.spelling))
    pieces = np.array([matrix[i] + sum(spelling[f] for f in table[i]) / np.sqrt(3) for i in ids[0]])
    expected = np.zeros((7, 5))
    for word in words:
        expected[word] = np.sqrt(5 / len(word)) * sum(pieces[place] for place in word)
    np.testing.assert_allclose(ops.convert_to_numpy(layer(ids))[0], expected, atol=1e-5)


def test_spelling_is_never_hidden():
    layer = SpelledEmbedding(9, 5, features=2, dropout=0.5, seed=1)
    layer.set_features(np.zeros((9, 2), "int32"), np.ones(9, "int32"))
    layer.matrix.assign(ops.zeros((9, 5)))
    ids = np.arange(9, dtype="int32")[None]
    plain, hidden = (ops.convert_to_numpy(layer(ids, training=training)) for training in (False, True))
    np.testing.assert_allclose(plain, hidden, atol=1e-6)
    layer.matrix.assign(ops.ones((9, 5)))
    plain, hidden = (ops.convert_to_numpy(layer(ids, training=training)) for training in (False, True))
    steps = np.round((hidden - ops.convert_to_numpy(plain)) / np.sqrt(5), 4)  # -1 where hidden, +1 where kept
    assert set(np.unique(steps)) == {-1.0, 1.0} and (steps == steps[:, :, :1]).all()


@pytest.mark.parametrize("make", [lambda: LearnedPositions(97), lambda: AxialPositions((31, 29))])
def test_learned_positions_start_with_the_variance_of_sinusoids(make):
    keras.utils.set_random_seed(1)
    length = 90
    x = np.zeros((1, length, 64), "float32")
    found, sinusoids = (ops.convert_to_numpy(layer(x)) for layer in (make(), SinusoidalPositions()))
    assert abs(found.var() - 0.5) < 0.05 and abs((sinusoids**2).mean() - 0.5) < 1e-3
