"""Threads that share a `Runtime`: each graph is opened once, and no more runs go on at once than are allowed."""

import threading
import time
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from serving.runtime import Runtime, sessions
from serving.runtime.errors import ServingError
from tests.serving import fake_artefact

THREADS = 8


@pytest.fixture
def counted(monkeypatch):
    """Sessions that count how many are made, and how many runs go on at once."""
    seen = types.SimpleNamespace(made=0, now=0, most=0)
    real, lock = sessions.onnxruntime.InferenceSession, threading.Lock()

    class Counted:
        def __init__(self, *args, **kwargs):
            time.sleep(0.05)
            seen.made += 1
            self.session = real(*args, **kwargs)

        def __getattr__(self, name):
            return getattr(self.session, name)

        def run(self, *args):
            with lock:
                seen.now += 1
                seen.most = max(seen.most, seen.now)
            time.sleep(0.01)
            try:
                return self.session.run(*args)
            finally:
                with lock:
                    seen.now -= 1

    monkeypatch.setattr(sessions.onnxruntime, "InferenceSession", Counted)
    return seen


@pytest.mark.parametrize(("allowed", "cores"), [(2, 2), (3, 3)])
def test_a_graph_is_opened_once_and_runs_take_turns(counted, monkeypatch, tmp_path, allowed, cores):
    monkeypatch.setattr(sessions.os, "sched_getaffinity", lambda process: range(cores), raising=False)
    runtime = Runtime(fake_artefact.write(tmp_path), threads=1)
    texts = ["a" * (1 + number) for number in range(40)]
    with ThreadPoolExecutor(THREADS) as pool:
        found = list(pool.map(lambda text: runtime.run([text])[0].text, texts))
    assert found == texts
    assert counted.made == 1 and counted.most == allowed and counted.now == 0


def test_a_run_that_fails_gives_its_turn_back(tmp_path):
    runtime = Runtime(fake_artefact.write(tmp_path), threads=1)
    for _ in range(5):
        with pytest.raises(ServingError, match="could not answer"):
            wrong = {"token_ids": np.ones((1, 2), "int64"), "lengths": np.ones(1, "int32")}
            runtime._predictor.loaded.run("model.onnx", wrong)
    assert runtime.run(["abc"])[0].text == "abc"


def scaled():
    """A graph of `texts` and of three factors that have a default; it answers with their product."""
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [None]) for name in ("texts", "n_best", "a", "b")]
    products = [
        helper.make_node("Mul", pair, [result])
        for *pair, result in (("texts", "n_best", "one"), ("a", "b", "two"), ("one", "two", "answers"))
    ]
    out = helper.make_tensor_value_info("answers", TensorProto.FLOAT, [None])
    defaults = [
        numpy_helper.from_array(np.array([value], "float32"), name) for value, name in ((2, "n_best"), (3, "a"))
    ]
    defaults += [numpy_helper.from_array(np.array([5], "float32"), "b"), numpy_helper.from_array(np.ones(1), "unused")]
    graph = helper.make_graph(products, "scaled", infos, [out], defaults)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()


def test_defaults_that_nobody_changes_are_constants():
    """What is kept stays an input; the session in which all are inputs is opened for the first who gives one."""
    content, opened = scaled(), []
    changed, fixed = sessions.fix_defaults(content, kept=("n_best",))
    onnx.checker.check_model(onnx.load_from_string(changed), full_check=True)
    assert fixed == {"a", "b"} and len(changed) < len(content)

    def open_whole():
        opened.append(sessions.open_graph(content))
        return opened[-1]

    graph = sessions.Graph("", sessions.open_graph(changed), fixed=fixed, open_whole=open_whole)
    assert graph.inputs == ["texts"] and graph.optional == {"a", "b", "n_best"}

    def answer(**given):
        feeds = {name: np.array([value], "float32") for name, value in (given | {"texts": 1}).items()}
        return float(graph.session_for(given).run(graph.outputs, feeds)[0][0])

    assert answer() == 30 and answer(n_best=1) == 15 and not opened
    assert answer(a=1) == 10 and answer(b=1, n_best=1) == 3 and len(opened) == 1
    assert answer() == 30
    assert sessions.fix_defaults(content, kept=("n_best", "a", "b")) == (content, frozenset())
    with pytest.raises(ValueError, match="no protocol buffer"):
        sessions.fix_defaults(content[:-3])


@pytest.mark.parametrize(("threads", "cores", "expected"), [(None, 8, 2), (1, 8, 8), (4, 8, 2), (3, 16, 5), (1, 1, 2)])
def test_as_many_runs_as_there_are_cores_for(monkeypatch, threads, cores, expected):
    monkeypatch.setattr(sessions.os, "sched_getaffinity", lambda process: range(cores), raising=False)
    assert sessions.turns(threads) == expected


SMALL = {"a.onnx": sessions.SMALL - 1, "model.keras": 10 * sessions.SMALL}


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [(SMALL, 1), (SMALL | {"b.int8.onnx": sessions.SMALL}, None), ({}, None), ({"model.keras": 1}, None)],
)
def test_small_graphs_have_one_thread(sizes, expected):
    assert sessions.choose_threads({"sizes": sizes, "onnx": {}}) == expected


@pytest.mark.parametrize(
    ("threads", "small", "expected"), [(None, 10**5, (1, 8)), (None, 100, (0, 2)), (4, 10**5, (4, 2))]
)
def test_a_runtime_chooses_threads_by_size_and_runs_as_many_requests(monkeypatch, tmp_path, threads, small, expected):
    made, options = [], sessions.session_options
    monkeypatch.setattr(sessions, "session_options", lambda *args: made.append(options(*args)) or made[-1])
    monkeypatch.setattr(sessions, "SMALL", small)
    monkeypatch.setattr(sessions.os, "sched_getaffinity", lambda process: range(8), raising=False)
    monkeypatch.setattr(sessions.os, "cpu_count", lambda: 8)
    fake_artefact.write(tmp_path)
    runtime = Runtime(tmp_path, threads=threads)
    assert runtime.run(["abc"])[0].text == "abc"
    assert (made[0].intra_op_num_threads, runtime._predictor.loaded.graphs.turns._initial_value) == expected


@pytest.mark.parametrize(("allowed", "machine", "expected"), [(2, 2, 0), (8, 8, 0), (1, 2, 1), (3, 16, 3)])
def test_a_process_that_may_not_use_all_cores_has_a_thread_for_each_of_its_own(monkeypatch, allowed, machine, expected):
    """0 leaves it to ONNX Runtime, which counts the machine's cores, whichever of them the process may use."""
    monkeypatch.setattr(sessions.os, "sched_getaffinity", lambda process: range(allowed), raising=False)
    monkeypatch.setattr(sessions.os, "cpu_count", lambda: machine)
    assert sessions.session_options().intra_op_num_threads == expected
    assert sessions.session_options(5).intra_op_num_threads == 5
