"""`seqzoo run --server URL NAME`."""

import json
from dataclasses import replace

import pytest

from serving.client import patience
from serving.runtime import Runtime
from tests.serving import fake_artefact
from tests.serving.client.fake_model import Fake
from tests.serving.client.fake_server import Servers
from tools import cli


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    home = tmp_path_factory.mktemp("kinds")
    kinds = {kind: Runtime(fake_artefact.write(home / kind, kind), threads=1) for kind in fake_artefact.KINDS}
    kinds |= {f"unsure-{kind}": Unsure(kinds[kind]) for kind in ("classify", "tag")}
    with Servers(Fake(kinds)) as servers:
        yield servers


class Unsure:
    """A `Runtime` that is less sure of longer texts."""

    def __init__(self, runtime):
        self.runtime, self.kind, self.manifest = runtime, runtime.kind, runtime.manifest

    def run(self, texts, **options):
        return [self._doubt(*each) for each in zip(texts, self.runtime.run(texts, **options), strict=True)]

    def _doubt(self, text, result):
        score = 0.9 - 0.1 * len(text)
        if self.kind == "tag":
            return replace(result, words=tuple(replace(word, score=score) for word in result.words))
        names = self.manifest["labels"]
        others = (1 - score) / (len(names) - 1)
        shares = {name: score if name == result.label else others for name in names}
        return replace(result, probability=score, probabilities=shares)


def call(*arguments):
    return cli.main(["run", *map(str, arguments)])


@pytest.mark.parametrize("scheme", ["http", "grpc", "tfs+http", "tfs+grpc"])
def test_answers(servers, scheme, capsys):
    assert call("--server", servers.url(scheme), "generate", "abc", "b 2") == 0
    assert call("--server", servers.url(scheme), "tag", "ab", "--json") == 0
    first, second, third = capsys.readouterr().out.splitlines()
    assert (first, second) == ("abc", "b 2") and json.loads(third)["words"][0]["text"] == "ab"


def test_options_reach_the_server(servers, capsys):
    assert call("--server", servers.url("http"), "generate", "abc", "--n-best", 2, "--json") == 0
    assert [each["text"] for each in json.loads(capsys.readouterr().out)["n_best"]] == ["abc", "ab"]
    assert call("--server", servers.url("http"), "generate", "abc", "--beam", 7) == 1
    assert "answered 400: echo has no graph for beam 7" in capsys.readouterr().err
    assert call("--server", servers.url("tfs+http"), "generate", "abc", "--beam", 1) == 2
    assert "takes no option; received beam" in capsys.readouterr().err


@pytest.mark.parametrize("scheme", ["http", "tfs+grpc"])
@pytest.mark.parametrize("kind", ["classify", "tag"])
def test_unsure_answers_are_refused_as_by_a_runtime(servers, kind, scheme, capsys):
    """--min-confidence was refused as an option of the model's opening."""
    arguments = "--server", servers.url(scheme), f"unsure-{kind}"
    assert call(*arguments, "ab", "abc", "--min-confidence", 0.65, "--json") == 1
    sure, unsure = map(json.loads, capsys.readouterr().out.splitlines())
    assert "error" not in sure and sure["confidence"] == pytest.approx(0.7)
    assert unsure["error"] == "the model is not sure enough: its confidence is 0.6, and at least 0.65 is asked for"
    assert "confidence" not in unsure and not (unsure.get("label") or unsure.get("words"))
    assert call(*arguments, "ab", "--min-confidence", 2) == 2
    assert "min_confidence is a number from 0 to 1; received 2" in capsys.readouterr().err


def test_models_of_which_a_server_gives_no_confidence_refuse_a_bound(servers, capsys):
    for kind, reason in (("generate", "does not say how sure"), ("embed", "whose answers have no confidence")):
        assert call("--server", servers.url("http"), kind, "ab", "--min-confidence", 0.5) == 2
        assert reason in capsys.readouterr().err


def test_a_corpus(servers, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_bytes(b"abc\n\xff\n" * 50)
    url = servers.url("grpc")
    for shard in ("1/2", "2/2"):
        assert call("--server", url, "generate", "--file", "in.txt", "--out", "out.txt", "--shard", shard) == 1
    together = b"".join((tmp_path / f"out-0000{part}-of-00002.txt").read_bytes() for part in (1, 2))
    assert together == b"abc\n\n" * 50
    assert "line 2 is not answered: not UTF-8" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--server", "localhost:8080", "dates", "a"], 2, "is not the address of a server. Expected SCHEME://HOST"),
        (["--server", "http://127.0.0.1:9", "dates", "a", "--threads", "2"], 2, "--threads is not for a server"),
        (["--server", "http://127.0.0.1:9", "dates", "a", "--timeout", "-1"], 2, "timeout must be a number of seconds"),
        (
            ["--server", "http://127.0.0.1:9", "dates", "a", "--timeout", "inf"],
            2,
            "at most 1,000,000, or None; received inf",
        ),
        (["dates", "a", "--timeout", "3"], 2, "--timeout is about a server"),
        (["--server", "http://127.0.0.1:9", "dates", "a", "--timeout", "9"], 1, "no connection to http://127.0.0.1:9"),
        (["--server", "grpc://127.0.0.1:9", "dates", "a", "--timeout", "9"], 1, "answered UNAVAILABLE"),
    ],
)
def test_wrong_use_and_no_server(arguments, status, message, capsys, monkeypatch):
    monkeypatch.setattr(patience, "FIRST", 0.01)
    assert call(*arguments) == status
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.count("\n") == 1 and not captured.out


def test_a_model_that_is_not_there(servers, capsys):
    assert call("--server", servers.url("http"), "nobody", "a") == 1
    assert "/v2/models/nobody answered 404: there is no" in capsys.readouterr().err
