"""Which weights a finished training keeps: the average of the best, or the best if that is better."""

from types import SimpleNamespace

import pytest

from zoo.recipes import run
from zoo.training import MONITORS, TrainingState, best_path


@pytest.mark.parametrize(("of_average", "averaged"), [(2.0, 2), (4.0, 1), (float("nan"), 1)])
def test_an_average_that_is_worse_or_not_a_number_is_not_chosen(monkeypatch, tmp_path, of_average, averaged):
    state = TrainingState(step=2, best=[[3.0, 1], [3.5, 2]])
    state.history = [{"step": step, "nll": nll, "accuracy": 0.5} for nll, step in state.best]
    steps, loaded = SimpleNamespace(model=None, reload=lambda: None, evaluate=None), []
    monkeypatch.setattr(run, "average", lambda paths, model: None)
    measure = lambda: {"nll": of_average, "accuracy": 0.5}  # noqa: E731
    monkeypatch.setattr(run, "load_weights", lambda path, model: loaded.append(path))
    scores = run._choose(steps, measure, tmp_path, state, MONITORS["nll"])
    assert scores == {"nll": of_average if averaged == 2 else 3.0, "accuracy": 0.5, "averaged": averaged}
    assert loaded == ([] if averaged == 2 else [best_path(tmp_path, 1)])
