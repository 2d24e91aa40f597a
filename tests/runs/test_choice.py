"""Which weights a finished training keeps: the average of the best, or the best if that is better."""

from types import SimpleNamespace

import pytest

from zoo.runs import training
from zoo.training import MONITORS, TrainingState


@pytest.mark.parametrize(("of_average", "averaged"), [(2.0, 2), (4.0, 1), (float("nan"), 1)])
def test_an_average_that_is_worse_or_not_a_number_is_not_chosen(monkeypatch, of_average, averaged):
    state = TrainingState(step=2, best=[[3.0, 1], [3.5, 2]], weights={2: "of 2", 1: "of 1"})
    state.history = [{"step": step, "nll": nll, "accuracy": 0.5} for nll, step in state.best]
    steps, loaded = SimpleNamespace(model=None, reload=lambda: None, evaluate=None), []
    monkeypatch.setattr("zoo.training.average", lambda weights, model: loaded.append(weights))
    measure = lambda: {"nll": of_average, "accuracy": 0.5}  # noqa: E731
    monkeypatch.setattr("zoo.training.set_weights", lambda model, weights: loaded.append(weights))
    scores = training._choose_weights(steps, measure, state, MONITORS["nll"])
    assert scores == {"nll": of_average if averaged == 2 else 3.0, "accuracy": 0.5, "averaged": averaged}
    assert loaded == [["of 1", "of 2"]] + ([] if averaged == 2 else ["of 1"])


def test_without_a_validation_the_weights_of_the_last_step_stay():
    scores = training._choose_weights(
        SimpleNamespace(model=None), lambda: {"nll": 5.0}, TrainingState(), MONITORS["nll"]
    )
    assert scores == {"nll": 5.0, "averaged": 0}
