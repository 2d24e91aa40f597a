"""The client against `seqzoo serve`, and with SEQZOO_TF_SERVING=HOST:PORT against a TensorFlow Serving.

That server is to have the model `dates` of the hub, exported again with its SavedModel (`seqzoo export dates`), under
this name. SEQZOO_TF_SERVING is its port of gRPC; SEQZOO_TF_SERVING_REST, if it is set, that of REST.
"""

import asyncio
import os

import pytest

from serving.client import AsyncClient, Client, NotFoundError, RefusedError
from serving.client.work import MOST_CHARACTERS
from serving.runtime import Runtime, Sampling
from tests.house_rules import ROOT
from tests.serving.server import echo

TEXTS = ["abc", "", "a1 b22 c333", "   ", "h", "äß 日本", "\udcff", "0123456789" * 7, "a" * 20000, "b c"] * 4
DATES = ["3. März 2021", "24/12/1999", "the 8th of May 1945"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    return echo.write_all(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="module")
def server(models):
    with echo.serving(*(folder.parent for folder in models.values()), str(ROOT / "hub" / "dates")) as running:
        yield running


def url(server, scheme):
    return f"{scheme}://127.0.0.1:{server.http if 'http' in scheme else server.grpc}"


@pytest.mark.parametrize("scheme", ["http", "grpc", "tfs+http"])
@pytest.mark.parametrize("kind", echo.KINDS)
def test_it_answers_as_a_runtime_does(server, models, scheme, kind):
    runtime = Runtime(models[kind])
    texts = [f"{text}\tb" for text in TEXTS] + ["none", "\t\t"] if kind == "compare" else TEXTS
    labels = runtime.manifest.get("labels", ()) if scheme != "http" else ()
    with Client(url(server, scheme), kind, batch=7, labels=labels) as client:
        assert client.run(texts) == runtime.run(texts)
        assert client.identity["version"] == "7"
        if scheme != "tfs+http" and kind in ("generate", "continue"):
            for options in ({"sampling": Sampling(seed=3, temperature=0.5)}, {"beam": 1}):
                assert client.run(texts, **options) == runtime.run(texts, **options)


@pytest.mark.parametrize("scheme", ["http", "grpc", "tfs+http"])
def test_a_trained_model(server, scheme):
    found = Client(url(server, scheme), "dates@2").run(DATES)
    assert [each.text for each in found] == ["2021-03-03", "1999-12-24", "1945-05-08"]


@pytest.mark.parametrize("scheme", ["http", "grpc", "tfs+http"])
def test_what_is_refused(server, scheme):
    for name in ("nobody", "dates@3"):
        with pytest.raises(NotFoundError):
            Client(url(server, scheme), name).run(["a"])
    if scheme != "tfs+http":
        with pytest.raises(RefusedError, match="beam"):
            Client(url(server, scheme), "dates").run(["a"], beam=77)


@pytest.mark.parametrize("scheme", ["http", "grpc", "tfs+http"])
def test_the_longest_request_is_taken(server, scheme):
    """Of control characters, of which each is six bytes of JSON."""
    found = Client(url(server, scheme), "generate").run(["\1" * MOST_CHARACTERS, "\1" * (MOST_CHARACTERS + 1), "ab"])
    assert [each.error for each in found] == [
        f"{MOST_CHARACTERS} characters, at most 16384",
        f"{MOST_CHARACTERS + 1} characters, at most {MOST_CHARACTERS}",
        None,
    ]


@pytest.mark.parametrize("scheme", ["http", "grpc", "tfs+http"])
def test_many_at_once(server, scheme):
    async def ask():
        async with AsyncClient(url(server, scheme), "generate", batch=5, connections=8) as client:
            return await asyncio.gather(
                *(client.run([f"{number} {each}" for each in range(30)]) for number in range(20))
            )

    for number, row in enumerate(asyncio.run(ask())):
        assert [each.text for each in row] == [f"{number} {each}" for each in range(30)]


SERVING = {scheme: os.environ.get(name) for scheme, name in (
    ("tfs+grpc", "SEQZOO_TF_SERVING"), ("tfs+http", "SEQZOO_TF_SERVING_REST"),
)}  # fmt: skip


@pytest.mark.parametrize("scheme", SERVING)
def test_tensorflow_serving(scheme):
    if not SERVING[scheme]:
        pytest.skip("no TensorFlow Serving: set SEQZOO_TF_SERVING=HOST:PORT, and SEQZOO_TF_SERVING_REST for REST")
    client = Client(f"{scheme}://{SERVING[scheme]}", "dates", batch=2)
    texts = [*DATES, "", "\udcff", "7" * 20000]
    (dates,) = (ROOT / "hub" / "dates").glob("[0-9]*")
    found, expected = client.run(texts), Runtime(dates).run(texts)
    assert [each.text for each in found] == [each.text for each in expected]
    assert [each.error for each in found] == [each.error for each in expected]
    assert [each.score for each in found] == pytest.approx([each.score for each in expected], abs=0.05)  # int8 here
    with pytest.raises(NotFoundError):
        Client(f"{scheme}://{SERVING[scheme]}", "nobody").run(["a"])
