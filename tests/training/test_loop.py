"""The loop: it learns, validates, stops early, keeps the best, compiles one program per shape."""

import csv

import keras
import numpy as np
import pytest

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
