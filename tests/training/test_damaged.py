"""Two checkpoints are kept: a damaged one is told, and the training goes on from the one before it to the same end."""

import os
import random

import numpy as np
import pytest

from tests.training import tiny
from tests.training.fake import Data, FakeSteps
from zoo.core import array_files
from zoo.training import TrainingPlan, checkpoint_path, checkpoints, fit, saved_step

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
