"""Checkpoints: exact, atomic, checked, free of pickle.

Two are kept: a damaged one is told, and the training goes on from the one before it to the same end.
"""

import os
import random

import keras
import numpy as np
import pytest

from tests.training import tiny
from tests.training.fake import Data, FakeSteps
from zoo.core import array_files
from zoo.core.storage import write_atomically
from zoo.training import (
    TrainingPlan,
    average,
    checkpoint_path,
    checkpoints,
    fit,
    get_weights,
    saved_step,
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


PLAN = TrainingPlan(steps=9, validate_every=2, checkpoint_every=2, keep=1, prefetch=0)


def flip(path, place=None, seed=0):
    """Turn a bit of a file, the first one of its first array's values unless `place` is given."""
    content = bytearray(path.read_bytes())
    content[content.index(b"NUMPY") + 122 if place is None else place] ^= 1 << seed % 8
    path.write_bytes(content)


def stopped(directory):
    """The newest checkpoint of a run that has both those of step 6 and of step 8, each with other best weights."""
    fit(FakeSteps(), Data(), Data(), PLAN.__class__(**vars(PLAN) | {"steps": 8}), directory)
    return checkpoint_path(directory)


def resumed(directory):
    steps = FakeSteps()
    return steps, fit(steps, Data(), Data(), PLAN, directory, resume=True)


def names(path):
    return sorted(each.name for each in path.parent.iterdir())


def test_two_are_kept_with_the_best_weights_of_both(tmp_path):
    path = stopped(tmp_path)
    states = [checkpoints.read_state(each) for each in (path, path.with_name("before.npz"))]
    assert [each["step"] for each in states] == [8, 6] and names(path) == ["before.npz", "state.npz"]
    assert [each["best"][0][1] for each in states] == [8, 6]
    best = [
        {name for name in array_files.read(each) if name.startswith("best/")}
        for each in (path, path.with_name("before.npz"))
    ]
    assert best == [{"best/00000008/model/00000"}, {"best/00000006/model/00000"}]


@pytest.mark.parametrize("harm", [flip, lambda path: os.truncate(path, 200), lambda path: path.write_bytes(b"")])
def test_a_damaged_one_falls_back_to_the_one_before_it(tmp_path, capsys, harm):
    path = stopped(tmp_path)
    harm(path)
    steps, state = resumed(tmp_path)
    told = capsys.readouterr().err
    assert f"{path} is damaged" in told and "goes on from the checkpoint before it" in told
    assert steps.updates == state.step == 9 and "step 6/9" in told
    assert [row["step"] for row in state.history] == [2, 4, 6, 8, 9]
    array_files.check(path.with_name("before.npz"))
    assert saved_step(tmp_path) == 9


@pytest.mark.release
def test_it_comes_to_the_same_end(tmp_path):
    model, _ = tiny.train(tmp_path / "whole")
    tiny.train(tmp_path / "run", plan=tiny.PLAN.__class__(**vars(tiny.PLAN) | {"steps": 8}))
    flip(checkpoint_path(tmp_path / "run"))
    other, _ = tiny.train(tmp_path / "run", resume=True)
    for one, two in zip(tiny.arrays(model.variables), tiny.arrays(other.variables), strict=True):
        np.testing.assert_array_equal(one, two)


def test_both_damaged_is_said_and_nothing_is_touched(tmp_path):
    path = stopped(tmp_path)
    for each in (path, path.with_name("before.npz")):
        flip(each)
    before = {each: each.read_bytes() for each in path.parent.iterdir()}
    with pytest.raises(
        checkpoints.DamagedError, match=r"cannot be continued, because .*state.npz and .*before.npz cannot be read"
    ):
        resumed(tmp_path)
    assert {each: each.read_bytes() for each in path.parent.iterdir()} == before


def test_what_a_killed_process_left_between_two_renames_is_the_newest(tmp_path):
    path = stopped(tmp_path)
    os.replace(path, path.with_name("before.npz"))
    array_files.save(path.with_name("next.npz"), array_files.read(path.with_name("before.npz")))
    assert saved_step(tmp_path) == 8
    assert resumed(tmp_path)[0].updates == 9 and names(path) == ["before.npz", "state.npz"]


def test_every_bit_counts(tmp_path):
    """Of 300 files with a wrong bit, each is refused, or holds what was written: some fields are unused."""
    arrays = {"model/00000": np.arange(12.0).reshape(3, 4), "state.json": np.array('{"step": 3}')}
    path, wrong = tmp_path / "state.npz", 0
    for seed in range(300):
        array_files.save(path, arrays)
        flip(path, random.Random(seed).randrange(path.stat().st_size), seed)
        try:
            found = array_files.read(path)
        except checkpoints.DamagedError:
            wrong += 1
            continue
        assert found.keys() == arrays.keys()
        for name, values in arrays.items():
            np.testing.assert_array_equal(found[name], values)
    assert wrong > 150


def test_names_that_were_exchanged_are_damage(tmp_path):
    """What the CRC of each part cannot tell."""
    path, arrays = tmp_path / "state.npz", {"model/00000": np.zeros(2), "model/00001": np.ones(2)}
    array_files.save(path, arrays)
    with np.load(path) as file:
        held = dict(file)
    held["model/00000"], held["model/00001"] = held["model/00001"], held["model/00000"]
    np.savez(path, **held)
    with pytest.raises(checkpoints.DamagedError, match="SHA-256"):
        array_files.check(path)
