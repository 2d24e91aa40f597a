"""Which weights a finished training keeps: the average of the best, or the best if that is better."""

from types import SimpleNamespace

import numpy as np
import pytest

from zoo.runs import training
from zoo.training import MONITORS, TrainingState, best_path, checkpoints


@pytest.mark.parametrize(("of_average", "averaged"), [(2.0, 2), (4.0, 1), (float("nan"), 1)])
def test_an_average_that_is_worse_or_not_a_number_is_not_chosen(monkeypatch, tmp_path, of_average, averaged):
    state = TrainingState(step=2, best=[[3.0, 1], [3.5, 2]])
    state.history = [{"step": step, "nll": nll, "accuracy": 0.5} for nll, step in state.best]
    steps, loaded = SimpleNamespace(model=None, reload=lambda: None, evaluate=None), []
    monkeypatch.setattr(training, "average", lambda paths, model: None)
    measure = lambda: {"nll": of_average, "accuracy": 0.5}  # noqa: E731
    monkeypatch.setattr(training, "load_weights", lambda path, model: loaded.append(path))
    paths = {step: best_path(tmp_path, step) for step in (1, 2)}
    scores = training._choose(steps, measure, paths, state, MONITORS["nll"])
    assert scores == {"nll": of_average if averaged == 2 else 3.0, "accuracy": 0.5, "averaged": averaged}
    assert loaded == ([] if averaged == 2 else [best_path(tmp_path, 1)])


def test_best_weights_that_are_damaged_are_left_out_and_told(tmp_path):
    state, told = TrainingState(step=3, best=[[3.0, 1], [3.5, 2], [4.0, 3]]), []
    state.history = [{"step": step, "nll": nll, "accuracy": 0.5} for nll, step in state.best]
    for step in (1, 2):
        checkpoints.save(best_path(tmp_path, step), {"model/00000": np.zeros(3)})
    content = best_path(tmp_path, 1).read_bytes()
    best_path(tmp_path, 1).write_bytes(content.replace(np.zeros(3).tobytes(), np.ones(3).tobytes()))
    found = training._readable(tmp_path, state, told.append)
    assert found == {2: best_path(tmp_path, 2)}
    assert [line.partition(":")[0] for line in told] == [f"the weights of step {step} are left out" for step in (1, 3)]
    scores = training._choose(SimpleNamespace(model=None), lambda: {"nll": 5.0}, {}, state, MONITORS["nll"])
    assert scores == {"nll": 5.0, "averaged": 0}
