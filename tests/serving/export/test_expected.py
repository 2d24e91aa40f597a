"""A model that amplifies rounding is allowed what it does to itself, and nothing else; rows whose answers hang on
rounding do not count, and all others do.
"""

import types

import keras
import numpy as np
import pytest

from serving.export.parity import compare
from serving.export.parity.check import LIMIT, TIMES, TOLERANCE, Case, Report
from serving.export.parity.expected import DRAWS, _row_beside, find_ties, find_unexplained, nudge, sensitivity
from serving.runtime.errors import ParityError
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


def answered(monkeypatch, *reports):
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
    given = answered(monkeypatch, FAILED, {"passed": True})
    kind = Recurrence(14)
    kind.cases = lambda vocabularies: [("score", {"token_ids": np.ones((1, 1), "int32")})]
    with compare.checker() as parity:
        report = parity.compare(kind, (), fake_artefact.write(tmp_path, "tag"), [])
    assert given[1][0].spread == {"scores": pytest.approx(report["sensitivity"])} and report["sensitivity"] > 1e-5
    assert given[0][0].spread == {}


def test_other_tokens_are_not_excused(tmp_path, monkeypatch):
    given = answered(monkeypatch, FAILED | {"only_numbers": False})
    with compare.checker() as parity, pytest.raises(compare.ParityError, match="differs"):
        parity.compare(Recurrence(14), (), fake_artefact.write(tmp_path, "tag"), [])
    assert len(given) == 1


SCORES = np.float32([[0.7, 0.7 + 6e-8], [0.7, 0.6], [0.7, 0.7 + 3e-5]])  # of two tokens in three rows: one near tie


class Chooser:
    """A kind whose answer is the likelier of two tokens; a sample takes the second token from `border` on."""

    large, functions = False, {}

    def __init__(self, border=0.5):
        self.model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, use_bias=False)])
        self.model.set_weights([SCORES])
        self.border = border

    def ask(self, name, token_ids, uniforms=None):
        rows = self.model.get_weights()[0][token_ids[:, 0]]
        chosen = rows.argmax(axis=-1) if uniforms is None else (uniforms >= self.border).astype(int)
        return {"output_ids": np.int32(chosen + 5)[:, None, None], "scores": rows.max(axis=-1)[:, None]}

    def answer(self, tokenizers, text):
        (ids,) = self.ask("greedy", np.array([[int(text)]]))["output_ids"][:, 0, 0]
        return {"tags": np.array(["ab"[ids - 5]] * (int(text) + 1))}

    def extremes(self):
        return ()

    def cases(self, vocabularies):
        yield "greedy", {"token_ids": np.array([[0], [1], [2]])}

    def gap(self, inputs, outputs, otherwise):
        scores = SCORES[inputs["token_ids"][0, 0]]
        return abs(float(scores[1] - scores[0]))


def case_of(kind, name, **inputs):
    return Case(name, inputs, kind.ask(name, **inputs))


def hanging(kind, case, rows):
    texts = ["0", "1", "2"] if case.name == "serving_default" else []
    return find_ties(kind, (), texts, [case], {0: dict.fromkeys(rows)}).get(0)


def test_only_a_row_whose_answer_changes_with_rounding_is_a_near_tie():
    kind = Chooser()
    case = case_of(kind, "greedy", token_ids=np.array([[0], [1], [2]]))
    assert hanging(kind, case, (0, 1, 2)) == [0]
    assert hanging(kind, case, (1, 2)) is None
    np.testing.assert_array_equal(kind.model.get_weights()[0], SCORES)


def test_a_random_number_at_a_border_is_a_near_tie():
    kind, uniforms = Chooser(), np.float32([0.5 + 1e-6, 0.5 - 1e-6, 0.5 + 1e-3])
    case = case_of(kind, "sample", token_ids=np.array([[1], [1], [1]]), uniforms=uniforms)
    assert hanging(kind, case, (0, 1, 2)) == [0, 1]


def test_numbers_that_are_given_stay_in_their_range():
    moved = [
        _row_beside({"uniforms": np.float32([[[0.0, 1 - 2**-24]]]), "top_k": np.int32([3])}, 0, seed)
        for seed in range(8)
    ]
    values = np.stack([each["uniforms"] for each in moved])
    assert values.dtype == "float32" and values.min() >= 0 and values.max() < 1 and len(np.unique(values)) > 2
    assert all(each["top_k"] == 3 for each in moved)


def test_texts_of_which_a_tag_hangs_on_rounding():
    kind = Chooser()
    tags = np.array([["b", "", ""], ["a", "a", ""], ["b", "b", "b"]])
    case = Case("serving_default", {"text": np.array(["0", "1", "2"])}, {"tags": tags})
    assert hanging(kind, case, (0, 1, 2)) == [0]


def asked(monkeypatch, received):
    """`Checker.compare` on a process that received these token ids at first, and later compares what it is told."""
    kind = Chooser()
    calls = []

    def _ask(self, directory, cases):
        calls.append(cases)
        (case,), report = cases, Report()
        pair = (case.counted(each) for each in (case.outputs["output_ids"], received))
        report.compare("ONNX greedy output_ids", "here", *pair, case="0/ONNX/output_ids")
        if report.otherwise:
            np.savez(self.work / compare.OTHERWISE, **report.otherwise)
        passed = not report.failures
        return {"passed": passed, "failures": report.failures, "only_numbers": report.only_numbers}

    monkeypatch.setattr(compare.Checker, "_ask", _ask)
    monkeypatch.setattr(compare.own, "command", lambda *_: ["sleep", "60"])
    expected = case_of(kind, "greedy", token_ids=np.array([[0], [1], [2]]))
    monkeypatch.setattr(compare, "expectation", lambda *_: [expected])
    return kind, calls


def test_a_form_that_differs_at_a_near_tie_alone_passes(monkeypatch, tmp_path):
    kind, calls = asked(monkeypatch, np.int32([5, 5, 6])[:, None, None])
    with compare.checker() as parity:
        report = parity.compare(kind, (), fake_artefact.write(tmp_path, "generate"), [])
    assert report["passed"] and report["near_ties"] == 1 and len(calls) == 2
    assert calls[1][0].left_out == [0] and not calls[0][0].left_out


def test_a_form_that_differs_elsewhere_does_not_pass_and_the_message_says_where(monkeypatch, tmp_path):
    kind, _ = asked(monkeypatch, np.int32([5, 6, 6])[:, None, None])
    with compare.checker() as parity, pytest.raises(ParityError) as caught:
        parity.compare(kind, (), fake_artefact.write(tmp_path, "generate"), [])
    message = str(caught.value)
    assert "2 of 3 rows differ" in message and "please report it" in message
    assert "ONNX greedy output_ids, row 1, beam 0, place 0: expected 5, received 6; " in message
    assert (
        "log-probabilities differ by 0.1" in message
        and "row 0, beam 0, place 0: expected 6, received 5;" not in message
    )


def test_a_signature_of_which_all_rows_are_near_ties_does_not_pass():
    kind = types.SimpleNamespace(functions={})
    cases = [Case("greedy", {"token_ids": np.zeros((rows, 1))}, {}) for rows in (3, 2)]
    assert find_unexplained(kind, cases, {}, {0: [0, 1, 2]}) == []
    (line,) = find_unexplained(kind, cases, {}, {0: [0, 1, 2], 1: [0, 1]})
    assert "greedy: the answers of all 5 rows hang on near ties" in line
