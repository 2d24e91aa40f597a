"""`seqzoo evaluate --mistakes`: the worst answers of every task as rows and as a page, harmless for readers."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from tests.recipes.small import recipe
from tests.tasks import runs
from tools import cli, mistakes
from zoo.recipes import evaluations
from zoo.runs import open_run
from zoo.scores.comparison import rank_mistakes
from zoo.tasks.parts.task import Evaluation
from zoo.text import EOS

HOSTILE = ("=HYPERLINK('x')", "<script>alert(1)</script>", "red\x1b[31m", "$x$\n-1")


def labelled(outputs, references, confidences):
    one = recipe(task="classify")
    return one, Evaluation({}, outputs, [f"text {row}" for row in range(len(outputs))], references,
                           confidences=confidences)  # fmt: skip


def test_labels_are_in_the_order_of_their_confidence():
    found, wrong = evaluations.mistakes(*labelled(list("abcab"), list("bbbba"), [0.5, 0.9, None, 0.8, 0.6]), most=3)
    assert wrong == [3, 4, 0, 2] and found["wrong"] == 4 and found["measure"] is None
    assert [row["example"] for row in found["rows"]] == [4, 5, 1]
    assert found["rows"][0] == {
        "example": 4, "input": "text 3", "answer": "a", "reference": "b", "confidence": 0.8
    }  # fmt: skip
    one, evaluation = labelled(["a", "b"], ["b", "b"], [0.5, 0.9])
    found, _ = evaluations.mistakes(one, evaluation._replace(places=["a.csv:7", "a.csv:9"]), most=3)
    assert [*found["rows"][0].items()][:3] == [("example", 1), ("place", "a.csv:7"), ("input", "text 0")]


def test_labels_that_are_confused_are_counted():
    found, _ = evaluations.mistakes(*labelled(list("abcab"), list("bbbba"), [0.5, 0.9, None, 0.8, 0.6]), most=3)
    pairs = [(pair["reference"], pair["answer"], pair["count"], pair["of"]) for pair in found["confused"]]
    assert pairs == [("b", "a", 2, 4), ("a", "b", 1, 1), ("b", "c", 1, 4)]


def test_partners_are_in_the_order_of_their_rank():
    measure, values, order = rank_mistakes("partners", ["1", "3", "2"], ["1"] * 3)
    assert (measure, values.tolist(), order) == ("rank", [1, 3, 2], [1, 2])


@pytest.mark.parametrize("suffix", mistakes.SUFFIXES)
def test_whatever_the_data_hold_is_text_in_every_file(suffix, tmp_path):
    one, found = labelled([*HOSTILE], ["right"] * 4, [0.1, 0.2, 0.3, 0.4])
    path = tmp_path / f"worst{suffix}"
    line = mistakes.write(path, one, found, "<i>title", 3)
    text = path.read_text()
    assert line.endswith("3 of 4 wrong answers, the worst first") and "\x1b" not in text
    if suffix == ".html":
        assert "<script>alert" not in text and "&lt;script&gt;alert" in text and "<i>" not in text
        assert not re.findall(r'(?:src|href)="(?!data:)', text), "the page is self-contained"
    elif suffix in (".json", ".jsonl"):
        rows = json.loads(text)["rows"] if suffix == ".json" else [json.loads(each) for each in text.splitlines()]
        assert [row["answer"] for row in rows] == [*HOSTILE][:0:-1]
    else:
        rows = list(csv.reader(text.splitlines(), delimiter={".csv": ",", ".tsv": "\t"}[suffix]))
        assert [row[2] for row in rows[1:]] == ["$x$\\n-1", "red\\u001b[31m", HOSTILE[1]]
        mistakes.write(path, one, found, "", 4)
        assert "'=HYPERLINK" in path.read_text()


def test_a_page_has_no_empty_column_and_says_where_nothing_is_wrong(tmp_path):
    one, right = labelled(["a", "b"], ["a", "b"], [0.9, 0.8])
    path = tmp_path / "worst.html"
    assert mistakes.write(path, one, right, "", 3) == f"{path}: no answer is wrong"
    assert "<h2>no answer is wrong</h2>" in path.read_text()
    mistakes.write(path, one, right._replace(outputs=["b", "a"], places=["<a>.csv:2", "<a>.csv:3"]), "", 3)
    heads = re.findall("<th><button>(.*?)<", path.read_text())
    assert heads == ["place", "input", "answer", "reference", "confidence"] and "&lt;a&gt;.csv:3" in path.read_text()
    rated = Evaluation({}, ["1.5", "2"], ["text 1", "text 2"], ["1", "3"])
    mistakes.write(path, recipe(task="rate"), rated, "", 3)
    heads = re.findall("<th><button>(.*?)<", path.read_text())
    assert heads == ["example", "input", "answer", "reference", "error"], "a number has no confidence"


def test_a_number_below_zero_is_no_formula(tmp_path):
    path, one = tmp_path / "worst.csv", recipe(task="rate")
    mistakes.write(path, one, Evaluation({}, ["-1.5", "-2e-05"], ["-1+1", "-2"], ["1", "-3"]), "", 3)
    rows = list(csv.reader(path.read_text().splitlines()))
    assert [row[1:4] for row in rows[1:]] == [["-2", "-2e-05", "-3"], ["'-1+1", "-1.5", "1"]]


@pytest.mark.release(but=("classify", "tag"))
@pytest.mark.slow
@pytest.mark.parametrize("task", ["classify", *(task for task in runs.SETTINGS if task != "classify")])
def test_every_task_shows_its_worst_answers(task, tmp_path, capsys):
    run = runs.write(runs.recipe(task, tmp_path), tmp_path / "run")
    for name in ("worst.jsonl", "worst.html"):
        assert cli.main(["evaluate", str(run), "--mistakes", str(tmp_path / name), "--worst", "5"]) == 0
    rows = [json.loads(line) for line in (tmp_path / "worst.jsonl").read_text().splitlines()]
    assert 0 < len(rows) <= 5 and "<table>" in (tmp_path / "worst.html").read_text()
    measure = {"translate": "chrf", "transduce": "edits", "tag": "wrong_tags", "continue": "nats_per_character",
               "embed": "ranks_apart", "rate": "error", "rate_pairs": "error"}.get(task, "confidence")  # fmt: skip
    order = [row[measure] for row in rows]
    assert order == sorted(order, reverse=task != "translate")
    if task in ("translate", "transduce", "classify", "compare", "tag"):
        assert all(0 < row["confidence"] <= 1 for row in rows)
    if task == "continue":
        assert all(row["input"] and row["input"] in "\n".join(runs.lines(task)[:9]) + "\n" for row in rows)
    else:
        kept_there = evaluations.read(run, "test")
        for row in rows:
            there = (kept_there[name][row["example"] - 1] for name in evaluations.TEXTS)
            assert list(there) == [row[name] for name in ("answer", "input", "reference")]
            file, _, line = row["place"].rpartition(":")
            texts = [row["input"]] if isinstance(row["input"], str) else row["input"]
            assert all(text in Path(file).read_text().splitlines()[int(line) - 1] for text in texts)


@pytest.mark.slow
@pytest.mark.parametrize("beams", [1, 3])
def test_the_confidence_of_a_text_is_the_mean_probability_of_its_tokens(beams, tmp_path):
    run = open_run(runs.write(runs.recipe("transduce", tmp_path), tmp_path / "run"))
    inputs, references = run.recipe.job.read(run.recipe, "test")
    found = run.recipe.job.evaluate(run, (inputs, references), beams=beams)
    source, target = run.tokenizers
    asked = [source.around.put(source.encode([text])[0]) for text in inputs]
    for ids, output, sure in zip(asked, found.outputs, found.confidences, strict=True):
        written = target.encode([output])[0]
        if target.decode([written]) != [output] or len(written) >= run.recipe.search.max_output_length:
            continue  # cut off, without an end
        memory = run.model.encode(np.array([ids], "int32"), np.array([len(ids)], "int32"))
        token, state = run.model.start(memory)
        total = 0.0
        for each in [*written, EOS]:
            logits, state = run.model.step(token, state, memory)
            logits = np.asarray(logits, "float64")[0, 0]
            total += logits[each] - np.log(np.exp(logits).sum())
            token = np.array([[each]], "int32")
        assert sure == pytest.approx(np.exp(total / (len(written) + 1)), rel=1e-4)


def test_a_file_of_another_ending_is_refused_before_anything_is_read(tmp_path, capsys):
    assert cli.main(["evaluate", str(tmp_path), "--mistakes", "worst.txt"]) == 2
    assert "ends in one of .html, .jsonl" in capsys.readouterr().err
