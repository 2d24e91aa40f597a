"""Runs that would not end: another model answers beside them, and they end when nobody waits for them any more."""

import contextlib
import json
import socket
import time

import pytest

from tests.serving import fake_artefact
from tests.serving.runtime import test_stops
from tests.serving.server import echo

TURNS = 2  # that one model has at once, or more
PATH = "/v1/models/endless:predict"
BODY = json.dumps({"instances": ["abc defg abc abc"]}).encode()
HEAD = f"POST {PATH} HTTP/1.1\r\nHost: a\r\nContent-Length: {len(BODY)}\r\n\r\n".encode()


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    home = tmp_path_factory.mktemp("stopping")
    endless = fake_artefact.change(test_stops.write(home / "endless"), name="endless")
    return endless, echo.write(home / "echo")


@pytest.fixture(scope="module")
def running(folders):
    with echo.serving(*folders, "--drain", 1) as made:
        yield made


def begun(running, count):
    """Wait until so many texts are taken out of the queue of the model whose runs do not end."""
    until = time.monotonic() + 30
    while running.metric('seqzoo_queue_texts{model="endless"') or running.metric("seqzoo_open_requests") < count:
        assert time.monotonic() < until
        time.sleep(0.02)


@contextlib.contextmanager
def asked(running):
    """Callers who wait for what does not end, and leave: a turn for each, whether or not they share a batch."""
    with contextlib.ExitStack() as stack:
        for _ in range(TURNS):
            caller = stack.enter_context(socket.create_connection(("127.0.0.1", running.http), 30))
            caller.sendall(HEAD + BODY)
        begun(running, TURNS)
        yield


def test_another_model_answers_and_who_leaves_is_not_computed_on(running):
    for _ in range(2):
        with asked(running):
            assert running.infer("echo", "abc")["output_text"] == ["abc"]
            assert running.ask("GET", "/v2/health/ready")[0] == 200
        assert running.ask("POST", PATH, {"instances": ["abc"]})[0] == 200  # turns are free again


def test_a_deadline_ends_the_run(running):
    found = []

    def ask():
        found.append(running.ask("POST", PATH, BODY, {"Request-Timeout": "0.5"})[0])

    with echo.callers(6, ask):
        pass
    assert found == [504] * 6
    assert running.ask("POST", PATH, {"instances": ["abc"]})[0] == 200
    assert not [event for event in running.events if event["event"] in ("failed", "text")]


@pytest.mark.slow
def test_what_does_not_end_is_ended_when_the_server_stops(folders):
    with echo.serving(*folders, "--drain", 0.5) as running, asked(running):
        assert running.end(seconds=30) == 1
        assert running.event("stopped")["open"] == TURNS
