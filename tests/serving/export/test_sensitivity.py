"""A model that amplifies rounding is allowed what it does to itself, and nothing else."""

import types

import keras
import numpy as np
import pytest

from serving.export.parity import compare
from serving.export.parity.check import LIMIT, TIMES, TOLERANCE, Case, Report
from serving.export.parity.sensitivity import DRAWS, nudge, sensitivity
from tests.serving import fake_artefact


class Recurrence:
    """A kind whose one number is `steps` steps of the logistic map, which doubles a small change in each of them."""

    large = False

    def __init__(self, steps, ids=lambda value: 0):
        self.model = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
        self.model.set_weights([np.float32([[0.9]])])
        self.steps, self.ids = steps, ids

    def cases(self, vocabularies):
        yield "score", {"token_ids": np.ones((1, 1), "int32")}

    def ask(self, name, token_ids):
        value = np.float32(self.model.get_weights()[0].item())
        for _ in range(self.steps):
            value = np.float32(4) * value * (1 - value)
        return {"scores": np.float32([value]), "output_ids": np.int32([self.ids(value)])}

    def extremes(self):
        return ()


def measured(kind):
    (spread,) = sensitivity([Case("score", {}, kind.ask("score", None))], kind, (), ())
    return spread


def test_each_weight_is_a_neighbour_and_afterwards_what_it_was():
    model = Recurrence(1).model
    model.set_weights([np.float32([[0.9]])])
    with nudge(model, 0):
        (moved,) = model.get_weights()
    assert moved.item() in (np.nextafter(np.float32(0.9), np.float32(to)) for to in (0, 1))
    assert model.get_weights()[0].item() == np.float32(0.9)
    with pytest.raises(KeyError), nudge(model, 0):
        raise KeyError
    assert model.get_weights()[0].item() == np.float32(0.9)


def test_the_change_is_that_of_the_neighbours():
    kind = Recurrence(14)
    here = kind.ask("score", None)["scores"]
    beside = []
    for to in (0, 1):
        kind.model.set_weights([np.nextafter(np.float32([[0.9]]), np.float32(to))])
        beside.append(float(abs(kind.ask("score", None)["scores"] - here).item()))
    kind.model.set_weights([np.float32([[0.9]])])
    (spread,) = measured(kind).values()
    assert 1e-5 < spread and float(spread) in (pytest.approx(value) for value in beside)
    (calm,) = measured(Recurrence(1)).values()
    assert calm < 1e-6


def test_a_draw_of_other_tokens_is_no_measure():
    first = Recurrence(14).ask("score", None)["scores"].item()
    assert list(measured(Recurrence(14, ids=lambda value: int(value != first))).values()) == [0.0]
    assert DRAWS > 1


@pytest.mark.parametrize(
    ("spread", "difference", "passes"),
    [
        (0.0, 0.9 * TOLERANCE, True),
        (0.0, 1.1 * TOLERANCE, False),
        (1e-3, 0.9e-3 * TIMES, True),
        (1e-3, 1.1e-3 * TIMES, False),
        (1.0, 0.9 * LIMIT, True),
        (1.0, 1.1 * LIMIT, False),
    ],
)
def test_what_is_allowed(spread, difference, passes):
    report = Report()
    report.compare("x", "here", np.float32([0.0]), np.float32([difference]), spread)
    assert (not report.failures) == passes and report.only_numbers
    assert report.tolerance == pytest.approx(max(TOLERANCE, min(TIMES * spread, LIMIT)))
    report.compare("ids", "here", np.int32([1]), np.int32([2]), spread)
    assert not report.only_numbers


def asked(monkeypatch, *reports):
    """A checker whose processes answer with the reports in turn, and the arrays that they were given."""
    reports, given = list(reports), []

    def answer(self, directory, cases):
        given.append(cases)
        return reports.pop(0)

    monkeypatch.setattr(compare.Checker, "_ask", answer)
    monkeypatch.setattr(compare.subprocess, "Popen", lambda *args, **kwargs: Idle())
    return given


class Idle(types.SimpleNamespace):
    """A process that does nothing."""

    def __init__(self):
        super().__init__(stdin=types.SimpleNamespace(write=len, flush=int, close=int), kill=int)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


FAILED = {"passed": False, "failures": ["differs"], "only_numbers": True}


def test_the_second_process_is_told_the_sensitivity(tmp_path, monkeypatch):
    given = asked(monkeypatch, FAILED, {"passed": True})
    kind = Recurrence(14)
    kind.cases = lambda vocabularies: [("score", {"token_ids": np.ones((1, 1), "int32")})]
    with compare.checker() as parity:
        report = parity.compare(kind, (), fake_artefact.write(tmp_path, "tag"), [])
    assert given[1][0].spread == {"scores": pytest.approx(report["sensitivity"])} and report["sensitivity"] > 1e-5
    assert given[0][0].spread == {}


def test_other_tokens_are_not_excused(tmp_path, monkeypatch):
    given = asked(monkeypatch, FAILED | {"only_numbers": False})
    with compare.checker() as parity, pytest.raises(compare.ParityError, match="differs"):
        parity.compare(Recurrence(14), (), fake_artefact.write(tmp_path, "tag"), [])
    assert len(given) == 1
