"""Connections are bounded, by address and together, and health and metrics are answered beyond the bounds."""

import asyncio
import contextlib
import socket
import threading
import time
from types import SimpleNamespace

import pytest

from serving.server import connections
from serving.server.door import RESERVE, Visitors
from tests.serving.server.test_connections import GET, answer, everything, served

POST = b"POST /%s HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
LOOPS = pytest.mark.parametrize("loop", ["asyncio", "uvloop"])


@pytest.fixture(autouse=True)
def bounds(monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 20)  # nothing ends by itself meanwhile


def opened(port):
    return socket.create_connection(("127.0.0.1", port), 10)


def asked(port, path):
    with opened(port) as caller:
        caller.sendall(b"GET %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" % path)
        return everything(caller)


@LOOPS
@pytest.mark.parametrize("visitors", [(900, 10), (10, 900)], ids=["of one", "together"])
def test_half_open_connections_keep_nobody_out(visitors, loop):
    made = Visitors(*visitors)

    def call(port):
        with contextlib.ExitStack() as stack:
            callers = [stack.enter_context(opened(port)) for _ in range(60)]
            for caller in callers:
                with contextlib.suppress(OSError):
                    caller.sendall(GET[:12])
            found = [asked(port, b"/"), asked(port, b"/metrics")]
            open_ = made._counts.total()
            callers[-1].sendall(GET[12:].replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
            return found, open_, everything(callers[-1])  # who came last is there still

    found, open_, last = served(call, loop=loop, visitors=made, seconds=30)
    assert all(each.startswith(b"HTTP/1.1 200") for each in (*found, last)) and open_ <= 10
    assert not (made._homes or made._counts or made._idle)


@LOOPS
def test_where_all_are_busy_health_and_metrics_are_answered(loop):
    busy = threading.Event()
    made = Visitors(900, 4)

    async def app(scope, receive, send):
        if scope["path"] == "/":
            await asyncio.to_thread(busy.wait, 20)
        await answer(send)

    def call(port):
        with contextlib.ExitStack() as stack:
            callers = [stack.enter_context(opened(port)) for _ in range(4)]
            for caller in callers:
                caller.sendall(GET)
            until = time.monotonic() + 10
            while (made._idle or made._counts.total() < 4) and time.monotonic() < until:
                time.sleep(0.01)
            found = [asked(port, path) for path in (b"/v2", b"/metrics", b"/v2/health/ready?x", b"/v2/health/live")]
            busy.set()
            return found, [caller.recv(15) for caller in callers]

    (refused, *answered), first = served(call, loop=loop, app=app, visitors=made, seconds=30)
    assert refused.startswith(b"HTTP/1.1 503") and b"retry-after: 1\r\n" in refused and b'{"error":' in refused
    assert all(each.startswith(b"HTTP/1.1 200") and b"connection: close" in each for each in answered)
    assert first == [b"HTTP/1.1 200 OK"] * 4


def fake():
    made = SimpleNamespace(cycle=None, aborted=False)
    made.transport = SimpleNamespace(abort=lambda: setattr(made, "aborted", True))
    return type("Fake", (), {"__hash__": lambda self: id(self), **vars(made)})()


def test_the_reserve_is_bounded_too():
    made = Visitors(900, 3)
    callers = [fake() for _ in range(3 + RESERVE + 1)]
    found = []
    for caller in callers:
        found.append(made.enter(caller, "192.0.2.1"))
        made.work(caller)
    assert found == [False] * 3 + [True] * RESERVE + [None]
    assert made.enter(fake(), "192.0.2.2") is False
    for caller in callers:
        made.leave(caller)
        made.leave(caller)
    assert made._counts.total() == 1


def test_addresses_of_a_network_of_ipv6_count_as_one():
    made = Visitors(900, 2)
    found = [made.enter(caller, f"2001:db8::{number:x}") for number, caller in enumerate([fake() for _ in range(4)])]
    assert found == [False] * 4 and made._counts == {"2001:db8::/64": 2}  # two gave way
    assert made.enter(fake(), "2001:db8:1::1") is False and made._counts.total() == 3


def test_a_proxy_has_no_bound_of_its_own():
    made = Visitors(8, 2, is_proxy=lambda host: host == "127.0.0.1")
    for _ in range(8):
        assert made.enter(fake(), "127.0.0.1") is False
    assert made._counts == {"proxies": 8}


async def slowly(scope, receive, send):
    """An answer after as many seconds as the path says, or what became of the caller."""
    await receive()
    gone = asyncio.ensure_future(receive())
    await asyncio.wait([gone], timeout=float(scope["path"][1:]))
    if gone.done():
        LEFT.append(gone.result()["type"])
    gone.cancel()
    await answer(send)


LEFT = []


@LOOPS
@pytest.mark.parametrize("seconds", [b"0.1", b"1.5"])
def test_who_closes_its_half_has_its_answers(loop, seconds):
    def call(port):
        with opened(port) as caller:
            caller.sendall(POST % b"0.01" + POST % seconds)
            caller.shutdown(socket.SHUT_WR)
            return everything(caller)

    found = served(call, loop=loop, app=slowly, seconds=30)
    assert found.count(b"HTTP/1.1 200 OK") == 2 and found.endswith(b"ok")
    assert b"100 Continue" in found or seconds == b"0.1"


@LOOPS
def test_who_leaves_is_noticed(loop):
    LEFT.clear()

    def call(port):
        with opened(port) as caller:
            caller.sendall(POST % b"20")
            time.sleep(0.1)

    served(call, loop=loop, app=slowly, seconds=15)
    assert LEFT == ["http.disconnect"]
