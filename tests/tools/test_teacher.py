"""`seqzoo train --teacher`: the teacher echoes, so that what a student is to learn is known."""

import json

import pytest

from serving.corpus import disk, lines
from serving.runtime import Runtime
from serving.runtime.doubt import bound_warning, circle_warning
from tests.serving import fake_artefact
from tools import teacher
from tools.cli import main
from zoo import recipes, runs

LETTERS = "abcdefgh"
SOURCES = [f"{LETTERS[i % 8] * (1 + i % 3)} {i}" for i in range(57)]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A folder with pairs.tsv, in which a source stands twice, and own.toml; blocks of ten lines."""
    monkeypatch.setattr(lines, "BLOCK_LINES", 10)
    monkeypatch.setattr(disk.os, "fsync", lambda file: None)
    monkeypatch.chdir(tmp_path)
    told = "".join(f"{source}\t{source[::-1]} x\n" for source in [*SOURCES, SOURCES[3]])
    (tmp_path / "pairs.tsv").write_text(told, encoding="utf-8")
    (tmp_path / "valid.tsv").write_text("ab 1\tyes\nab 1\tno\ncd 2\tyes\n", encoding="utf-8")
    (tmp_path / "own.toml").write_text(
        'task = "translate"\nname = "own"\nmodel = "recurrent"\n'
        'data = {corpus = "files", train = "pairs.tsv", valid = "valid.tsv", source_language = "de", '
        'target_language = "en", licence = "CC0-1.0"}\ntext = {pieces = "char", vocab_size = 40}\n',
        encoding="utf-8",
    )
    artefact("echo", task="translate de-en")


def artefact(name, kind="generate", **keys):
    return fake_artefact.change(fake_artefact.write(name, kind), **keys)


@pytest.fixture
def trained(monkeypatch):
    """The calls of `runs.train`, which trains nothing."""
    asked = []

    def train(recipe, out, **settings):
        asked.append((recipe, out, settings))
        return {"steps": 1, "training_seconds": 1.0, "valid": {"perplexity": 1.0, "accuracy": 1.0}}

    monkeypatch.setattr(runs, "train", train)
    return asked


def rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_student_learns_what_its_teacher_says(trained, tmp_path, capsys):
    assert main(["train", "own.toml", "--teacher", "echo", "--out", "run"]) == 0
    ((recipe, out, settings),) = trained
    folder = tmp_path / "run" / "teacher"
    assert out.name == "run" and settings["data"] is None and settings["resume"] is False
    kept = rows(folder / "train.jsonl")
    # Every source once, in its order, but for the 5 % of the lowest confidence.
    learnt = {row["source"] for row in kept}
    assert len(kept) == 57 - 2 and [row["source"] for row in kept] == [text for text in SOURCES if text in learnt]
    assert all(row["target"] == row["source"] for row in kept)
    sure = {row["source"]: row["confidence"] for row in rows(folder / "answers.jsonl")}
    assert max(sure[text] for text in set(SOURCES) - learnt) <= min(sure[text] for text in learnt)
    assert "55 of 57 answers are learnt from; left out: 2 of which the teacher is least sure" in capsys.readouterr().err
    summary = json.loads((folder / "summary.json").read_text())
    assert (summary["examples"], summary["sources"], summary["kept"]) == (58, 57, 55)
    assert summary["teacher"]["name"] == "echo"
    assert recipe.data.languages == ("de", "en") and recipe.data.licence == "CC0-1.0"
    train, valid = (recipe.job.examples(recipe, split) for split in ("train", "valid"))
    assert train.inputs == train.answers == [row["source"] for row in kept]
    assert (valid.inputs, valid.answers) == (["ab 1", "ab 1", "cd 2"], ["yes", "no", "yes"])
    assert recipes.load("own.toml").model == recipe.model


def test_a_student_learns_answers_to_texts_that_nobody_has_translated(trained, tmp_path, capsys):
    (tmp_path / "more.txt").write_text(f"new 1\n\nab 1\n{SOURCES[5]}\nnew 2\nnew 1\n")  # ab 1 is of the validation
    command = ["train", "own.toml", "--out", "run", "--teacher-texts", "more.txt"]
    assert main(command) == 2 and "give --teacher, too" in capsys.readouterr().err
    assert main([*command, "--teacher", "echo", "--teacher-texts", "no.txt"]) == 2
    assert "no.txt" in capsys.readouterr().err and not trained
    assert main([*command, "--teacher", "echo"]) == 0
    answered = [row["source"] for row in rows(tmp_path / "run/teacher/answers.jsonl")]
    assert answered == [*SOURCES, "new 1", "new 2"]
    assert json.loads((tmp_path / "run/teacher/summary.json").read_text())["sources"] == 59


def test_an_interrupted_teacher_goes_on_where_it_was(trained, tmp_path, monkeypatch, capsys):
    assert main(["train", "own.toml", "--teacher", "echo", "--out", "whole"]) == 0
    answer, asked = Runtime.run, []

    def run(self, texts, **options):
        if len(asked) == 3:
            raise KeyboardInterrupt
        asked.append(len(texts))
        return answer(self, texts, **options)

    monkeypatch.setattr(Runtime, "run", run)
    again = ["train", "own.toml", "--teacher", "echo", "--out", "run"]
    assert main(again) == 130
    said = capsys.readouterr().err
    assert f"Continue with: seqzoo {' '.join(again)} --resume" in said and len(trained) == 1
    assert not (tmp_path / "run" / "teacher" / "train.jsonl").exists()
    assert main(again) == 2 and "holds answers already. Go on with --resume" in capsys.readouterr().err
    asked.clear()
    assert main([*again, "--resume"]) == 0
    assert sum(asked) == 57 - 30 and len(trained) == 2
    for name in ("answers.jsonl", "train.jsonl", "valid.jsonl", "summary.json"):
        assert (tmp_path / "run/teacher" / name).read_bytes() == (tmp_path / "whole/teacher" / name).read_bytes()
    asked.clear()
    assert main([*again, "--resume"]) == 0 and not asked
    (tmp_path / "pairs.tsv").write_text("a\tb\nc\td\n")
    assert main([*again, "--resume"]) == 2
    assert "is complete, but was asked otherwise" in capsys.readouterr().err and len(trained) == 3


@pytest.mark.release
def test_a_run_is_exported_and_teaches(tmp_path):
    small = [f"--set={each}" for each in ("training.steps=120", "training.validate_every=60", "model.units=8")]
    small += ["--set=training.num_buckets=1", "--set=search.max_output_length=9", "--set=training.learning_rate=0.02"]
    assert main(["train", "own.toml", "--out", "big", *small]) == 0
    assert main(["train", "own.toml", "--out", "run", "--teacher", "big", *small]) in (0, 2)
    says = {row["source"]: row["target"] for row in rows(tmp_path / "run/teacher/answers.jsonl")}
    texts = SOURCES[:7]
    assert [says[text] for text in texts] == runs.translate(runs.open_run("big"), texts)


WRONG = {  # what is asked -> what is told
    "another task": (
        ["own.toml", "--teacher", "classes"],
        "classes is of the task classify, and this recipe of the task",
    ),
    "another kind": (["own.toml", "--teacher", "tags"], "is of the task tag, and this recipe of the task translate"),
    "other languages": (["own.toml", "--teacher", "en-de"], "en-de is for en-de, and this recipe for de-en"),
    "no artefact": (["own.toml", "--teacher", "nothing/there"], "nothing/there"),
    "an unfinished run": (["own.toml", "--teacher", "a-run"], "a-run is not a finished run: it lacks model.keras"),
    "a student that labels": (["trec-star", "--teacher", "echo"], "this recipe is of the task classify"),
    "seeds": (["own.toml", "--teacher", "echo", "--seeds", "2"], "leave --seeds, --sweep and checkpoints out"),
    "no data": (["own.toml", "--teacher", "echo", "--set", "data.valid=none.tsv"], "there is no file none.tsv"),
    "no such weights": (["own.toml", "--teacher", "echo", "--set", 'training.freeze=["nowhere"]'], "nowhere"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_does_not_fit_is_told_and_nothing_written(case, trained, tmp_path, capsys):
    artefact("classes", "classify", task="classify")
    artefact("tags", "tag", task="")
    artefact("en-de", task="translate en-de")
    (tmp_path / "a-run").mkdir()
    (tmp_path / "a-run" / "recipe.toml").write_text(recipes.dumps(recipes.load("own.toml")), encoding="utf-8")
    words, why = WRONG[case]
    assert main(["train", *words, "--out", "out"]) in (1, 2)
    assert why in capsys.readouterr().err
    assert not trained and not (tmp_path / "out").exists()


def test_what_is_left_out_is_counted_by_its_reason():
    def row(source, target, confidence=0.5, warning=None, error=None):
        return {"source": source, "target": target, "confidence": confidence, "warning": warning, "error": error}

    good = [row("a" * 40, "b" * 60, 0.5 + n / 1000) for n in range(38)]
    bad = [
        row("x", "", error="not UTF-8"),
        row("x", " "),
        row("a" * 40, "b" * 60, warning=f"another; {circle_warning(3)}"),
        row("a" * 40, "b" * 60, warning=bound_warning(200)),
        row("a" * 40, "b" * 131),  # one and a half times as long is usual: 60 + 10 slack, twice of which is 140
        row("a" * 40, "b" * 24),
        row("a" * 40, "b" * 60, 0.01),
        row("a" * 40, "b" * 60, 0.02),
    ]
    edges = [row("a" * 40, "b" * 130), row("a" * 40, "b" * 25), row("ja", "yes of course")]
    kept, left_out = teacher.choose([*good, *bad, *edges])
    assert kept == [*good, *edges]
    assert left_out == {
        "not answered": 1,
        "empty": 1,
        "in circles": 1,
        "cut off": 1,
        "of unusual length": 2,
        "of which the teacher is least sure": 2,
    }
    unknown = [row("a", "b", None) for _ in range(40)]
    assert teacher.choose(unknown) == (unknown, {}) and teacher.choose([]) == ([], {})
