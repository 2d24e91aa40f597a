"""Weights in 16 and 8 bits are the nearest ones, the same for every form, and float32 for whoever loads them."""

import contextlib
import io
import struct
import zipfile

import h5py
import keras
import numpy as np
import pytest

from serving.export import Settings
from serving.export.storage import (
    SMALLEST,
    WEIGHTS,
    check,
    rewrite,
    round_nearest,
    round_weights,
    split_steps,
    write_arrays,
)
from tests.serving.conftest import make_model, make_seq2seq


def by_struct(value):
    """The nearest float16, by Python's own packing."""
    return struct.unpack("<e", struct.pack("<e", float(value)))[0]


def arrays(model):
    """The float32 weights. The others are states of random generators, which Keras draws anew."""
    return {weight.path: np.asarray(weight.numpy()) for weight in model.variables if weight.dtype == "float32"}


def stored(path):
    """The dtype of every array in a `.keras` archive."""
    found = {}
    with zipfile.ZipFile(path) as archive, h5py.File(io.BytesIO(archive.read(WEIGHTS))) as file:
        file.visititems(lambda name, item: found.update({name: item.dtype.name}) if hasattr(item, "dtype") else None)
    return found


@pytest.fixture
def model(tokenizers):
    return make_seq2seq(tokenizers, cell="lstm")


def test_rounding_is_to_the_nearest():
    random = np.random.default_rng(0)
    values = np.concatenate([random.normal(size=99) * scale for scale in (1e-9, 1e-6, 1e-3, 1, 1e4)]).astype("float32")
    values = np.concatenate([values, np.float32([0, -0.0, 2**-24, 2**-25, 1 + 2**-11, 1 + 3 * 2**-11])])
    assert round_nearest(values).tolist() == [by_struct(value) for value in values]


def by_search(row):
    """A row on the grid of -127 to 127 times the smallest power of two that reaches its largest value, by search."""
    largest = max(abs(value) for value in row)
    step = next(2.0**exponent for exponent in range(-24, 40) if 127 * 2.0**exponent >= largest)
    return [min(range(-127, 128), key=lambda n: (abs(n * step - value), n % 2)) * step for value in row]


def test_a_matrix_of_bytes_is_the_nearest_by_columns_or_by_rows():
    random = np.random.default_rng(0)
    for _ in range(20):
        shape = random.integers(1, 6, 2)
        rows = random.normal(size=shape) * np.exp2(random.integers(-9, 3, (shape[0], 1)))
        values = rows.astype("float32")
        ways = [np.float32([by_search(row) for row in values]), np.float32([by_search(row) for row in values.T]).T]
        best = min(np.square(way - values).sum() for way in ways)
        for given in (values, values.T):  # whichever way the matrix lies
            found = round_nearest(given, "int8")
            assert np.square(found - given).sum() <= best * (1 + 1e-6)
            whole, steps = split_steps(found)
            assert whole.dtype == np.int8 and np.abs(whole.astype(int)).max() <= 127
            assert np.array_equal(whole * steps, found) and set(np.frexp(steps)[0].ravel()) == {0.5}
            assert np.array_equal(round_nearest(found, "int8"), found)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.zeros((2, 3), "float32"), np.zeros((2, 3))),
        (np.float32([[-0.0, 1e-12], [0, 1e-12]]), np.zeros((2, 2))),  # below the smallest number of float16
        (np.float32([0.1, 0.2]), np.float16([0.1, 0.2])),  # a vector keeps 16 bits
        (np.zeros((0, 3), "float32"), np.zeros((0, 3))),
        (np.float32([[np.inf, 1]]), np.float16([[np.inf, 1]])),
    ],
)
def test_what_else_bytes_are_given(values, expected):
    np.testing.assert_array_equal(round_nearest(values, "int8"), expected)


def test_a_tensor_of_more_axes_has_a_power_of_two_by_its_first_or_its_last():
    random = np.random.default_rng(1)
    values = random.normal(size=(3, 4, 5)).astype("float32") * np.float32([1, 8, 64, 0.1, 3])
    whole, steps = split_steps(round_nearest(values, "int8"))
    assert steps.shape == (1, 1, 5) and np.abs(whole * steps - values).max() <= steps.max() / 2
    assert split_steps(values) is None and split_steps(np.float32([[np.inf, 1]])) is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.float32([[1, 70_000]]), r"The weight dense/kernel .* at most 65,504, received 7e\+04. Export with storage"),
        (np.float32([[1, 1, 1e-5, -2e-6, 1e-9]]), "at most 25% of its values .* smaller than 6.1e-05.*received 60%"),
    ],
)
def test_what_float16_cannot_hold_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        check("dense/kernel", values)


@pytest.mark.parametrize(
    "values",
    [
        np.float32([[1, 1, 1, 1e-5], [0, 0, 0, 0]]),  # a quarter of the values that are not zero
        np.float32([1e-7, 1e-9]),  # the bias of keys, which no answer depends on
        np.float32([[np.inf, SMALLEST]]),
        np.zeros((3, 5), "float32"),
    ],
)
def test_what_it_holds_well_is_not(values):
    check("dense/kernel", values)


def test_the_model_is_rounded_for_a_while(model):
    before = arrays(model)
    with contextlib.suppress(KeyError), round_weights(model, "float16"):
        for path, values in arrays(model).items():
            assert values.ravel().tolist() == [by_struct(value) for value in before[path].ravel()]
        raise KeyError
    after = arrays(model)
    assert all(np.array_equal(values, after[path]) for path, values in before.items())
    with round_weights(model, "float32"):
        assert all(np.array_equal(values, after[path]) for path, values in arrays(model).items())


def test_a_refused_model_is_as_it_was(model):
    weight = model.trainable_weights[-1]
    weight.assign(np.full(weight.shape, 1e6))
    before = arrays(model)
    with pytest.raises(ValueError, match=f"{weight.path} cannot"), round_weights(model, "float16"):
        pass
    assert all(np.array_equal(values, before[path]) for path, values in arrays(model).items())


@pytest.mark.slow
def test_a_keras_file_of_half_the_size_has_the_same_weights(tokenizers, tmp_path):
    model, path = make_model("generate", tokenizers, num_layers=2), tmp_path / "model.keras"
    with round_weights(model, "float16"):
        model.save(path)
        expected, whole = arrays(model), path.stat().st_size
    rewrite(path)
    assert path.stat().st_size < whole / 2 and list(tmp_path.iterdir()) == [path]
    found = keras.models.load_model(path)
    assert [weight.dtype for weight in found.variables] == [weight.dtype for weight in model.variables]
    for values, other in zip(expected.values(), arrays(found).values(), strict=True):
        np.testing.assert_array_equal(values, other)
    once = path.read_bytes()
    rewrite(path)
    assert path.read_bytes() == once


def test_a_keras_file_of_bytes_is_smaller_yet_and_has_the_same_weights(tokenizers, tmp_path):
    model, sizes = make_model("generate", tokenizers, num_layers=2), {}
    for storage in ("float16", "int8"):
        path = tmp_path / f"{storage}.keras"
        with round_weights(model, storage):
            model.save(path)
            expected = arrays(model)
        rewrite(path)
        with zipfile.ZipFile(path) as archive:
            sizes[storage] = archive.getinfo(WEIGHTS).compress_size
        for values, other in zip(expected.values(), arrays(keras.models.load_model(path)).values(), strict=True):
            np.testing.assert_array_equal(values, other)
    assert sizes["int8"] < 0.9 * sizes["float16"]  # small matrices, in a file of thousands of bytes of names


def test_arrays_that_16_bits_cannot_hold_stay(model, tmp_path):
    model.save(tmp_path / "model.keras")
    before = arrays(model)
    rewrite(tmp_path / "model.keras")
    kinds = set(stored(tmp_path / "model.keras").values())
    assert "float32" in kinds  # random weights are not exact, zeros are
    for values, other in zip(
        before.values(), arrays(keras.models.load_model(tmp_path / "model.keras")).values(), strict=True
    ):
        np.testing.assert_array_equal(values, other)


def test_attributes_and_empty_groups_are_kept():
    content, written = io.BytesIO(), io.BytesIO()
    with h5py.File(content, "w") as file:
        file.attrs["keras"] = "3"
        file.create_group("empty").attrs["name"] = "nothing"
        file.create_dataset("a/vars/0", data=np.float32([0.5])).attrs["unit"] = "one"
        file["a/vars/1"] = np.int64([2**40])
        file["a/vars/2"] = np.float32(0.1)
    write_arrays(content, written)
    with h5py.File(written) as file:
        assert (file.attrs["keras"], file["empty"].attrs["name"]) == ("3", "nothing")
        assert (file["a/vars/0"].dtype, file["a/vars/0"].attrs["unit"]) == ("float16", "one")
        assert file["a/vars/1"][()] == [2**40] and file["a/vars/2"][()] == np.float32(0.1)


def test_there_are_three_storages():
    with pytest.raises(ValueError, match=r"expected one of \('float32', 'float16', 'int8'\), received 'int4'"):
        Settings("any", "test", storage="int4")
