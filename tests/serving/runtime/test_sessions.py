"""Threads that share a `Runtime`: each graph is opened once, and no more runs go on at once than are allowed."""

import threading
import time
import types
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

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
