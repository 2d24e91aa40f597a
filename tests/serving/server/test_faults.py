"""Faults of callers and of the machine: nothing that one caller does costs another its answer."""

import collections
import contextlib
import http.client
import json
import random
import socket
import threading
import time

import grpc
import pytest

from tests.serving.server import echo, malformed
from tests.serving.server.conftest import SERVICE

pytestmark = pytest.mark.slow
REQUESTS = 500  # over HTTP, and as many over gRPC
CODES = {"INVALID_ARGUMENT", "NOT_FOUND"}


@pytest.fixture(scope="module")
def alone(models):
    """A server of the test's own, for what is hard on it."""
    with echo.serving(*(folder.parent for folder in models.values()), "--deadline", 20) as running:
        yield running


def answers(running, text="abc"):
    assert running.infer("generate", text)["output_text"] == [text]


def test_malformed_requests_over_http(alone):
    """Always an answer or a status of 4xx with a sentence; never a 5xx, a hang or a lost connection."""
    found, connection = collections.Counter(), http.client.HTTPConnection("127.0.0.1", alone.http, timeout=60)
    for seed in range(REQUESTS):
        path, headers, content = malformed.http_request(seed)
        connection.request("POST", path, content, headers)
        response = connection.getresponse()
        value = json.loads(response.read())
        assert response.status == 200 or 400 <= response.status < 500, (seed, response.status, value)
        assert response.status == 200 or len(value["error"]) > 20 and value["error"][-1] == ".", (seed, value)
        found[response.status] += 1
    connection.close()
    assert found[400] > REQUESTS / 2 and found[404] > 0
    answers(alone)


def test_malformed_requests_over_grpc(alone):
    found = collections.Counter()
    with grpc.insecure_channel(f"127.0.0.1:{alone.grpc}") as channel:
        ask = channel.unary_unary(SERVICE + "ModelInfer")
        for seed in range(REQUESTS):
            try:
                ask(malformed.grpc_request(seed), timeout=60)
                found["OK"] += 1
            except grpc.RpcError as error:
                assert error.code().name in CODES and len(error.details()) > 20, (seed, error.code(), error.details())
                found[error.code().name] += 1
    assert found["INVALID_ARGUMENT"] > REQUESTS / 3 and found["NOT_FOUND"] > 0
    answers(alone)
    assert not [event for event in alone.events if event["event"] in ("failed", "text")]


def test_bytes_that_are_no_http(alone):
    rng = random.Random(1)
    for seed in range(200):
        with socket.create_connection(("127.0.0.1", alone.http), 10) as caller:
            caller.sendall(rng.randbytes(rng.randrange(1, 200)) + b"\r\n\r\n" * (seed % 2))
    answers(alone)


def test_slow_and_half_open_connections(alone):
    """Callers that send half a request or read nothing keep nobody waiting."""
    with contextlib.ExitStack() as stack:
        body = json.dumps({"instances": ["h" * 500] * 800}).encode()
        head = b"POST /v1/models/generate:predict HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body)
        for number in range(60):
            caller = stack.enter_context(socket.create_connection(("127.0.0.1", alone.http), 10))
            if number % 4 == 0:
                continue  # nothing is sent
            if number % 4 == 1:
                caller.sendall(head[: len(head) // 2])
            elif number % 4 == 2:
                caller.sendall(head + body[: len(body) // 2])
            else:
                caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                caller.sendall(head + body)  # and the answer is never read
        started = time.monotonic()
        for _ in range(20):
            answers(alone)
        assert time.monotonic() - started < 30
    answers(alone)


def test_half_a_head_is_closed(alone):
    from serving.server.connections import HEAD_SECONDS

    with socket.create_connection(("127.0.0.1", alone.http), HEAD_SECONDS + 20) as caller:
        caller.sendall(b"POST /v1/models/")
        assert caller.recv(1) == b""


def test_who_leaves_is_taken_out_of_the_queue(models):
    with echo.serving(models["generate"].parent, "--max-delay", 1000, "--max-batch-texts", 64) as running:
        body = json.dumps({"instances": ["abc"]}).encode()
        for _ in range(5):
            caller = http.client.HTTPConnection("127.0.0.1", running.http)
            caller.request("POST", "/v1/models/generate:predict", body)
            time.sleep(0.05)
            caller.close()
        until = time.monotonic() + 20
        while running.metric('seqzoo_requests_total{model="generate",outcome="gone"') < 5:
            assert time.monotonic() < until
            time.sleep(0.1)
        assert running.metric("seqzoo_dropped_texts_total") == 5 and running.metric("seqzoo_queue_texts") == 0


def test_a_full_queue_is_told(models):
    with echo.serving(models["generate"].parent, "--max-delay", 1000, "--queue", 4, "--max-batch-texts", 64) as running:
        found = collections.Counter()

        def ask():
            status, headers, _ = running.ask("POST", "/v1/models/generate:predict", {"instances": ["abc"]})
            found[status, headers.get("retry-after")] += 1

        with echo.callers(12, ask):
            pass
        assert found[200, None] >= 4 and found[200, None] + found[503, "1"] == 12 and found[503, "1"] > 0


def test_killed_under_load(models):
    """kill -9: callers get errors or right answers, never wrong ones."""
    wrong, right, lost = [], [], []
    for seed in range(5):
        with echo.serving(models["generate"].parent) as running:

            def ask(running=running):
                number = 0
                while True:
                    text = f"{threading.get_ident()} {number}"
                    try:
                        found = running.infer("generate", text)["output_text"]
                    except (OSError, http.client.HTTPException, json.JSONDecodeError):
                        lost.append(text)
                        return
                    (right if found == [text] else wrong).append(text)
                    number += 1

            with echo.callers(8, ask):
                time.sleep(0.5 + seed / 5)
                running.process.kill()
    assert not wrong and len(right) > 50 and len(lost) == 40
