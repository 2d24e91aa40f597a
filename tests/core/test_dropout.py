"""Dropout drops what it should, and no two masks have anything to do with each other."""

import keras
import numpy as np
import pytest

from zoo.core.dropout import Dropout, random_bits

SIZE = 2**18


def streams(seeds):
    """Standardised masks of rate 0.1, a row a seed."""
    bits = [keras.ops.convert_to_numpy(random_bits(SIZE, keras.ops.convert_to_tensor(s, "uint32"))) for s in seeds]
    return ((np.array(bits) >= 0.1 * 2**32) - 0.9) / np.sqrt(0.09)


@pytest.mark.parametrize("seeds", ([[7, count] for count in range(16)], [[seed, 0] for seed in range(16)]))
def test_masks_are_as_good_as_independent(seeds):
    masks = streams(seeds)
    assert np.abs(masks.mean(axis=1)).max() * SIZE**0.5 < 5
    between = masks @ masks.T / SIZE**0.5
    assert np.abs(between[np.triu_indices(len(seeds), 1)]).max() < 5
    for lag in (1, 2, 3, 8, 32, 256, 1024):
        assert np.abs((masks[:, :-lag] * masks[:, lag:]).sum(axis=1)).max() / SIZE**0.5 < 5


def test_kept_entries_are_scaled_and_calls_differ():
    layer, x = Dropout(0.3, seed=1), np.ones((64, 100), "float32")
    first, second = (np.asarray(layer(x, training=True)) for _ in range(2))
    assert set(np.unique(first)) == {np.float32(0), np.float32(1 / 0.7)}
    assert abs((first == 0).mean() - 0.3) < 0.03
    assert not np.array_equal(first, second)
    assert np.array_equal(first, np.asarray(Dropout(0.3, seed=1)(x, training=True)))
    assert np.array_equal(np.asarray(layer(x)), x)


def test_a_noise_shape_drops_whole_axes():
    x = np.ones((5, 64, 7), "float32")
    dropped = np.asarray(Dropout(0.4, noise_shape=(None, 1, 7), seed=1)(x, training=True))
    assert np.array_equal(dropped, np.broadcast_to(dropped[:, :1], dropped.shape)), "alike at all times"
    assert 0.2 < (dropped[:, 0] == 0).mean() < 0.6
    rows = np.asarray(Dropout(0.4, noise_shape=[None, 64, 1], seed=1)(x, training=True))
    assert np.array_equal(rows, np.broadcast_to(rows[:, :, :1], rows.shape)) and abs((rows == 0).mean() - 0.4) < 0.1
    graph = keras.Sequential([keras.Input((None, 7)), Dropout(0.4, noise_shape=(None, 1, 7), seed=1)])
    assert np.array_equal(np.asarray(graph(x, training=True)), dropped)
    config = Dropout(0.4, (None, 1, 7)).get_config()
    assert Dropout.from_config(config).noise_shape == (None, 1, 7)


def test_a_noise_shape_of_other_axes_is_refused():
    with pytest.raises(ValueError, match=r"as many axes as its input has, 3. Received: \(None, 1\)"):
        Dropout(0.5, noise_shape=(None, 1))(np.ones((2, 3, 4), "float32"), training=True)


@pytest.mark.parametrize("rate", (0.999, 1 - 2**-20, 0.9999999999, 1 - 2**-53))
def test_rates_next_to_1_drop_nearly_everything(rate):
    """What is kept is scaled by the rate that 32 bits can hold, never everything by 10 to the 10."""
    x = np.ones(2**20, "float32")
    dropped = np.asarray(Dropout(rate, seed=1)(x, training=True))
    kept, expected = np.count_nonzero(dropped), (1 - rate) * x.size
    assert abs(kept - expected) <= 5 * max(expected, 1) ** 0.5
    scale = 1 / max(1 - rate, 2.0**-32)
    np.testing.assert_allclose(dropped[dropped != 0], scale, rtol=1e-5)


@pytest.mark.parametrize("rate", (-0.1, 1.0))
def test_impossible_rates(rate):
    with pytest.raises(ValueError, match="rate"):
        Dropout(rate)
