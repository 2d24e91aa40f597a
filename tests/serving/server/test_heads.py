"""What a caller sends before anybody reads it is bounded, and one request is parsed at a time."""

import contextlib
import socket
import time

import pytest

from serving.server.connections import HEAD_BYTES, HEADERS
from tests.serving.server import test_connections
from tests.serving.server.test_connections import GET, answer, everything, served

MANY = 3 << 20  # bytes of what is too large
CHUNKED = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
START = b"GET / HTTP/1.1\r\nHost: a\r\n"
TOO_LARGE = {
    "a header": START + b"X: " + b"x" * MANY,
    "a name": START + b"x" * MANY,
    "a URL": b"GET /" + b"x" * MANY,
    "headers": START + b"X: y\r\n" * (MANY // 6),
    "short headers": START + b"X: y\r\n" * HEADERS + b"\r\n",
    "headers without an end": START + b"X: y\r\n" * (HEADERS + 1),
    "a header that ends": START + b"X: " + b"x" * HEAD_BYTES + b"\r\n\r\n",
    "a trailer": CHUNKED + b"1\r\nx\r\n0\r\nX: " + b"x" * MANY,
    "trailers": CHUNKED + b"1\r\nx\r\n0\r\n" + b"X: y\r\n" * MANY,
    "an extension of a chunk": CHUNKED + b"1;" + b"x" * MANY,
    "extensions of chunks": CHUNKED + (b"1;" + b"x" * 500 + b"\r\nx\r\n") * (MANY // 500),
    "empty lines": b"\r\n" * MANY,
}
SMALL = {
    "headers": (START + b"X: y\r\n" * (HEADERS - 1) + b"\r\n", b"200"),
    "a header": (START + b"X: " + b"x" * (HEAD_BYTES - 100) + b"\r\n\r\n", b"200"),
    "a trailer": (CHUNKED + b"1\r\nx\r\n0\r\nX: y\r\n\r\n", b"200"),
    "small chunks": (CHUNKED + b"1\r\nx\r\n" * 60_000 + b"0\r\n\r\n", b"200"),
    "no HTTP": (b"nonsense\r\n\r\n", b"400"),
}


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    monkeypatch.setattr(test_connections, "SHORT", 0.5)


async def reading(scope, receive, send):
    """Read the body, and say how long it is."""
    size, more = 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size, more = size + len(message.get("body", b"")), message.get("more_body")
    await answer(send, b"<%d>" % size)


def answered(port, content):
    """All that comes back to what is sent, until the connection is closed or nothing comes any more."""
    with socket.create_connection(("127.0.0.1", port), 10) as caller:
        with contextlib.suppress(OSError):  # the server has closed it: its answer may still be there
            caller.sendall(content)
        return everything(caller)


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("content", TOO_LARGE.values(), ids=TOO_LARGE)
def test_what_is_too_large_is_refused_and_the_connection_is_dropped(content, loop):
    found = served(lambda port: answered(port, content), loop=loop, app=reading, seconds=20)
    assert found.startswith(b"HTTP/1.1 431 ") and found.count(b"HTTP/1.1") == 1, found[:200]
    assert b'{"error":"the head of a request may have 64 kB and 100 headers' in found


@pytest.mark.parametrize("content, status", SMALL.values(), ids=SMALL)
def test_what_is_within_the_bounds_is_answered(content, status):
    found = served(lambda port: answered(port, content), app=reading, seconds=20)
    assert found.startswith(b"HTTP/1.1 " + status), found[:200]


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_requests_at_once_are_answered_one_by_one(loop):
    """Of all sizes, one behind the other without a wait: every one has its answer, in order."""
    sizes = [0, 1, 70_000, 0, 0, 300_000, 5] * 20
    parts = [b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size for size in sizes]
    parts[5] = CHUNKED + b"5\r\nabcde\r\n" * 9000 + b"0\r\n\r\n"
    sizes[5] = 45_000
    parts[-1] = parts[-1].replace(b"Host: a", b"Connection: close")
    content = b"".join(parts)

    def call(port):
        with socket.create_connection(("127.0.0.1", port), 10) as caller:
            caller.setblocking(False)
            sent, found = 0, b""
            until = time.monotonic() + 15
            while time.monotonic() < until:  # who sends without reading would wait for ever, as with every server
                try:
                    if sent < len(content):
                        sent += caller.send(content[sent : sent + (1 << 16)])
                except BlockingIOError:
                    pass
                try:
                    part = caller.recv(1 << 16)
                    if not part:
                        break
                    found += part
                except BlockingIOError:
                    time.sleep(0.001)
        return found

    found = served(call, loop=loop, app=reading, seconds=20)
    bodies = [int(each.partition(b"<")[2].partition(b">")[0]) for each in found.split(b"HTTP/1.1 200")[1:]]
    assert bodies == sizes


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_who_reads_no_answer_is_not_read_either(loop):
    """A caller who only sends is stopped by the buffers between, and no more requests are taken than answers fit."""
    taken = []

    async def large(scope, receive, send):
        taken.append(1)
        await answer(send, bytes(100_000))

    def call(port):
        with socket.create_connection(("127.0.0.1", port), 10) as caller:
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
            caller.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            caller.settimeout(0.5)
            sent = 0
            try:
                while sent < 30 << 20:
                    sent += caller.send(GET * 2000)
            except TimeoutError:
                pass
        return sent

    assert served(call, loop=loop, app=large, seconds=20) < 20 << 20
    assert len(taken) < 500
