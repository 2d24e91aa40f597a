"""Runs of graphs that another thread ends: at once, inside a loop of the graph, and nothing is told or lost."""

import threading
import time
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from serving.runtime import Runtime
from serving.runtime.errors import ServingError, StoppedError
from serving.runtime.sessions import Graph, Stop, current
from tests.serving import fake_artefact

TURNS = 1 << 40  # of a loop: more than anybody waits for


def endless(turns):
    """The graph of a classifier that first counts to `turns`, for texts of more than eight tokens."""
    body = helper.make_graph(
        [helper.make_node("Identity", [name], [f"{name}_next"]) for name in ("go", "kept")],
        "body",
        [
            helper.make_tensor_value_info(name, kind, [])
            for name, kind in (("turn", TensorProto.INT64), ("go", TensorProto.BOOL), ("kept", TensorProto.INT32))
        ],
        [
            helper.make_tensor_value_info(name, kind, [])
            for name, kind in (("go_next", TensorProto.BOOL), ("kept_next", TensorProto.INT32))
        ],
    )
    model = fake_artefact.labels("lengths")
    constants = {"turns": np.array(turns), "zero": np.array(0, "int32"), "eight": np.array(8, "int32")}
    nodes = [
        helper.make_node("ReduceMax", ["lengths"], ["longest"], keepdims=0),
        helper.make_node("Greater", ["longest", "eight"], ["long"]),
        helper.make_node("Loop", ["turns", "long", "zero"], ["counted"], body=body),
        helper.make_node("Add", ["lengths", "counted"], ["sum"]),
    ]
    for node in model.graph.node:
        node.input[:] = ["sum" if name == "lengths" else name for name in node.input]
    held = [*nodes, *model.graph.node]
    del model.graph.node[:]
    model.graph.node.extend(held)
    model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in constants.items())
    onnx.checker.check_model(model, full_check=True)
    return model


def write(folder, turns=TURNS):
    """An artefact of that classifier."""
    fake_artefact.write(folder, "classify")
    onnx.save(endless(turns), folder / "model.onnx")
    return fake_artefact.change(folder)


@pytest.fixture(scope="module")
def runtime(tmp_path_factory):
    return Runtime(write(tmp_path_factory.mktemp("endless")), threads=1)


@pytest.mark.parametrize("shrink", [False, True])
def test_a_run_is_ended_inside_a_loop(runtime, shrink, capfd):
    expected, found = runtime.run(["abc"]), []
    stop = Stop(shrink)

    def run():
        with stop.over():
            try:
                runtime.run(["abc defg abc abc"])
            except Exception as error:
                found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(0.3)
    assert thread.is_alive()
    stop.end()
    thread.join(60)
    assert not thread.is_alive() and type(found[0]) is StoppedError
    assert capfd.readouterr() == ("", "")  # the server's log is JSON
    assert runtime.run(["abc"]) == expected  # as if nothing had been


def test_what_is_ended_before_it_begins_does_not_begin(runtime):
    stop = Stop()
    stop.end()
    began = time.monotonic()
    with stop.over(), pytest.raises(StoppedError):
        runtime.run(["abc defg abc abc"])
    assert time.monotonic() - began < 30 and current() is None


def test_who_may_be_ended_does_not_wait_for_the_turns_of_others(runtime):
    """They bound how many runs there are where nobody else does."""
    turns = runtime._loaded.graphs.turns
    held = []
    while turns.acquire(blocking=False):
        held.append(1)
    try:
        with Stop().over():
            assert runtime.run(["abc"])[0].label
    finally:
        for _ in held:
            turns.release()


def test_other_errors_are_no_end(runtime, monkeypatch):
    def fail(*_):
        raise RuntimeError("something else")

    session = SimpleNamespace(run=fail, get_inputs=list, get_outputs=list, get_overridable_initializers=list)
    graph = Graph("", session)
    monkeypatch.setattr(runtime._loaded.graphs, "open", lambda *_: graph)
    with Stop().over(), pytest.raises(ServingError, match="something else") as caught:
        runtime.run(["abc"])
    assert not isinstance(caught.value, StoppedError)
