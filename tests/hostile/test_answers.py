"""A stranger's model that runs, or is served: its labels, answers and names are no commands of a terminal or a log."""

import io
import json

import pytest
from pyarrow import parquet

from serving import Runtime
from serving.runtime.errors import DamagedError
from serving.server.monitoring import Log
from tests.hostile.reading import check_json_lines, check_lines
from tests.hostile.strings import HOSTILE
from tests.serving import fake_artefact
from tools import cli
from zoo.core.escaping import in_line

LABELS = list(dict.fromkeys(HOSTILE))
TEXTS = ["a" * length for length in range(1, len(LABELS) + 1)]  # the label of a text is that of its length


@pytest.fixture
def labelled(stranger, monkeypatch):
    """An artefact whose labels are the hostile strings; NAME/VERSION says nothing of them."""
    monkeypatch.setattr(fake_artefact, "LABELS", LABELS)
    monkeypatch.setitem(fake_artefact.FACTS, "classify", {"labels": LABELS})
    monkeypatch.setitem(fake_artefact.FACTS, "tag", {"labels": LABELS})
    return lambda kind: fake_artefact.write(stranger / "models" / "echo" / "1", kind)


def test_labels_in_every_form(labelled, stranger, capsys):
    artefact = labelled("classify")
    answers = [each.label for each in Runtime(artefact).run(TEXTS)]
    assert sorted(answers) == sorted(LABELS)
    (stranger / "in.txt").write_text("".join(f"{text}\n" for text in TEXTS))
    for words in (["--file", "in.txt"], TEXTS):
        assert cli.main(["run", str(artefact), *words]) == 0
        told = capsys.readouterr()
        check_lines(told.out)
        assert [line.rpartition("\t")[0] for line in told.out.splitlines()] == list(map(in_line, answers))
    assert cli.main(["run", str(artefact), "--file", "in.txt", "--json"]) == 0
    told = capsys.readouterr().out
    check_lines(told)
    assert [json.loads(line)["label"] for line in told.splitlines()] == answers
    for place, text in enumerate(TEXTS):  # one text alone, whose answer is printed as it is
        assert cli.main(["run", str(artefact), text]) == 0
        told = capsys.readouterr().out
        check_lines(told)
        assert told == f"{in_line(answers[place])}\t1.0000\n"
    for name, more in (("out.txt.x", []), ("out.jsonl", ["--json"])):
        assert cli.main(["run", str(artefact), "--file", "in.txt", "--out", name, *more]) == 0
        text = (stranger / name).read_text(encoding="utf-8")
        check_lines(text)
        assert text.splitlines() == text.split("\n")[:-1]
    check_json_lines(text)
    assert [json.loads(line)["label"] for line in text.splitlines()] == answers
    assert cli.main(["run", str(artefact), "--file", "in.txt", "--out", "out.parquet"]) == 0
    assert parquet.read_table("out.parquet").to_pydict()["answer"] == answers


def test_tags(labelled, capsys):
    artefact = labelled("tag")
    assert cli.main(["run", str(artefact), "abc 123 a b", "日本 ß"]) == 0
    told = capsys.readouterr().out
    check_lines(told)
    assert told.count("\n") == 2


@pytest.mark.parametrize("more", [[], ["--json"], ["--n-best", "2"], ["--n-best", "2", "--json"]])
def test_texts_of_others(stranger, capfd, more):
    """Whatever the texts and the answers hold, each has its line."""
    artefact = fake_artefact.write(stranger / "echo")
    texts = [text.replace("\n", " ") for text in HOSTILE]
    (stranger / "in.txt").write_text("".join(f"{text}\n" for text in texts), encoding="utf-8", newline="")
    cli.main(["run", str(artefact), "--file", "in.txt", "--overlong", "truncate", *more])
    told = capfd.readouterr()
    check_lines(told.out + told.err)
    if more == ["--json"]:
        assert [json.loads(line)["input"] for line in told.out.splitlines()] == [each.rstrip("\r") for each in texts]
    if not more:
        assert told.out.count("\n") == len(texts)


@pytest.mark.parametrize("text", HOSTILE)
def test_the_log_has_one_line_an_event(text):
    held = io.StringIO()
    log = Log(held)
    log("loaded", model=text, version=1, error=DamagedError(f"{text}: it is damaged"))
    line = held.getvalue()
    check_lines(line)
    record = json.loads(line)
    assert (record["model"], record["message"]) == (text, f"{text}: it is damaged") and line.splitlines() == [line[:-1]]


@pytest.mark.parametrize("name", [each for each in HOSTILE if each and "/" not in each])
def test_a_model_with_a_strange_name_is_told_in_one_line(stranger, capsys, name):
    """Names with control characters are refused; what is printed of the others is harmless."""
    artefact = fake_artefact.write(stranger / "models" / "echo" / "1")
    fake_artefact.change(artefact, name=name)
    for command in (
        ["run", str(artefact), "ab"],
        ["hub", "gallery", str(artefact), "--out", "gallery"],
        ["deploy", str(stranger / "models" / "echo"), "--target", "kserve", "--out", "deployed"],
    ):
        status = cli.main(command)
        told = capsys.readouterr()
        check_lines(told.out + told.err)
        assert status == 0 or (told.err.count("\n") == 1 and told.err.startswith("seqzoo ")), told.err
    assert not (stranger / "gallery").exists()  # no address or folder is called as one of these
