"""Connections over HTTP end, whatever a caller does or leaves undone."""

import asyncio
import contextlib
import socket
import time

import pytest
import uvicorn
from uvicorn.server import ServerState

from serving.server import connections
from serving.server.connections import Connection

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n"
SHORT = 0.1  # seconds in the place of each of the bounds


async def answer(send, content=b"ok"):
    """What an application of ASGI sends."""
    headers = [(b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def everything(caller):
    """What comes until the connection is closed."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while part := caller.recv(1 << 16):
            found += part
    return found


def served(call, content=b"ok", loop="auto", app=None, seconds=6, visitors=None):
    """What `call(port)`, in a thread, returns, while a server answers `content` to everything and reads no body.

    `app` may answer in its place, and `visitors` count who is there; within `seconds` all connections are to be closed.
    """

    async def answering(scope, receive, send):
        await answer(send, content)

    async def live():
        config = uvicorn.Config(app or answering, log_config=None, lifespan="off", ws="none", timeout_keep_alive=SHORT)
        state, running = ServerState(), asyncio.get_running_loop()
        made = await running.create_server(lambda: Connection(config, state, {}, visitors=visitors), "127.0.0.1", 0)
        try:
            async with asyncio.timeout(seconds):
                found = await asyncio.to_thread(call, made.sockets[0].getsockname()[1])
                while state.connections or state.tasks:
                    await asyncio.sleep(0.01)
            return found
        finally:
            made.close()
            for each in list(state.connections):
                each.transport.abort()

    factory = uvicorn.Config("", loop=loop).get_loop_factory()
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(live())


@pytest.fixture(autouse=True)
def bounds(monkeypatch):
    for name in ("HEAD_SECONDS", "TAKING_SECONDS"):
        monkeypatch.setattr(connections, name, SHORT, raising=False)


def ended(port, *parts):
    """Seconds from the last of `parts` until the connection is closed; each but the first follows an answer."""
    with socket.create_connection(("127.0.0.1", port), 3) as caller:
        for number, part in enumerate(parts):
            caller.sendall(part)
            if number < len(parts) - 1:
                answer = b""
                while not answer.endswith(b"ok"):
                    answer += caller.recv(1000) or pytest.fail("closed before the answer")
        began = time.monotonic()
        while caller.recv(1000):
            pass
        return time.monotonic() - began


@pytest.mark.parametrize(
    "parts",
    [
        [b""],
        [GET[:9]],
        [GET],
        [GET, GET],
        [GET, b"\r\n"],
        [GET, GET[:9]],
        [POST, b"x"],
        [POST, b"x" * 100 + GET[:9]],
        [GET, b"\r\n" + GET],
    ],
    ids=["nothing", "half", "one", "two", "an empty line", "one and a half", "a byte of a body", "the next", "late"],
)  # fmt: skip
def test_a_connection_that_says_nothing_more_is_closed(parts):
    assert served(lambda port: ended(port, *parts)) < 5


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize(
    "request_",
    [GET, GET[:-2] + b"Connection: close\r\n\r\n", GET + GET, GET + b"nonsense\r\n\r\n"],
    ids=["kept", "closed", "two", "then no HTTP"],
)
def test_an_answer_that_nobody_takes_is_not_kept(request_, loop):
    """Closing a connection waits until all that was written is taken, and so does the answer after it."""

    def call(port):
        caller = socket.create_connection(("127.0.0.1", port), 10)
        caller.sendall(request_)
        assert caller.recv(1) == b"H"
        return caller  # open until the server has no connection any more

    served(call, bytes(16 << 20), loop).close()


def test_who_takes_an_answer_slowly_has_all_of_it(monkeypatch):
    monkeypatch.setattr(connections, "TAKEN", 1)
    monkeypatch.setattr(connections, "TAKING_SECONDS", 0.6)

    def call(port):
        found = 0
        with socket.create_connection(("127.0.0.1", port), 10) as caller:
            caller.sendall(GET)
            while part := caller.recv(1 << 20):
                found += len(part)
                time.sleep(0.1)
        return found

    assert served(call, bytes(16 << 20)) > 16 << 20
