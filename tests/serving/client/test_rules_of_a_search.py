"""Rules of a search and the warnings about answers, by both protocols, are those of a `Runtime`."""

import pytest

from serving.client import Client, RefusedError
from serving.kinds.rules import RULES, names
from serving.runtime import Runtime, Sampling
from tests.serving.conftest import TEXTS
from tests.serving.server import echo

pytestmark = pytest.mark.slow
ASKED = [*TEXTS, "", "日本 mat", "a mat on the cat on the mat", "The cat sat. A mat!\n\n- on a mat"]
GIVEN = [
    {"no_repeat_ngram_size": 1, "repetition_penalty": 1.5},
    {"min_length": 3, "prefix": "ch", "n_best": 3},
    {"bad_words": ["le", "chat", "t"], "beam": 1},
    {"length_ratio": 0.5, "length_extra": 1},
    {"sentences": True},
    {"sampling": Sampling(seed=1), "max_length": 2},
]


@pytest.fixture(scope="module")
def server(artefacts):
    with echo.serving(*(str(artefacts(kind).parent) for kind in ("generate", "continue"))) as running:
        yield running


@pytest.fixture(scope="module", params=["http", "grpc"])
def url(server, request):
    return f"{request.param}://127.0.0.1:{server.http if request.param == 'http' else server.grpc}"


def said(result):
    """All but the scores, whose last digits depend on the batch."""
    return result.text, [each.text for each in result.hypotheses], result.error, result.warning


@pytest.mark.release
@pytest.mark.parametrize("given", [{}, *GIVEN], ids=lambda given: "+".join(given) or "none")
def test_answers_and_warnings_are_those_of_a_runtime(artefacts, url, given):
    runtime = Runtime(artefacts("generate"))
    with Client(url, "generate") as client:
        found, expected = client.run(ASKED, **given), runtime.run(ASKED, **given)
    assert list(map(said, found)) == list(map(said, expected))
    assert "unknown to the model" in found[4].warning
    assert given or any("bound of" in (each.warning or "") for each in found)


def test_prompts(artefacts, url):
    given = {"no_repeat_ngram_size": 2, "length": 20}
    with Client(url, "continue") as client:
        expected = Runtime(artefacts("continue")).run(ASKED, **given)
        assert list(map(said, client.run(ASKED, **given))) == list(map(said, expected))
        with pytest.raises(RefusedError, match="does not know the parameter 'prefix'"):
            client.run(ASKED, prefix="a")
    assert set(names(prompts=True)) < RULES.keys()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"no_repeat_ngram_size": 17}, "from 0 to 16"),
        ({"repetition_penalty": "dear"}, "must be a number"),
        ({"bad_words": "no list"}, "must be a list of strings"),
        ({"prefix": "a" * 10_001}, "may have 10,000 characters"),
    ],
)
def test_wrong_rules_are_named_before_they_are_sent(url, given, message):
    with Client(url, "generate") as client, pytest.raises(ValueError, match=message):
        client.run(["a"], **given)
