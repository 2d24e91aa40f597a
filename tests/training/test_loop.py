"""The loop learns, validates, stops early, keeps the best; killed and resumed, it gives the weights of a whole run.

Batches that a thread prepares ahead are those that a training without it sees.
"""

import csv
import signal
import threading
import time
from contextlib import closing

import keras
import numpy as np
import pytest

from tests.shared import python
from tests.training import tiny
from zoo.training import (
    SmoothedCrossEntropy,
    TrainingPlan,
    TrainingState,
    fit,
    make_steps,
    set_weights,
    validate,
)
from zoo.training.loop import Prefetcher


@pytest.mark.slow
def test_one_program_per_shape():
    model, optimizer = tiny.ByName(), tiny.make_optimizer()
    steps = make_steps(model, optimizer, SmoothedCrossEntropy())
    for step in range(9):
        steps.train(tiny.Batches(0).batch(step))
    assert steps.num_programs == len(tiny.SHAPES)
    assert steps.learning_rate() == pytest.approx(1e-2 * (4 / 10) ** 0.5)


def test_a_step_is_gradient_descent_on_the_loss():
    """Directional check: one small SGD step lowers the loss by lr * |gradient|^2, dropout aside."""
    batch = tiny.Batches(0).batch(0)
    model = tiny.ByName()
    for layer in model._flatten_layers():
        if isinstance(layer, keras.layers.Dropout):
            layer.rate = 0.0
    rate = 1e-3
    steps = make_steps(model, keras.optimizers.SGD(rate), SmoothedCrossEntropy())
    before = tiny.arrays(model.trainable_variables)
    losses = [float(steps.train(batch)), float(steps.train(batch))]
    steps.sync()
    # Two steps moved by about 2 * rate * gradient.
    moved = sum(
        np.square((after - start) / (2 * rate)).sum()
        for after, start in zip(tiny.arrays(model.trainable_variables), before, strict=True)
    )
    assert losses[0] - losses[1] == pytest.approx(rate * moved, rel=0.05)


@pytest.mark.slow
def test_a_run_leaves_what_it_promises(tmp_path, capsys):
    plan = TrainingPlan(steps=40, validate_every=10, keep=2, log_every=5)
    model, state = tiny.train(tmp_path, plan=plan)
    assert state.step == 40 and [row["step"] for row in state.history] == [10, 20, 30, 40]
    assert state.history[-1]["nll"] < state.history[0]["nll"]
    best = sorted(state.history, key=lambda row: row["nll"])[:2]
    assert state.best == [[row["nll"], row["step"]] for row in best]
    assert state.weights.keys() == {row["step"] for row in best}

    steps = make_steps(model, tiny.make_optimizer(), SmoothedCrossEntropy())
    set_weights(model, state.weights[best[0]["step"]])
    steps.reload()
    assert validate(steps.evaluate, tiny.Batches(9))["nll"] == pytest.approx(best[0]["nll"])

    with open(tmp_path / "metrics.csv") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows if row["loss"]] == list(range(5, 41, 5))
    assert [float(row["valid_nll"]) for row in rows if row["valid_nll"]] == pytest.approx(
        [row["nll"] for row in state.history]
    )
    assert "step 40/40  loss" in capsys.readouterr().err


def test_validation_uses_no_dropout_and_leaves_no_trace():
    model, optimizer = tiny.ByName(), tiny.make_optimizer()
    steps = make_steps(model, optimizer, SmoothedCrossEntropy())
    batch = tiny.Batches(0).batch(0)
    first, again = (np.asarray(steps.evaluate(batch)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert first[2] == batch["weights"].sum()


@pytest.mark.slow
def test_patience_stops_and_a_finished_run_stays_finished(tmp_path):
    plan = TrainingPlan(steps=50, validate_every=2, patience=2, log_every=50)

    class Worse(tiny.Batches):
        """A validation set whose tokens grow ever more unlikely."""

        def __iter__(self):
            self._seed += 1
            batch = self.batch(0)
            batch["labels"] = (batch["labels"] + self._seed) % 4
            return iter([batch])

    def run(resume):
        steps = make_steps(tiny.ByName(), tiny.make_optimizer(), SmoothedCrossEntropy())
        return fit(steps, tiny.Batches(0), Worse(1), plan, tmp_path, resume)

    state = run(resume=False)
    assert state.step < 50 and state.since_best == 2
    assert run(resume=True) == state


@pytest.mark.slow
def test_a_loss_that_is_not_finite_stops_the_run(tmp_path):
    class Infinite(tiny.Batches):
        def batch(self, step):
            batch = super().batch(step)
            return batch | {"weights": np.full_like(batch["weights"], np.inf)}

    with pytest.raises(FloatingPointError, match="the loss became nan in the 2 steps before"):
        tiny.train(tmp_path, Infinite(0))
    assert not (tmp_path / "checkpoint").exists()


def test_a_plan_checks_its_settings():
    with pytest.raises(ValueError, match="validate_every must be at least 1, received 0"):
        TrainingPlan(steps=1, validate_every=0)
    with pytest.raises(
        ValueError, match="monitor must be one of nll, accuracy, wer, entity_f1, spearman; received 'bleu'"
    ):
        TrainingPlan(steps=1, validate_every=1, monitor="bleu")


@pytest.mark.parametrize(("monitor", "best"), [("nll", [2, 1]), ("accuracy", [3, 2])])
def test_the_monitor_says_which_weights_are_kept(monitor, best):
    plan, state = TrainingPlan(steps=3, validate_every=1, keep=2, monitor=monitor), TrainingState()
    for nll, accuracy in ((0.5, 0.6), (0.4, 0.7), (0.9, 0.8)):
        state.step += 1
        state.record({"nll": nll, "accuracy": accuracy}, plan)
    assert [step for _, step in state.best] == best
    assert state.since_best == (1 if monitor == "nll" else 0)


def test_a_score_that_is_not_a_number_is_never_the_best():
    plan, state = TrainingPlan(steps=4, validate_every=1, keep=2), TrainingState()
    for state.step, (nll, kept) in enumerate(
        ((float("nan"), True), (2.0, True), (float("nan"), False), (3.0, True)), 1
    ):
        assert state.record({"nll": nll, "accuracy": 0.5}, plan) is kept
    assert state.best == [[2.0, 2], [3.0, 4]] and state.since_best == 2


@pytest.mark.release(but=1)
@pytest.mark.slow
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_a_killed_run_resumes_to_the_same_bits(tmp_path, backend):
    # Checkpoints are written at steps 3, 5, 6, 9, 10, 12; step 8 dies between two of them.
    words = ["-m", "tests.training.killed", tmp_path]
    python(*words, "die", 8, status=-signal.SIGKILL, KERAS_BACKEND=backend)
    before = (tmp_path / "parts" / "metrics.csv").read_text().splitlines()
    assert before[-1].startswith("8,")
    resumed = python(*words, "resume", 0, KERAS_BACKEND=backend)
    assert "step 8/12" in resumed.stderr and "step 2/12" not in resumed.stderr

    whole, parts = np.load(tmp_path / "whole.npz"), np.load(tmp_path / "parts.npz")
    assert sorted(whole) == sorted(parts) and len(whole.files) >= 7
    for name in whole:
        np.testing.assert_array_equal(whole[name], parts[name], err_msg=name)
    stopped, went_on = (np.load(tmp_path / f"stopped-{resume}.npz") for resume in (False, True))
    assert any((stopped[name] != whole[name]).any() for name in whole)
    for name in whole:
        np.testing.assert_array_equal(whole[name], went_on[name], err_msg=name)
    whole, parts = (np.load(tmp_path / name / "checkpoint" / "state.npz") for name in ("whole", "parts"))
    best = [name for name in whole if name.startswith("best/")]
    assert {name.split("/")[1] for name in best} == {"00000010", "00000012"}
    for name in best:
        np.testing.assert_array_equal(whole[name], parts[name], err_msg=name)

    rows = (tmp_path / "parts" / "metrics.csv").read_text().splitlines()
    reference = (tmp_path / "whole" / "metrics.csv").read_text().splitlines()
    steps = [row.split(",")[0] for row in rows]
    assert steps == [row.split(",")[0] for row in reference]
    validations = [row for row in rows if row.split(",")[4]]
    assert validations == [row for row in reference if row.split(",")[4]]


class Counted:
    """Batches that note which thread asked for which step."""

    def __init__(self, seconds=0.0):
        self.asked, self.threads, self._seconds = [], set(), seconds

    def batch(self, step):
        self.asked.append(step)
        self.threads.add(threading.current_thread().name)
        time.sleep(self._seconds)
        return step


@pytest.mark.parametrize("ahead", [0, 1, 3])
def test_each_step_has_its_batch_and_none_is_made_twice(ahead):
    counted = Counted()
    with closing(Prefetcher(counted, ahead, steps=10)) as batches:
        assert [batches.batch(step) for step in range(4, 10)] == list(range(4, 10))
    assert sorted(counted.asked) == list(range(4, 10))  # nothing behind the last step
    assert len(counted.threads) == 1 and ("MainThread" in counted.threads) == (ahead == 0)


def test_a_step_that_was_not_expected_has_its_batch_too():
    counted = Counted()
    with closing(Prefetcher(counted, 2, steps=100)) as batches:
        assert [batches.batch(step) for step in (0, 50, 51, 3, 3)] == [0, 50, 51, 3, 3]


def test_the_next_batch_is_made_while_the_step_is_computed():
    with closing(Prefetcher(Counted(seconds=0.1), 1, steps=10)) as batches:
        batches.batch(0)
        time.sleep(0.3)
        start = time.monotonic()
        batches.batch(1)
        assert time.monotonic() - start < 0.09


def test_an_error_comes_with_its_step():
    class Faulty(Counted):
        def batch(self, step):
            if step == 2:
                raise ValueError("line 7 is no text")
            return super().batch(step)

    with closing(Prefetcher(Faulty(), 1, steps=10)) as batches:
        assert [batches.batch(0), batches.batch(1)] == [0, 1]
        with pytest.raises(ValueError, match="line 7 is no text"):
            batches.batch(2)


def test_closing_leaves_no_thread():
    before = threading.active_count()
    batches = Prefetcher(Counted(), 4, steps=10)
    batches.batch(0)
    batches.close()
    assert threading.active_count() == before


@pytest.mark.slow
def test_a_training_ends_with_the_same_bits(tmp_path):
    settings = {"steps": 8, "validate_every": 4, "checkpoint_every": 3}
    weights = [
        tiny.arrays(tiny.train(tmp_path / f"{ahead}", plan=TrainingPlan(**settings, prefetch=ahead))[0].variables)
        for ahead in (0, 3)
    ]
    for one, other in zip(*weights, strict=True):
        np.testing.assert_array_equal(one, other)
