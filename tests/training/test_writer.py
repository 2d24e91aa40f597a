"""Checkpoints are written while the training goes on: no number changes, and no error is lost."""

import errno
import os
import signal
import threading
import time

import numpy as np
import pytest

from tests.shared import python
from tests.training import tiny
from tests.training.fake import Data, FakeSteps
from zoo.core import array_files
from zoo.training import Interrupted, TrainingPlan, checkpoint_path, fit, saved_step
from zoo.training.checkpoints import Writer

PLAN = TrainingPlan(steps=7, validate_every=6, checkpoint_every=2, prefetch=0)
PATIENCE = 60  # seconds after which a test gives up


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def wait_for(path):
    end = time.monotonic() + PATIENCE
    while not path.is_file() and time.monotonic() < end:
        time.sleep(0.01)


class Slow:
    """Stands for `array_files.save`: each write waits until it is let go, and is noted."""

    def __init__(self, monkeypatch):
        self.go, self.begun, self.files, self._save = threading.Event(), threading.Event(), [], array_files.save
        monkeypatch.setattr(array_files, "save", self)

    def __call__(self, path, arrays):
        self.begun.set()
        assert self.go.wait(PATIENCE), "the training waits for the write"
        self._save(path, arrays)
        self.files.append((path.name, {name: value.copy() for name, value in arrays.items()}))


def contents(path):
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def same(one, other):
    assert one.keys() == other.keys()
    for name, value in one.items():
        if name not in ("state.json", "sha256", "run/metrics.csv"):  # which holds seconds
            np.testing.assert_array_equal(value, other[name], err_msg=name)


def test_the_training_goes_on_during_a_write_that_holds_the_step_it_began_with(monkeypatch, tmp_path):
    slow, steps = Slow(monkeypatch), FakeSteps()

    def look():  # before the update of step 3; the checkpoint of step 2 is due before it
        assert slow.begun.wait(PATIENCE) and not slow.files
        slow.go.set()

    fit(steps, Data(at=3, act=look), Data(), PLAN, tmp_path)
    assert [name for name, _ in slow.files] == 4 * ["next.npz"]
    assert [arrays["model/00000"].item() for _, arrays in slow.files] == [2, 4, 6, 7]
    best = [{name: each.item() for name, each in arrays.items() if "best" in name} for _, arrays in slow.files]
    assert best == [{}, {}, {"best/00000006/model/00000": 6}, {"best/00000007/model/00000": 7}]
    assert saved_step(tmp_path) == 7


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("held", [False, True], ids=["written at once", "written late"])
def test_the_numbers_are_those_of_a_training_that_waits(monkeypatch, tmp_path, held):
    """The compiled steps reuse the memory of weights whose copies are still being written."""
    model, state = tiny.train(tmp_path / "thread")
    begin, written = Writer.begin, []

    def at_once(self, write):
        write()
        written.append(None)

    def late(self, write):
        begin(self, lambda: (threading.Event().wait(0.05), write(), written.append(None)))

    monkeypatch.setattr(Writer, "begin", late if held else at_once)
    other, expected = tiny.train(tmp_path / "other")
    assert len(written) == 6 and (state.step, state.history, state.best) == (12, expected.history, expected.best)
    same(contents(checkpoint_path(tmp_path / "thread")), contents(checkpoint_path(tmp_path / "other")))
    for one, two in zip(tiny.arrays(model.variables), tiny.arrays(other.variables), strict=True):
        np.testing.assert_array_equal(one, two)


def test_a_full_disk_ends_the_training_at_the_next_checkpoint(monkeypatch, tmp_path):
    steps, savez = FakeSteps(), array_files._write

    def fill():
        wait_for(checkpoint_path(tmp_path))
        monkeypatch.setattr(array_files, "_write", full)

    with pytest.raises(OSError, match="No space left on device") as raised:
        fit(steps, Data(at=3, act=fill), Data(), PLAN, tmp_path)
    assert steps.updates == 6 and raised.value.filename == str(checkpoint_path(tmp_path).with_name("next.npz"))
    monkeypatch.setattr(array_files, "_write", savez)
    assert saved_step(tmp_path) == 2 and [path.name for path in (tmp_path / "checkpoint").iterdir()] == ["state.npz"]
    assert fit(FakeSteps(), Data(), Data(), PLAN, tmp_path, resume=True).step == 7


def test_a_full_disk_at_the_last_checkpoint_is_told_at_the_end(monkeypatch, tmp_path):
    monkeypatch.setattr(array_files, "_write", full)
    plan = TrainingPlan(steps=2, validate_every=5, checkpoint_every=5)
    with pytest.raises(OSError, match="No space left on device"):
        fit(FakeSteps(), Data(), Data(), plan, tmp_path)


def test_ctrl_c_says_that_a_step_is_saved_only_where_it_is(monkeypatch, tmp_path):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    slow = Slow(monkeypatch)
    slow.go.set()

    def press():
        os.kill(os.getpid(), signal.SIGINT)

    try:
        with pytest.raises(Interrupted):
            fit(FakeSteps(), Data(at=2, act=press), Data(), PLAN, tmp_path)
        assert saved_step(tmp_path) == 3
        monkeypatch.setattr(array_files, "_write", full)
        with pytest.raises(OSError, match="No space left"):
            fit(FakeSteps(), Data(at=4, act=press), Data(), PLAN, tmp_path, resume=True)
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_error_stays_what_it_is_and_notes_the_write(monkeypatch, tmp_path):
    monkeypatch.setattr(array_files, "_write", full)

    def fail():
        raise KeyError("a batch")

    with pytest.raises(KeyError, match="a batch") as raised:
        fit(FakeSteps(), Data(at=3, act=fail), Data(), PLAN, tmp_path)
    (note,) = raised.value.__notes__
    assert "The last checkpoint could not be written either" in note and "No space left" in note


def test_one_write_at_a_time():
    running, most = [], []

    def write():
        running.append(None)
        most.append(len(running))
        threading.Event().wait(0.01)
        running.pop()

    with Writer() as writer:
        for _ in range(5):
            writer.begin(write)
    assert most == [1] * 5


@pytest.mark.release
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_a_run_that_is_killed_while_it_writes_resumes_to_the_same_bits(tmp_path, backend):
    words = ["-m", "tests.training.killed", tmp_path]
    python(*words, "die-writing", 6, status=-signal.SIGKILL, KERAS_BACKEND=backend)
    folder = tmp_path / "parts" / "checkpoint"
    assert sorted(path.name for path in folder.iterdir()) == [".next.npz.partial", "before.npz", "state.npz"]
    assert 0 < (folder / ".next.npz.partial").stat().st_size < (folder / "state.npz").stat().st_size
    assert saved_step(tmp_path / "parts") == 5  # the file that was being written is that of step 6
    python(*words, "resume", 6, KERAS_BACKEND=backend)
    same(contents(tmp_path / "whole.npz"), contents(tmp_path / "parts.npz"))
    assert sorted(path.name for path in folder.iterdir()) == ["before.npz", "state.npz"]
