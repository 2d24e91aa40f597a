"""Messages of gRPC share the memory that the bodies of HTTP have, and each is counted."""

import asyncio
import collections
import contextlib
import signal
import tempfile
from pathlib import Path

import grpc
import pytest

from serving.server import grpc_service, limits
from serving.server.door import Door
from serving.server.faults import Fault
from serving.server.grpc_service import Calls
from serving.server.limits import Limits
from serving.server.messages import pb
from serving.server.monitoring import Metrics
from serving.server.service import Service
from tests.serving.server import echo


class Models:
    """Knows no model; it notes how many bytes are held when it is asked."""

    current, service, held = {}, None, None

    def find(self, name, version):
        self.held = self.service.held_bytes
        raise Fault("not_found", "there is no such model.")


class Context:
    def time_remaining(self):
        return None

    def invocation_metadata(self):
        return ()

    def peer(self):
        return "ipv6:%5B::1%5D:4000"


@pytest.mark.parametrize(
    ("content", "bodies", "others", "keys", "outcome"),
    [
        (b"\x12\x00" * 20, 1, {}, (), "not_found"),
        (b"\x12\x00" * 20, 0.3, {}, (), "busy"),
        (b"\xff", 1, {}, (), "invalid"),
        (None, 1, {}, (), "invalid"),
        (b"", 1, {"another": 1}, (), "busy"),
        (b"", 1, {}, [("alice", "a" * 16)], "unknown"),
    ],
    ids=["fits", "too much", "malformed", "none", "no room", "no key"],
)
def test_messages_are_held_and_counted(monkeypatch, content, bodies, others, keys, outcome):
    monkeypatch.setattr(limits, "BODIES", bodies)
    metrics, models = Metrics(), Models()

    async def stream():
        if content is not None:
            yield content

    async def live():
        service = models.service = Service(models, Limits(bytes=100, connections=1), metrics, print, door=Door(keys))
        service.state = "ready"
        calls = Calls(service, "0")
        calls.open.update(others)
        with pytest.raises(Fault) as caught:
            await calls.read_and_infer(stream(), Context())
        return caught.value.kind, service.held_bytes

    assert asyncio.run(live()) == (outcome, 0)
    labels = {"model": "", "version": "", "protocol": "v2-grpc", "outcome": outcome}
    assert metrics.registry.get_sample_value("seqzoo_requests_total", labels) == 1
    assert models.held == (40 if outcome == "not_found" else None)


@pytest.mark.parametrize(
    ("peer", "expected"),
    [
        ("ipv4:127.0.0.1:4000", "127.0.0.1"),
        ("ipv6:%5B::1%5D:4000", "::1"),
        ("ipv6:[2001:db8::7]:4000", "2001:db8::7"),
        ("unix:", ""),
    ],
)
def test_the_address_of_a_caller(peer, expected):
    context = Context()
    context.peer = lambda: peer
    assert grpc_service.address(context) == expected


def test_calls_at_once_are_answered_or_told_to_come_again():
    """grpc itself ends calls beyond a thousand that wait with CANCELLED, without a word."""
    codes, count = collections.Counter(), 1500
    with tempfile.TemporaryDirectory() as home, echo.serving(echo.write(Path(home) / "1")) as running:
        request = pb.ModelInferRequest(model_name="echo")
        request.inputs.add(name="text", datatype="BYTES", shape=[1]).contents.bytes_contents.append(b"abc")
        with grpc.insecure_channel(f"127.0.0.1:{running.grpc}") as channel:
            ask = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
            for future in [ask.future(request.SerializeToString(), timeout=60) for _ in range(count)]:
                try:
                    future.result()
                    codes["OK"] += 1
                except grpc.RpcError as error:
                    assert error.details() == "as many calls are under way as this server takes. Try again in a second."
                    assert dict(error.trailing_metadata())["retry-after"] == "1"
                    codes[error.code().name] += 1
    assert codes.keys() <= {"OK", "UNAVAILABLE"} and codes["OK"] > 100


@pytest.mark.release
def test_calls_wait_for_a_server_that_gets_no_processor():
    """grpc itself ends calls that have waited for 30 s with CANCELLED, without a word."""
    before = "import signal, time; signal.signal(signal.SIGUSR1, lambda *_: time.sleep(33));"
    with tempfile.TemporaryDirectory() as home, echo.serving(echo.write(Path(home) / "1"), before=before) as running:
        with grpc.insecure_channel(f"127.0.0.1:{running.grpc}") as channel:
            ask = channel.unary_unary("/inference.GRPCInferenceService/ServerLive")
            ask(b"", timeout=300)
            running.process.send_signal(signal.SIGUSR1)
            for future in [ask.future(b"", timeout=300) for _ in range(100)]:
                assert pb.ServerLiveResponse.FromString(future.result()).live


def test_one_caller_has_a_part_of_the_calls():
    service = Service(Models(), Limits(connections=8), Metrics(), print)
    calls = Calls(service, "0")
    with contextlib.ExitStack() as stack:
        for _ in range(6):
            stack.enter_context(calls._room("a"))
        with pytest.raises(Fault, match="as many calls"):
            stack.enter_context(calls._room("a"))
        for _ in range(2):
            stack.enter_context(calls._room("b"))
        with pytest.raises(Fault, match="as many calls"):
            stack.enter_context(calls._room("c"))
    assert not calls.open
