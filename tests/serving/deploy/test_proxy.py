"""nginx with the configuration of examples/deploy, before a server: TLS, both protocols, and who asks."""

import contextlib
import http.client
import json
import shutil
import socket
import ssl
import subprocess
import time

import grpc
import pytest

from serving.server.grpc_service import HealthRequest
from tests.house_rules import ROOT
from tests.serving.server import echo

pytestmark = pytest.mark.skipif(shutil.which("nginx") is None, reason="needs nginx: apt-get install nginx-light")
TEMPLATE = (ROOT / "examples" / "deploy" / "nginx.conf").read_text(encoding="utf-8")
HEALTH = "/grpc.health.v1.Health/Check"
BODY = {"instances": ["abc"]}


def certificate(folder):
    """A certificate of 127.0.0.1 that signs itself."""
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    words += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder / "tls.key", "-out", folder / "tls.crt"]
    subprocess.run(words, check=True, capture_output=True)
    return folder / "tls.crt"


def nginx(folder, port=8443, http="127.0.0.1:8080", grpc="127.0.0.1:8081"):
    """The template with other ports and folders."""
    changes = {"/etc/nginx/tls": folder, "listen 8443": f"listen {port}", "/tmp/nginx": f"{folder}/nginx"}
    text = TEMPLATE
    for old, new in (changes | {"127.0.0.1:8080": http, "127.0.0.1:8081": grpc}).items():
        assert old in text
        text = text.replace(old, str(new))
    return text


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as made:
        return made.getsockname()[1]


def started(folder, running):
    """`(process, port)` of nginx before a server; another port if somebody took it meanwhile."""
    for _ in range(5):
        port = free_port()
        config = nginx(folder, port, f"127.0.0.1:{running.http}", f"127.0.0.1:{running.grpc}")
        (folder / "nginx.conf").write_text(config)
        words = ["nginx", "-e", folder / "error.log", "-p", folder, "-c", folder / "nginx.conf", "-g", "daemon off;"]
        process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < until:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5):
                return process, port
            time.sleep(0.05)
        process.kill()
        process.wait()
    raise AssertionError((folder / "error.log").read_text())


@contextlib.contextmanager
def proxied(folder, running):
    """The port of nginx before a server."""
    process, port = started(folder, running)
    try:
        yield port
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    home = tmp_path_factory.mktemp("proxy")
    home.chmod(0o755)
    echo.write(home / "1")
    (home / "keys").write_text("alice abcdefghijklmnopqrst\n")
    trusted = certificate(home)
    with echo.serving(home / "1", "--proxy", "127.0.0.1", "--keys", home / "keys") as running:
        with proxied(home, running) as port:
            yield running, port, trusted


def asked(port, trusted, method, path, body=None, key="abcdefghijklmnopqrst"):
    """`(status, value)` over HTTPS."""
    context = ssl.create_default_context(cafile=trusted)
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=context)
    try:
        connection.request(method, path, body and json.dumps(body), {"Authorization": f"Bearer {key}"})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_http_has_tls(made):
    _, port, trusted = made
    for _ in range(3):
        status, said = asked(port, trusted, "POST", "/v1/models/echo:predict", BODY)
        assert status == 200 and json.loads(said)["predictions"][0]["output_text"] == "abc"
    assert asked(port, trusted, "POST", "/v1/models/echo:predict", BODY, "another key, a wrong one")[0] == 401
    assert asked(port, trusted, "GET", "/metrics")[0] == 404
    with pytest.raises(ssl.SSLError):
        asked(port, None, "GET", "/v2/health/ready")


def test_grpc_has_tls_on_the_same_port(made):
    _, port, trusted = made
    credentials = grpc.ssl_channel_credentials(trusted.read_bytes())
    with grpc.secure_channel(f"127.0.0.1:{port}", credentials) as channel:
        assert channel.unary_unary(HEALTH)(HealthRequest().SerializeToString(), timeout=20) == b"\x08\x01"
        ask = channel.unary_unary("/inference.GRPCInferenceService/ServerMetadata")
        assert b"seqzoo" in ask(b"", timeout=20, metadata=(("authorization", "Bearer abcdefghijklmnopqrst"),))
        with pytest.raises(grpc.RpcError) as caught:
            ask(b"", timeout=20)
        assert caught.value.code() == grpc.StatusCode.UNAUTHENTICATED


def test_what_is_too_large_does_not_pass(made):
    _, port, trusted = made
    assert asked(port, trusted, "POST", "/v1/models/echo:predict", {"instances": ["a" * (9 << 20)]})[0] == 413


def test_the_caller_cannot_write_who_it_is(made):
    """nginx replaces the header, whatever the caller has written in it."""
    assert TEMPLATE.count("X-Forwarded-For $remote_addr;") == 2
    assert "proxy_add_x_forwarded_for" not in TEMPLATE


def test_nginx_finds_nothing_wrong(made, tmp_path):
    certificate(tmp_path)
    (tmp_path / "nginx.conf").write_text(nginx(tmp_path))
    words = ["nginx", "-t", "-e", tmp_path / "log", "-c", tmp_path / "nginx.conf"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0 and "[emerg]" not in done.stderr, done.stderr
