"""Who is let in, and who a caller is: keys in both protocols, and the address that a proxy tells."""

import contextlib
import gzip
import json
from types import SimpleNamespace

import grpc
import pytest

from serving.client import Client, RefusedError
from serving.server import http
from serving.server.door import Door, read_keys
from serving.server.faults import Fault
from serving.server.grpc_service import Calls, HealthRequest
from serving.server.messages import pb
from tests.serving.server import echo
from tests.serving.server.conftest import SERVICE
from tools import cli

KEYS = {"alice": "a" * 32, "bob": "b-secret-of-bob-0123"}
CHECK, WATCH = ("/grpc.health.v1.Health/" + name for name in ("Check", "Watch"))


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    home = tmp_path_factory.mktemp("door")
    (home / "keys").write_text("# who may ask\n\n" + "".join(f"{name} {key}\n" for name, key in KEYS.items()))
    with echo.serving(echo.write(home / "1"), "--keys", home / "keys") as made:
        yield made


@pytest.fixture(scope="module")
def channel(running):
    with grpc.insecure_channel(f"127.0.0.1:{running.grpc}") as made:
        yield made


WRONG = [None, "", "Bearer", "Bearer x", f"Basic {KEYS['alice']}", f"Bearer {KEYS['alice']}x", "Bearer " + "ä" * 20]


@pytest.mark.parametrize("given", WRONG)
def test_without_a_key_nothing_is_answered_but_health(running, given):
    headers = {} if given is None else {"Authorization": given.encode("utf-8")}
    for method, path in (("GET", "/metrics"), ("GET", "/v2/models/echo"), ("POST", "/v1/models/echo:predict")):
        status, told, value = running.ask(method, path, {"instances": ["abc"]} if method == "POST" else None, headers)
        assert status == 401 and told["www-authenticate"] == "Bearer" and "wants a key" in value["error"]
    for path in ("/v2/health/live", "/v2/health/ready"):
        assert running.ask("GET", path, headers=headers)[0] == 200


@pytest.mark.parametrize("name", KEYS)
def test_a_key_opens_both_ports(running, name):
    headers = {"Authorization": f"Bearer {KEYS[name]}"}
    for scheme, port in (("http", running.http), ("grpc", running.grpc), ("tfs+http", running.http)):
        client = Client(f"{scheme}://127.0.0.1:{port}", "echo", headers=headers)
        assert client.run(["abc"])[0].text == "abc"
    assert running.ask("GET", "/metrics", headers=headers)[0] == 200
    with pytest.raises(RefusedError, match="wants a key"):
        Client(f"http://127.0.0.1:{running.http}", "echo").run(["abc"])
    assert not any(key in json.dumps(running.events) for key in KEYS.values())


@pytest.mark.parametrize("method", ["ModelInfer", "ModelReady", "ServerMetadata", "ModelMetadata"])
def test_without_a_key_no_call_is_answered(channel, method):
    kind = getattr(pb, method + "Request")
    for metadata in ((), (("authorization", "Bearer nothing"),)):
        with pytest.raises(grpc.RpcError) as caught:
            channel.unary_unary(SERVICE + method)(kind().SerializeToString(), timeout=20, metadata=metadata)
        assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED and "wants a key" in caught.value.details()


def test_health_over_grpc_needs_no_key(channel):
    for name in ("ServerLive", "ServerReady"):
        channel.unary_unary(SERVICE + name)(b"", timeout=20)
    for name in ("", "inference.GRPCInferenceService", "echo"):
        answer = channel.unary_unary(CHECK)(HealthRequest(service=name).SerializeToString(), timeout=20)
        assert answer == b"\x08\x01"  # status: SERVING
    with pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(CHECK)(HealthRequest(service="nobody").SerializeToString(), timeout=20)
    assert caught.value.code() == grpc.StatusCode.NOT_FOUND


@pytest.mark.parametrize("name, expected", [("", b"\x08\x01"), ("nobody", b"\x08\x03")])
def test_health_is_watched(channel, name, expected):
    call = channel.unary_stream(WATCH)(HealthRequest(service=name).SerializeToString(), timeout=20)
    assert next(call) == expected
    call.cancel()


def test_a_server_that_stops_is_not_serving(tmp_path):
    with echo.serving(echo.write(tmp_path / "1"), "--max-delay", 1000) as running:
        with grpc.insecure_channel(f"127.0.0.1:{running.grpc}") as channel:
            call = channel.unary_stream(WATCH)(b"", timeout=30)
            assert next(call) == b"\x08\x01"
            running.process.terminate()
            with contextlib.suppress(grpc.RpcError):  # it may have ended before the next look
                assert next(call) == b"\x08\x02"


def test_a_packed_body_is_answered(running):
    headers = {"Authorization": f"Bearer {KEYS['bob']}", "Content-Encoding": "gzip"}
    body = gzip.compress(json.dumps({"instances": ["abc"] * 900}).encode())
    status, _, value = running.ask("POST", "/v1/models/echo:predict", body, headers)
    assert status == 200 and len(value["predictions"]) == 900


@pytest.mark.parametrize(
    "content, message",
    [
        ("alice\n", "line 1: expected the name of a caller and its key.*received 1 word\\."),
        ("alice short\n", "received 2 words and a key of 5"),
        ("# nobody\n\n", "has no key"),
        (f"bob {'x' * 20}\nalice {'ä' * 20}\n", "line 2"),
        (f"bob {'x' * 20} more\n", "received 3 words"),
    ],
)
def test_a_file_of_keys_that_is_wrong_is_said(tmp_path, content, message):
    (tmp_path / "keys").write_text(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_keys(tmp_path / "keys")
    assert "x" * 20 not in str(caught.value)


def test_who_a_caller_is():
    door = Door(proxies=["127.0.0.1", "10.0.0.0/8", "::1"])
    assert (
        door.identify("192.0.2.1", forwarded="203.0.113.7") == "192.0.2.1"
    )  # no proxy of ours: anybody may write this
    assert door.identify("127.0.0.1", forwarded="203.0.113.7") == "203.0.113.7"
    assert door.identify("127.0.0.1", forwarded="1.2.3.4, 203.0.113.7, 10.1.1.1") == "203.0.113.7"
    assert door.identify("127.0.0.1") == door.identify("127.0.0.1", forwarded="") == "127.0.0.1"
    assert door.identify("::1", forwarded="2001:db8::1") == "2001:db8::/64"
    assert door.identify("127.0.0.1", forwarded="no address") == "no address"
    assert door.identify("::ffff:10.0.0.7", forwarded="203.0.113.7") == "203.0.113.7"  # as a port of IPv6 has it
    keyed = Door([("alice", "k" * 20), ("alice", "n" * 20)])
    assert keyed.identify("x", f"Bearer {'k' * 20}") == keyed.identify("y", f"bearer  {'n' * 20}") == ("key", "alice")
    with pytest.raises(Fault):
        keyed.identify("127.0.0.1", "alice")
    with pytest.raises(ValueError, match="nonsense"):
        Door(proxies=["nonsense"])


def test_each_proxy_may_add_a_header_of_its_own():
    """HAProxy does not write into the line that another proxy has begun."""
    door, lines = Door(proxies=["127.0.0.1", "10.0.0.0/8"]), ["203.0.113.7", "10.1.1.1"]
    headers = [(b"x-forwarded-for", line.encode()) for line in lines]
    assert http.identify_caller(door, {"client": ("127.0.0.1", 5), "headers": headers}, dict(headers)) == lines[0]
    told = [("x-forwarded-for", line) for line in lines]
    context = SimpleNamespace(invocation_metadata=lambda: told, peer=lambda: "ipv4:127.0.0.1:5")
    assert Calls(SimpleNamespace(door=door), "1").identify(context) == lines[0]


def test_the_command_line_takes_its_key_from_the_environment(running, monkeypatch, capsys):
    words = ["run", "--server", f"http://127.0.0.1:{running.http}", "echo", "abc"]
    monkeypatch.delenv("SEQZOO_SERVER_KEY", raising=False)
    assert cli.main(words) != 0 and "wants a key" in capsys.readouterr().err
    monkeypatch.setenv("SEQZOO_SERVER_KEY", KEYS["alice"])
    assert cli.main(words) == 0 and capsys.readouterr().out == "abc\n"
