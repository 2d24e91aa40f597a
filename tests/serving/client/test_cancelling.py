"""Whoever does not wait for an answer any longer costs the server nothing more."""

import asyncio
import http.client
import socket
import threading
import time

import pytest

from serving.client import AsyncClient, Client, ClientError, patience


def test_a_cancelled_task_breaks_its_requests_off(fake, servers, scheme):
    ended = threading.Event()

    def waits_for_the_caller_to_leave(call):
        if "grpc" in scheme:
            call.add_callback(ended.set)
            time.sleep(1)
        else:
            call.connection.settimeout(3)
            if call.connection.recv(1) == b"":
                ended.set()
            call.close_connection = True

    async def ask():
        client = AsyncClient(servers.url(scheme), "generate")
        await client.run(["a"])
        fake.script[:] = [waits_for_the_caller_to_leave]
        task = asyncio.create_task(client.run(["b"]))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(ended.wait, 2)
        assert (await client.run(["c"]))[0].text == "c"
        await client.close()

    asyncio.run(ask())


def test_a_request_that_is_cancelled_while_it_connects_is_not_sent(fake, servers, monkeypatch):
    client, cancellation = Client(servers.url("http"), "generate", timeout=None), patience.Cancellation()
    work = client.plan(["b"], {}, cancellation)
    client._protocol.transport.close()
    connect = http.client.HTTPConnection.connect

    def meanwhile(connection):
        connect(connection)
        connection.sock, connected = None, connection.sock  # as if it were not connected yet
        cancellation.cancel()
        connection.sock = connected

    monkeypatch.setattr(http.client.HTTPConnection, "connect", meanwhile)
    with pytest.raises(ClientError, match="the request was cancelled"):
        client.answer(work, 0, cancellation)
    assert not fake.seen


@pytest.mark.parametrize("scheme", ["http", "grpc"])
def test_a_cancelled_task_does_not_wait_for_the_description_of_the_model(scheme):
    async def ask(port):
        client = AsyncClient(f"{scheme}://127.0.0.1:{port}", "generate", timeout=5)
        task = asyncio.create_task(client.run(["a"]))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        begun = time.monotonic()
        await asyncio.to_thread(client._pool.shutdown)  # waits for what is under way
        assert time.monotonic() - begun < 2
        await client.close()

    with socket.create_server(("127.0.0.1", 0)) as silent:  # it listens and says nothing
        asyncio.run(ask(silent.getsockname()[1]))
