"""What a request has: a body too large, too slow, one of too many, or of a caller who leaves; and its parameters."""

import asyncio
import gzip
import json
import tracemalloc

import pytest

from serving.server import http, limits
from serving.server.bodies import Body, Parameters
from serving.server.faults import Fault
from serving.server.http import Asking
from serving.server.limits import Limits
from serving.server.monitoring import Metrics
from serving.server.service import Service

PATH = "/v1/models/echo:predict"
LIMITS = Limits(bytes=100, reading=0.05)


class Version:
    number = 3


class Models:
    """Answers nothing: what reaches it has passed the bounds."""

    current = {"echo": Version()}

    def find(self, name, version):
        raise RuntimeError("a secret")


class House:
    """An application, what it has logged and what it has counted."""

    def __init__(self):
        self.logged, self.metrics = [], Metrics()
        log = lambda event, **fields: self.logged.append((event, fields))  # noqa: E731
        self.service = Service(Models(), LIMITS, self.metrics, log, log_requests=True)
        self.service.state = "ready"
        self.application, self.left = Asking(self.service), None

    def counted(self, outcome):
        labels = {"model": "echo", "version": "3", "protocol": "v1-http", "outcome": outcome}
        return self.metrics.registry.get_sample_value("seqzoo_requests_total", labels)


def asked(house, parts, headers=(), stall=False):
    """`(status, headers, sentence)`; with `stall` the rest of the body never comes."""
    said = []
    left = house.left = list(parts)

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
    assert asyncio.run(house.application(scope, receive, send))
    assert house.service.held_bytes == house.service.open == 0  # whatever happens
    assert [message.get("more_body", False) for message in said[1:]] == [True] * (len(said) - 2) + [False]
    return said[0]["status"], dict(said[0]["headers"]), json.loads(said[1]["body"])["error"]


@pytest.mark.parametrize(
    ("parts", "headers", "status", "outcome", "sentence"),
    [
        ([b"x" * 60, b"x" * 60, b"x" * 60], [], 413, "too_large", "more than 100 bytes"),
        ([b"{}"], [(b"content-length", b"101")], 413, "too_large", "more than 100 bytes"),
        ([b"{}"], [(b"content-length", b"9" * 500)], 413, "too_large", "more than 100 bytes"),
        (
            [b"{}"],
            [(b"content-encoding", b"br")],
            415,
            "encoded",
            "packed with gzip; received the content-encoding 'br'",
        ),
        ([b"{}"], [(b"content-encoding", b"gzip")], 400, "invalid", "is not packed with gzip"),
        ([gzip.compress(b"nonsense")], [(b"content-encoding", b"GZip")], 400, "invalid", "a JSON object"),
        ([gzip.compress(bytes(101))], [(b"content-encoding", b"gzip")], 413, "too_large", "more than 100 bytes"),
        ([gzip.compress(bytes(60))[:-3]], [(b"content-encoding", b"gzip")], 400, "invalid", "ends early"),
        ([gzip.compress(b"{}") * 2], [(b"content-encoding", b"gzip")], 400, "invalid", "one whole member"),
        ([b"{", {"type": "http.disconnect"}], [], 499, "gone", "the caller left"),
        ([b"nonsense"], [], 400, "invalid", "a JSON object"),
        ([b'{"instances": []}'], [], 400, "invalid", "at least one row; received an empty list"),
        ([b'{"instances": ["a"]}'], [], 500, "broken", "RuntimeError"),
    ],
    ids=[
        "sent",
        "said",
        "said absurdly",
        "compressed",
        "no gzip",
        "packed",
        "a bomb",
        "cut",
        "two",
        "left",
        "no JSON",
        "no rows",
        "broken",
    ],
)
def test_bodies_are_bounded(parts, headers, status, outcome, sentence):
    """Each is counted, and what is not read before the answer is read after it: then a caller sees the answer."""
    house = House()
    found = asked(house, parts, headers)
    assert found[0] == status and sentence in found[2] and "secret" not in found[2]
    assert (found[1].get(b"connection") == b"close") == (status == 413)
    assert house.left == [] and house.counted(outcome) == 1
    told = [fields for event, fields in house.logged if event == "request"]
    assert [(each["outcome"], each["model"], each["version"]) for each in told] == [(outcome, "echo", 3)]


def test_a_body_that_does_not_come_is_given_up():
    house = House()
    status, headers, sentence = asked(house, [b"{"], stall=True)
    assert status == 408 and "within 0.05 seconds" in sentence and headers[b"connection"] == b"close"
    assert house.counted("slow") == 1


def test_what_is_refused_is_not_read_for_ever(monkeypatch):
    """Neither longer than a body may take, nor more bytes than memory may hold."""
    assert asked(House(), [b"x" * 101], stall=True)[0] == 413
    house = House()
    monkeypatch.setattr(limits, "BODIES", 2)
    assert asked(house, [b"x" * 101] * 10)[0] == 413 and len(house.left) == 7


def test_all_bodies_together_are_bounded(monkeypatch):
    house = House()
    monkeypatch.setattr(limits, "BODIES", 0.5)
    status, headers, sentence = asked(house, [b"x" * 60])
    assert status == 503 and "server's memory" in sentence and headers[b"retry-after"] == b"1"
    assert house.counted("busy") == 1


def test_a_defect_is_logged_without_what_it_says():
    house = House()
    asked(house, [b'{"instances": ["a"]}'])
    assert [event for event, _ in house.logged] == ["failed", "request"]
    assert type(house.logged[0][1]["error"]) is RuntimeError


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
    found = http.PATH.fullmatch(path)
    assert (found and found.groups()) == groups


def test_no_more_is_made_of_a_packed_body_than_the_bound():
    """A bomb: 8 kB that would be 8 MB."""
    body, content = object.__new__(Body), gzip.compress(bytes(8 << 20))
    body.limits = Limits(bytes=100_000)
    tracemalloc.start()
    try:
        with pytest.raises(Fault, match="more than 100000 bytes"):
            body.unpack(content)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("words", [["red", "dark blue"], "red\ndark blue"])
def test_a_list_of_strings_and_its_lines_are_the_same(words):
    """As a tuple: requests whose options are equal share a batch, so options are keys, which a list cannot be."""
    taken = Parameters({"bad_words": words}).take("bad_words", list)
    assert taken == ("red", "dark blue") and isinstance(hash(taken), int)


@pytest.mark.parametrize("words", [3, ["red", 3], [["red"]], {"red": 1}, True])
def test_other_values_are_no_list_of_strings(words):
    with pytest.raises(Fault, match="bad_words must be a string or a list of strings; received"):
        Parameters({"bad_words": words}).take("bad_words", list)
