"""Messages of gRPC share the memory that the bodies of HTTP have, and each is counted."""

import asyncio

import pytest

from serving.server import grpc_service, limits
from serving.server.faults import Fault
from serving.server.grpc_service import Calls
from serving.server.limits import Limits
from serving.server.metrics import Metrics
from serving.server.service import Service


class Models:
    """Knows no model; it notes how many bytes are held when it is asked."""

    current, service, held = {}, None, None

    def find(self, name, version):
        self.held = self.service.held
        raise Fault("not_found", "there is no such model.")


class Context:
    def time_remaining(self):
        return None

    def peer(self):
        return "ipv6:%5B::1%5D:4000"


@pytest.mark.parametrize(
    ("content", "bodies", "outcome"),
    [(b"\x12\x00" * 20, 1, "not_found"), (b"\x12\x00" * 20, 0.3, "busy"), (b"\xff", 1, "invalid")],
    ids=["fits", "too much", "malformed"],
)
def test_messages_are_held_and_counted(monkeypatch, content, bodies, outcome):
    monkeypatch.setattr(limits, "BODIES", bodies)
    metrics, models = Metrics(), Models()

    async def live():
        service = models.service = Service(models, Limits(bytes=100), metrics, print)
        service.state = "ready"
        with pytest.raises(Fault) as caught:
            await Calls(service, "0").infer(content, Context())
        return caught.value.kind, service.held

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
