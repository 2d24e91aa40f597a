"""What a `Client` does when there is no answer, or none that it can use."""

import asyncio
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from serving.client import (
    AnswerError,
    AsyncClient,
    Client,
    ClientError,
    DeadlineError,
    FailedError,
    NotFoundError,
    RefusedError,
    UnavailableError,
    patience,
)
from tests.serving.client.fake_server import Protos, slowly

BUSY, BROKEN, BAD = (503, "UNAVAILABLE"), (500, "INTERNAL"), (400, "INVALID_ARGUMENT")


def faults(scheme, pairs):
    return [pair["grpc" in scheme] for pair in pairs]


@pytest.mark.slow(but=2)
def test_a_busy_server_is_asked_again(fake, servers, scheme):
    fake.script[:] = faults(scheme, [BUSY, BUSY, BUSY])
    assert Client(servers.url(scheme), "generate").run(["abc"])[0].text == "abc"
    assert not fake.script
    fake.script[:] = faults(scheme, [BUSY] * 3)
    with pytest.raises(UnavailableError, match="as told.*tried 2 times"):
        Client(servers.url(scheme), "generate", tries=2).run(["abc"])
    assert len(fake.script) == 1


def test_calls_that_a_server_cancels_are_asked_again(fake, servers):
    """grpc's own bound of calls that wait ends them so."""
    for scheme in ("grpc", "tfs+grpc"):
        fake.script[:] = ["CANCELLED"] * 2
        assert Client(servers.url(scheme), "generate").run(["abc"])[0].text == "abc" and not fake.script


def test_too_many_calls_at_once_are_asked_again():
    """A server of gRPC that is bounded answers them so itself, before it knows what is asked."""
    entered, free = threading.Event(), threading.Event()

    def holds(request, context):
        entered.set()
        free.wait(5)
        return b""

    own = grpc.server(ThreadPoolExecutor(2), maximum_concurrent_rpcs=1)
    table = {"ModelMetadata": grpc.unary_unary_rpc_method_handler(holds)}
    own.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("inference.GRPCInferenceService", table),))
    port = own.add_insecure_port("127.0.0.1:0")
    own.start()
    first = threading.Thread(target=lambda: Client(f"grpc://127.0.0.1:{port}", "a").metadata)
    first.start()
    assert entered.wait(5)
    with pytest.raises(UnavailableError, match="Concurrent RPC limit.*tried 2 times"):
        Client(f"grpc://127.0.0.1:{port}", "a", tries=2).metadata  # noqa: B018
    free.set()
    first.join(5)
    own.stop(None)


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (BROKEN, FailedError),
        (BAD, RefusedError),
        ((404, "NOT_FOUND"), NotFoundError),
        ((504, "DEADLINE_EXCEEDED"), DeadlineError),
        ((429, "RESOURCE_EXHAUSTED"), RefusedError),
        ((401, "UNAUTHENTICATED"), RefusedError),
        ((301, "UNIMPLEMENTED"), RefusedError),
        ((502, "UNKNOWN"), FailedError),
    ],
    ids=lambda value: str(value[0]) if isinstance(value, tuple) else value.__name__,
)
def test_nothing_else_is_asked_again(fake, servers, scheme, fault, error):
    fake.script[:] = faults(scheme, [fault] * 2)
    with pytest.raises(error, match="as told") as caught:
        Client(servers.url(scheme), "generate").run(["abc"])
    assert len(fake.script) == 1 and type(caught.value) is error and isinstance(caught.value, ClientError)


def test_one_part_of_a_list_that_fails_fails_the_list(fake, servers, scheme):
    client = Client(servers.url(scheme), "generate", batch=2)
    client.metadata  # noqa: B018
    fake.script[:] = [None, *faults(scheme, [BAD])]
    with pytest.raises(RefusedError):
        client.run(["a", "b", "c", "d"] * 4)


@pytest.mark.slow
@pytest.mark.release(but=2)
def test_an_answer_that_is_late(fake, servers, scheme):
    client = Client(servers.url(scheme), "generate", timeout=0.3)
    client.metadata  # noqa: B018
    fake.script[:] = [slowly(1.0)]
    begun = time.monotonic()
    with pytest.raises(DeadlineError):
        client.run(["abc"])
    assert time.monotonic() - begun < 0.9
    fake.script[:] = faults(scheme, [BUSY] * 99)
    patience.FIRST = 0.2
    begun = time.monotonic()
    with pytest.raises((UnavailableError, DeadlineError)):  # no try begins behind the deadline; the last may meet it
        Client(servers.url(scheme), "generate", timeout=0.5, tries=99).run(["abc"])
    assert time.monotonic() - begun < 0.8


def test_nobody_listens(scheme):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and does not listen
        url = f"{scheme}://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(UnavailableError, match="tried 2 times"):
            Client(url, "generate", tries=2, timeout=5).run(["abc"])


def drip(request):
    """An answer that never ends, a byte at a time."""
    request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(60):
        request.wfile.write(b" ")
        time.sleep(0.05)


def stall(request):
    """Half a status line, and nothing for longer than the client waits."""
    request.wfile.write(b"HTTP/1.1 2")
    time.sleep(0.3)
    request.close_connection = True


def cut(request):
    request.wfile.write(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"outputs": ')
    request.close_connection = True


def hang_up(request):
    request.close_connection = True


def body(content, status=200, headers=()):
    return lambda request: request._send(status, content, headers)


@pytest.mark.parametrize("answer", [pytest.param(drip, marks=pytest.mark.slow), stall])
def test_an_answer_that_does_not_end_has_the_same_deadline(fake, servers, answer):
    client = Client(servers.url("http"), "generate", timeout=0.2)
    client.metadata  # noqa: B018
    fake.script[:] = [answer]
    begun = time.monotonic()
    with pytest.raises(DeadlineError, match="did not answer within 0.2 seconds"):
        client.run(["abc"])
    assert time.monotonic() - begun < 0.8


@pytest.mark.parametrize("fault", [cut, hang_up], ids=["cut", "hang-up"])
def test_connections_that_break_are_made_again(fake, servers, fault):
    fake.script[:] = [fault] * 3
    assert Client(servers.url("http"), "generate").run(["abc"])[0].text == "abc"


@pytest.mark.parametrize(
    "content",
    [b"no json", b"[]", b"{}", b'{"outputs": 3}', b'{"outputs": [{"name": "output_text"}]}', b"\xff", b"",
     b"[" * 100_000,
     b'{"outputs": [{"name": "output_text", "shape": [2], "data": ["a"]}]}',
     b'{"outputs": [{"name": "output_text", "shape": [1], "data": ["a"]}]}',
     b'{"outputs": [{"name": "output_text", "shape": [1], "data": [3]}, {"name": "scores", "shape": [1], "data":[1]}]}',
     b'{"outputs": {"output_text": ["a", "b"], "scores": [1, 2]}}', b'{"outputs": ["a"]}'],
    ids=range(13),
)  # fmt: skip
@pytest.mark.parametrize("scheme", ["http", "tfs+http"])
def test_nonsense_is_told(fake, servers, scheme, content):
    client = Client(servers.url(scheme), "generate")
    client.metadata  # noqa: B018
    fake.script[:] = [body(content)]
    with pytest.raises(AnswerError):
        client.run(["abc"])


def too_much():
    """One value that stands for more than there can be."""
    found = Protos().predicted()
    tensor = found.outputs["output_text"]
    tensor.dtype, size = 7, tensor.tensor_shape.dim.add
    size(size=1), size(size=10**12)
    tensor.string_val.append(b"a")
    return found


def test_one_value_does_not_stand_for_a_whole_memory(servers, monkeypatch):
    client = Client(servers.url("tfs+grpc"), "generate")
    client.metadata  # noqa: B018
    monkeypatch.setattr(client._protocol.transport, "call", lambda *_: too_much())
    with pytest.raises(AnswerError, match="1 values in a tensor of shape"):
        client.run(["abc"])


@pytest.mark.slow
def test_a_server_that_asks_to_wait(fake, servers):
    fake.script[:] = [body(b"{}", 503, [("Retry-After", "0.3")])]
    begun = time.monotonic()
    assert Client(servers.url("http"), "generate").run(["abc"])[0].text == "abc"
    assert time.monotonic() - begun >= 0.3


def test_a_port_that_speaks_something_else(servers):
    url = f"http://127.0.0.1:{servers.grpc_port}"
    with pytest.raises((AnswerError, UnavailableError)):
        Client(url, "generate", tries=1, timeout=3).run(["abc"])


@pytest.mark.slow
def test_a_connection_is_kept(servers):
    client = Client(servers.url("http"), "generate")
    for _ in range(5):
        client.run(["a"])
    assert len(client._protocol.transport._idle) == 1
    client.close()
    assert not client._protocol.transport._idle


@pytest.mark.slow
def test_many_threads_mix_nothing_up(servers, scheme):
    client, wrong = Client(servers.url(scheme), "generate", batch=2), []

    def ask(seed):
        texts = [f"{seed} {number}" for number in range(7)]
        for _ in range(3):
            wrong.extend(one for one, text in zip(client.run(texts), texts, strict=True) if one.text != text)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not wrong and not any(thread.is_alive() for thread in threads)


@pytest.mark.slow
def test_of_asyncio(fake, servers, scheme):
    async def ask():
        async with AsyncClient(servers.url(scheme), "generate", batch=3) as client:
            many = await asyncio.gather(*(client.run([f"{number} {each}" for each in range(8)]) for number in range(5)))
            fake.script[:] = faults(scheme, [BAD])
            with pytest.raises(RefusedError):
                await client.run(["a"])
            return many

    found = asyncio.run(ask())
    assert [[each.text for each in row] for row in found] == [
        [f"{number} {each}" for each in range(8)] for number in range(5)
    ]
