"""Bodies of requests: too large, too slow, too many at once, and callers who leave while they send."""

import asyncio
import json

import pytest

from serving.server import asking
from serving.server.asking import Asking
from serving.server.limits import Limits

PATH = "/v1/models/echo:predict"


class Service:
    """Answers nothing: what reaches it has passed the bounds."""

    limits = Limits(bytes=100, reading=0.05)

    async def infer(self, *request):
        raise RuntimeError("a secret")

    def log(self, event, **fields):
        self.logged = event, type(fields["error"])


def asked(application, parts, headers=(), stall=False):
    """`(status, headers, sentence)`; with `stall` the rest of the body never comes."""
    said, left = [], list(parts)

    async def receive():
        if left:
            part = left.pop(0)
            return (
                part
                if isinstance(part, dict)
                else {"type": "http.request", "body": part, "more_body": bool(left) or stall}
            )
        await asyncio.sleep(60)

    async def send(message):
        said.append(message)

    scope = {"type": "http", "method": "POST", "path": PATH, "headers": list(headers)}
    assert asyncio.run(application(scope, receive, send))
    assert application.held == 0  # whatever happens
    return said[0]["status"], dict(said[0]["headers"]), json.loads(said[1]["body"])["error"]


@pytest.mark.parametrize(
    ("parts", "headers", "status", "sentence"),
    [
        ([b"x" * 60, b"x" * 60], [], 413, "more than 100 bytes"),
        ([b"{}"], [(b"content-length", b"101")], 413, "more than 100 bytes"),
        ([b"{}"], [(b"content-length", b"9" * 500)], 413, "more than 100 bytes"),
        ([b"{}"], [(b"content-encoding", b"gzip")], 415, "must not be compressed"),
        ([b"{", {"type": "http.disconnect"}], [], 499, "the caller left"),
        ([b"nonsense"], [], 400, "a JSON object"),
        ([b'{"instances": ["a"]}'], [], 500, "RuntimeError"),
    ],
    ids=["sent", "said", "said absurdly", "compressed", "left", "no JSON", "broken"],
)
def test_bodies_are_bounded(parts, headers, status, sentence):
    found = asked(Asking(Service()), parts, headers)
    assert found[0] == status and sentence in found[2] and "secret" not in found[2]
    assert (found[1].get(b"connection") == b"close") == (status == 413)


def test_a_body_that_does_not_come_is_given_up():
    status, headers, sentence = asked(Asking(Service()), [b"{"], stall=True)
    assert status == 408 and "within 0.05 seconds" in sentence and headers[b"connection"] == b"close"


def test_all_bodies_together_are_bounded(monkeypatch):
    application = Asking(Service())
    monkeypatch.setattr(asking, "BODIES", 0.5)
    status, headers, sentence = asked(application, [b"x" * 60])
    assert status == 503 and "server's memory" in sentence and headers[b"retry-after"] == b"1"


def test_a_defect_is_logged_without_what_it_says():
    service = Service()
    asked(Asking(service), [b'{"instances": ["a"]}'])
    assert service.logged == ("failed", RuntimeError)


@pytest.mark.parametrize(
    ("path", "groups"),
    [
        ("/v2/models/a/infer", ("a", None, None, None)),
        ("/v2/models/a/versions/3/infer", ("a", "3", None, None)),
        ("/v1/models/a:predict", (None, None, "a", None)),
        ("/v1/models/a/versions/3:predict", (None, None, "a", "3")),
        ("/v2/models/a/ready", None),
        ("/v1/models/a:classify", None),
        ("/v2/models/a/b/infer", None),
    ],
)
def test_paths(path, groups):
    found = asking.PATH.fullmatch(path)
    assert (found and found.groups()) == groups
