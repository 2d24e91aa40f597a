"""Checkpoints: exact, atomic, checked, free of pickle."""

import keras
import numpy as np
import pytest

from tests.training import tiny
from zoo.core import array_files
from zoo.core.storage import write_atomically
from zoo.training import (
    average,
    checkpoints,
    get_weights,
    set_weights,
)


def trained(seed):
    """A model and its optimizer with something else in every variable."""
    model, optimizer = tiny.ByName(), tiny.make_optimizer()
    optimizer.build(model.trainable_variables)
    draw = np.random.default_rng(seed)
    for variable in (*model.variables, *optimizer.variables):
        variable.assign(draw.integers(0, 1000, variable.shape) / (1 if "int" in variable.dtype else 7))
    return model, optimizer


def save(path, model, optimizer, state, best=None):
    array_files.save(path, checkpoints.snapshot(model, optimizer, state, best))


def assert_same(one, other):
    for a, b in zip(tiny.arrays(one), tiny.arrays(other), strict=True):
        np.testing.assert_array_equal(a, b)


def test_restore_is_exact_seeds_and_slots_included(tmp_path):
    model, optimizer = trained(2)
    known = get_weights(trained(3)[0])
    save(tmp_path / "c.npz", model, optimizer, {"step": 2, "best": [[0.1, 2]]}, {2: known, 17: get_weights(model)})
    fresh, slots = trained(1)
    seeds = [v for v in fresh.non_trainable_variables if "seed" in v.path]
    assert len(seeds) == 2
    state, best = checkpoints.restore(tmp_path / "c.npz", fresh, slots)
    assert state == {"step": 2, "best": [[0.1, 2]]} and best.keys() == {2, 17}
    for step, own in {2: known, 17: get_weights(model)}.items():
        assert best[step].keys() == own.keys()
        assert all((best[step][name] == own[name]).all() for name in own)
    assert_same(model.variables, fresh.variables)
    assert_same(optimizer.variables, slots.variables)
    assert int(slots.iterations) == int(optimizer.iterations) > 0


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    model, optimizer = trained(1)
    path = tmp_path / "c.npz"
    save(path, model, optimizer, {"step": 1})

    def interrupted(file):
        file.write(b"half a checkpoint")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, interrupted)
    assert checkpoints.restore(path, model, optimizer) == ({"step": 1}, {})


def test_average_is_the_mean_and_keeps_the_seeds():
    models = [trained(seed)[0] for seed in (1, 3)]
    weights = [get_weights(model) for model in models]
    mean = tiny.ByName()
    average(weights, mean)
    for a, b, c in zip(*(tiny.arrays(m.variables) for m in (*models, mean)), strict=True):
        if a.dtype == "float32":
            np.testing.assert_allclose(c, (a.astype("float64") + b) / 2, rtol=1e-6, atol=1e-9)
        else:
            np.testing.assert_array_equal(a, c)
    set_weights(mean, weights[1])
    assert_same(models[1].variables, mean.variables)


def test_what_does_not_fit_is_named(tmp_path):
    model, optimizer = trained(1)
    save(tmp_path / "c.npz", model, optimizer, {})
    other = keras.Sequential([keras.Input((3,)), keras.layers.Dense(5)])
    with pytest.raises(ValueError, match="does not fit the model: expected 2 variables, received"):
        checkpoints.restore(tmp_path / "c.npz", other, optimizer)
    (tmp_path / "text.npz").write_text("not a zip file")
    with pytest.raises(checkpoints.DamagedError, match="not a checkpoint of the zoo"):
        checkpoints.restore(tmp_path / "text.npz", model, optimizer)
    whole = (tmp_path / "c.npz").read_bytes()
    flipped = bytes(byte ^ (100 < place < 200) for place, byte in enumerate(whole))
    for damaged in (whole[: len(whole) // 2], flipped, b""):
        (tmp_path / "damaged.npz").write_bytes(damaged)
        with pytest.raises(checkpoints.DamagedError, match="damaged.npz is damaged"):
            checkpoints.restore(tmp_path / "damaged.npz", model, optimizer)
    (tmp_path / "damaged.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(checkpoints.DamagedError, match="damaged.npz is damaged"):
        checkpoints.read_state(tmp_path / "damaged.npz")
    with pytest.raises(FileNotFoundError):
        checkpoints.restore(tmp_path / "none.npz", model, optimizer)
    with pytest.raises(ValueError, match="at least one set of weights"):
        average([], model)
