"""The loop speaks to keras.callbacks as model.fit does, a validation being the end of an epoch; Ctrl-C is no crash."""

import csv
import os
import signal

import keras
import numpy as np
import pytest

from tests.training.fake import Data, FakeSteps
from zoo.training import Interrupted, TrainingPlan, checkpoint_path, fit, saved_step

# The batches of these tests press keys in their own steps, so none is prepared ahead.
PLAN = TrainingPlan(steps=7, validate_every=3, checkpoint_every=2, keep=2, log_every=2, prefetch=0)
CALLS = (
    "train_begin train_end epoch_begin epoch_end train_batch_begin train_batch_end "
    "test_begin test_end test_batch_begin test_batch_end"
).split()


class Recorder(keras.callbacks.Callback):
    """Every call, with the number it was given."""

    def __init__(self):
        super().__init__()
        self.calls, self.logs = [], {}

        def listen(name):
            def heard(*args):
                *number, logs = args
                self.calls.append((name, *number))
                self.logs.setdefault(name, []).append(logs)

            return heard

        for name in CALLS:
            setattr(self, f"on_{name}", listen(name))


def train(directory, *callbacks, steps=None, data=None, plan=PLAN, resume=False):
    steps = steps or FakeSteps()
    return steps, fit(steps, data or Data(), Data(), plan, directory, resume, callbacks)


def test_the_calls_are_those_of_epochs(tmp_path):
    recorder, steps = Recorder(), FakeSteps()
    before = set(vars(steps.model))
    train(tmp_path, recorder, steps=steps)

    def epoch(number, updates):
        batches = [(f"train_batch_{side}", index) for index in range(updates) for side in ("begin", "end")]
        tests = [(f"test_batch_{side}", index) for index in range(2) for side in ("begin", "end")]
        return [
            ("epoch_begin", number),
            *batches,
            ("test_begin",),
            *tests,
            ("test_end",),
            ("epoch_end", number),
        ]

    expected = [("train_begin",), *epoch(0, 3), *epoch(1, 3), *epoch(2, 1), ("train_end",)]
    assert recorder.calls == expected
    assert recorder.model is steps.model
    assert recorder.params == {"epochs": 3, "steps": 3, "verbose": 0}
    assert set(vars(steps.model)) == before, "the model is left as it was"


def test_the_logs_hold_what_a_validation_found(tmp_path):
    recorder = Recorder()
    train(tmp_path, recorder)
    first, second, last = recorder.logs["epoch_end"]
    assert [logs["step"] for logs in (first, second, last)] == [3, 6, 7]
    assert first["loss"] == pytest.approx((99 + 98 + 97) / 3) and last["loss"] == pytest.approx(93)
    assert first["val_loss"] == first["val_nll"] == pytest.approx(1 / 3)
    assert first["val_accuracy"] == 0.5 and first["learning_rate"] == 0.5
    assert recorder.logs["train_end"] == [last]
    assert [float(logs["loss"]) for logs in recorder.logs["train_batch_end"]] == [99, 98, 97, 96, 95, 94, 93]


def test_the_loss_of_an_epoch_outlives_a_kill(tmp_path):
    class Killed(Exception):
        pass

    def die():
        raise Killed

    with pytest.raises(Killed):
        train(tmp_path, data=Data(at=5, act=die))  # the checkpoint is that of step 4, inside the second epoch
    recorder = Recorder()
    train(tmp_path, recorder, resume=True)
    assert recorder.calls[1] == ("epoch_begin", 1)
    assert recorder.logs["epoch_end"][0]["loss"] == pytest.approx((96 + 95 + 94) / 3)


def test_keras_own_callbacks_do_their_work(tmp_path):
    """EarlyStopping goes back to the best weights, the rate falls where it says, files hold what each logs."""
    scores = {2: 4.0, 4: 3.0, 6: 5.0, 8: 6.0, 10: 7.0}
    seen = []
    callbacks = [
        keras.callbacks.EarlyStopping(patience=2, restore_best_weights=True),
        keras.callbacks.ReduceLROnPlateau(patience=1, factor=0.5),
        keras.callbacks.ModelCheckpoint(tmp_path / "best.keras", save_best_only=True),
        keras.callbacks.CSVLogger(tmp_path / "log.csv"),
        keras.callbacks.TerminateOnNaN(),
        keras.callbacks.LambdaCallback(on_train_batch_end=lambda batch, logs: seen.append(float(logs["loss"]))),
    ]
    plan = TrainingPlan(steps=10, validate_every=2, log_every=100)
    steps, state = train(tmp_path / "run", *callbacks, steps=FakeSteps(scores.get), plan=plan)
    assert [row["step"] for row in state.history] == [2, 4, 6, 8] and state.step == 8
    assert steps.updates == 4, "the weights of the best validation"
    assert float(steps.optimizer.learning_rate) == 0.5 * 0.5 * 0.5
    assert seen == [99 - index for index in range(8)]
    loaded = keras.models.load_model(tmp_path / "best.keras", compile=False)
    np.testing.assert_array_equal(loaded.get_weights()[0], [[4.0]])
    with open(tmp_path / "log.csv") as file:
        rows = list(csv.DictReader(file))
    assert [(row["epoch"], row["step"], row["val_nll"]) for row in rows] == [
        (str(epoch), str(step), str(scores[step])) for epoch, step in enumerate((2, 4, 6, 8))
    ]
    again = FakeSteps(scores.get)
    fit(again, Data(), Data(), TrainingPlan(steps=8, validate_every=2), tmp_path / "run", resume=True)
    assert float(again.optimizer.learning_rate) == 0.125, "the rate is part of the checkpoint"


def test_a_stop_inside_an_epoch_validates_and_saves(tmp_path):
    def stop(batch, logs):
        if float(logs["loss"]) == 96:
            callback.model.stop_training = True

    callback = keras.callbacks.LambdaCallback(on_train_batch_end=stop)
    _, state = train(tmp_path, callback)
    assert state.step == 4 and [row["step"] for row in state.history] == [3, 4]
    assert saved_step(tmp_path) == 4


def test_what_is_no_callback_is_refused(tmp_path):
    with pytest.raises(ValueError, match="must be keras.callbacks.Callback objects. Received: 'tensorboard'"):
        train(tmp_path, "tensorboard")
    with pytest.raises(ValueError, match="BackupAndRestore is for model.fit.*resume=True"):
        train(tmp_path, keras.callbacks.BackupAndRestore(tmp_path / "backup"))


@pytest.fixture
def listening():
    """A test run in the background ignores Ctrl-C, and so would a training."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press():
    os.kill(os.getpid(), signal.SIGINT)


def test_ctrl_c_saves_the_step_and_says_where_to_go_on(tmp_path, listening, capfd):
    with pytest.raises(Interrupted, match="interrupted; the run is saved at step 5 of 7. Continue it with resume=True"):
        train(tmp_path, data=Data(at=4, act=press))  # step 4 is finished first
    assert "press it again to stop at once" in capfd.readouterr().err
    assert saved_step(tmp_path) == 5
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    steps, state = train(tmp_path, resume=True)
    undisturbed, expected = train(tmp_path / "other")
    assert (steps.updates, state.history, state.best) == (7, expected.history, expected.best)


def test_ctrl_c_in_a_validation_leaves_the_validation_for_later(tmp_path, listening):
    class Pressed(Data):
        def __iter__(self):
            press()
            return super().__iter__()

    with pytest.raises(Interrupted) as stopped:
        fit(FakeSteps(), Data(), Pressed(), PLAN, tmp_path)
    assert stopped.value.step == saved_step(tmp_path) == 3
    recorder = Recorder()
    _, state = train(tmp_path, recorder, resume=True)
    assert recorder.calls[:3] == [("train_begin",), ("epoch_begin", 0), ("test_begin",)]
    assert recorder.logs["epoch_end"][0]["loss"] == pytest.approx(98)
    assert [row["step"] for row in state.history] == [3, 6, 7]


def test_a_second_ctrl_c_stops_at_once(tmp_path, listening):
    def twice():
        press()
        press()

    with pytest.raises(Interrupted, match="saved at step 4 of 7"):
        train(tmp_path, data=Data(at=5, act=twice))
    with pytest.raises(Interrupted, match="before the first step; nothing of the training was saved"):
        train(tmp_path / "other", data=Data(at=0, act=twice))
    assert not checkpoint_path(tmp_path / "other").exists()
