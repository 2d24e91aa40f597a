"""`seqzoo new` and `train` on a stranger's files: labels, headers, words and names of files are data."""

import csv
import json
import tomllib

import pytest

from tests.hostile.reading import check_folder, check_lines
from tests.hostile.strings import HOSTILE, MODULE
from tools import cli
from zoo import recipes
from zoo.data import formats

WORDS = [each for each in ("".join(text.split()) for text in HOSTILE) if each]  # as a tag, or a word, may be


def write_json_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def proposed(capsys, *words):
    """The recipe that `seqzoo new` wrote, as Python reads TOML."""
    assert cli.main(["new", *map(str, words), "--out", "mine.toml", "--force"]) == 0, capsys.readouterr().err
    told = capsys.readouterr()
    check_lines(told.out + told.err)
    assert told.out.count("\n") == 1
    with open("mine.toml", "rb") as file:
        found = tomllib.load(file)
    assert found.keys() <= {"name", "task", "description", *recipes.recipe.TABLES} and "imports" not in found
    return found


@pytest.mark.parametrize("task", ["classify", "compare"])
def test_labels(stranger, capsys, task):
    names = ["text"] if task == "classify" else ["premise", "hypothesis"]
    labels = [label for label in HOSTILE if label.strip()] * 6
    rows = [dict.fromkeys(names, f"text {row}") | {"label": label} for row, label in enumerate(labels)]
    path = write_json_lines(stranger / "all.jsonl", rows)
    found = proposed(capsys, task, path)
    assert found["data"]["train"] == str(path) and MODULE not in str({**found, "data": {}})
    recipe = recipes.load("mine.toml")
    examples = formats.read([str(path)], recipe.job.kind, format="jsonl", columns=found["data"].get("columns", {}))
    assert {" ".join(each.split()) for each in examples.answers} == {
        " ".join(each.split()) for each in HOSTILE if each.strip()
    } or len(set(examples.answers)) >= len(HOSTILE) - 3


@pytest.mark.parametrize("header", HOSTILE)
def test_headers(stranger, capsys, header):
    """A table of a stranger whose columns are called as they like, and one that is chosen by its name."""
    with open("all.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["text", header, "label"])
        rows.writerows([f"good {row}" if row % 2 else f"bad {row}", "x", "ab"[row % 2]] for row in range(60))
    status = cli.main(["new", "classify", "all.csv", "--out", "mine.toml"])
    told = capsys.readouterr()
    check_lines(told.out + told.err)
    if status:  # a character that no table of text has
        assert status == 2 and not (stranger / "mine.toml").exists() and told.err.startswith("seqzoo new: ")
        return
    found = tomllib.loads((stranger / "mine.toml").read_text(encoding="utf-8"))
    assert "imports" not in found and found["data"]["train"] == "all.csv"
    recipes.load("mine.toml")


@pytest.mark.parametrize("name", [each for each in HOSTILE if 0 < len(each.encode()) < 200 and not {*"/\0"} & {*each}])
def test_names_of_files(stranger, capsys, name):
    folder = stranger / "in"
    folder.mkdir()
    path = folder / f"{name}.tsv"
    path.write_text("".join(f"{'good' if row % 2 else 'bad'} {row}\t{'ab'[row % 2]}\n" for row in range(60)))
    found = proposed(capsys, "classify", path)
    assert found["data"]["train"] == str(path)
    check_folder(stranger, but=(path.name, f"{MODULE}.py"))


def test_tags_and_words(stranger, capsys):
    rows = [
        {"tokens": [word, "x"], "tags": [f"B-{tag}", "O"]} for word, tag in zip(WORDS, WORDS[::-1], strict=True)
    ] * 12
    path = write_json_lines(stranger / "all.jsonl", rows)
    proposed(capsys, "tag", path)


@pytest.mark.parametrize("task", ["translate", "transduce"])
def test_pairs(stranger, capsys, task):
    texts = [text for text in HOSTILE if text.strip()] * 4
    path = write_json_lines(stranger / "all.jsonl", [{"source": text, "target": text[::-1]} for text in texts])
    given = ["--set", "data.source_language=de", "--set", "data.target_language=en"] if task == "translate" else []
    proposed(capsys, task, path, *given)


def test_running_text(stranger, capsys):
    (stranger / "all.txt").write_text(("\n\n".join(HOSTILE) * 20).replace("\0", ""), encoding="utf-8")
    proposed(capsys, "continue", stranger / "all.txt")


def test_a_recipe_of_a_stranger_imports_nothing_from_the_working_folder(stranger, capsys):
    """Neither does a run of a stranger, which `evaluate`, `export` and `training.init` open."""
    (stranger / "theirs.toml").write_text(f'extends = "dates-gru-additive"\nname = "theirs"\nimports = ["{MODULE}"]\n')
    for command in (["train", "theirs.toml", "--out", "out/run"], ["list", "theirs.toml"]):
        assert cli.main(command) == 2
        told = capsys.readouterr().err
        assert f"names the module '{MODULE}'" in told and f"--import {MODULE}" in told and told.count("\n") == 1
    assert not (stranger / "out").exists()
    run = stranger / "run"
    run.mkdir()
    recipe = recipes.dumps(recipes.load("date-pairs-transformer-pre-norm"))
    text = f'imports = ["{MODULE}"]\n{recipe}'.replace('layer = "multi_head"', 'layer = "theirs"')
    (run / "recipe.toml").write_text(text)
    for command in (["evaluate", "run"], ["export", "run", "--out", "out"]):
        assert cli.main(command) == 2
        told = capsys.readouterr().err
        assert "received 'theirs'" in told and f"only if you ask for it: --import {MODULE}" in told
