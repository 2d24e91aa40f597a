"""`seqzoo plot`: a figure of what a run holds, or a sentence about what it lacks."""

import errno
import json
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from tools import cli
from tools.plot import draw_by_length, draw_training, short_names
from zoo import scores

HEAD = "step,loss,learning_rate,tokens_per_second,valid_nll,valid_perplexity,valid_accuracy\n"


def run_folder(folder, rows="", lengths=(), metric="bleu"):
    folder.mkdir()
    (folder / "metrics.csv").write_text(HEAD + rows)
    if lengths:
        lengths = [{"from": 1, "to": 5, "sentences": count, metric: 20.0} for count in lengths]
        (folder / "scores.json").write_text(json.dumps({metric: 20.0, "by_length": lengths}))
    return str(folder)


@pytest.mark.parametrize("figure", ["training", "by-length"])
def test_what_was_measured_is_drawn(tmp_path, capsys, figure):
    runs = [run_folder(tmp_path / name, "1,3.1,,,,,\n1,,,,2.5,12,0.1\n2,,,,2.4,11,0.2\n", [20]) for name in "ab"]
    out = tmp_path / "figures" / "x.png"
    assert cli.main(["plot", figure, runs[0], "--out", str(out), runs[1]]) == 0
    assert out.read_bytes().startswith(b"\x89PNG") and capsys.readouterr().out == f"{out}\n"


def test_a_single_validation_is_a_mark(tmp_path):
    """A line of one point is nothing to see."""
    axes = Figure().add_subplot()
    draw_training(axes, [Path(run_folder(tmp_path / "a", "1,,,,2.5,12,0.1\n"))])
    assert axes.lines[0].get_marker() not in ("", "None")


def test_two_metrics_do_not_share_an_axis(tmp_path, capsys):
    runs = [run_folder(tmp_path / name, lengths=[20], metric=name) for name in ("bleu", "exact_match")]
    assert cli.main(["plot", "by-length", *runs, "--out", str(tmp_path / "x.png")]) == 2
    assert "was scored by exact_match and a run before it by another" in capsys.readouterr().err


def test_counts_of_sentences_are_shown_where_all_runs_have_the_same(tmp_path):
    figure = Figure()
    folders = [Path(run_folder(tmp_path / name, lengths=[count])) for name, count in (("a", 20), ("b", 20), ("c", 30))]
    for runs, shown in ((folders[:2], "source length\n(sentences: 1-5: 20)"), (folders, "source length")):
        axes = figure.add_subplot()
        draw_by_length(axes, runs)
        assert axes.get_xlabel() == shown


def test_what_was_not_measured_is_refused(tmp_path, capsys):
    without = run_folder(tmp_path / "a", "50,3.1,0.001,100,,,\n", [3])
    measured = run_folder(tmp_path / "b", "1,,,,2.5,12,0.1\n", [30])
    out = tmp_path / "x.png"
    for figure, message in (("training", "has no validation yet"), ("by-length", "at least 10 sentences")):
        assert cli.main(["plot", figure, measured, without, "--out", str(out)]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"seqzoo plot: {without} ") and message in error and error.count("\n") == 1
        assert not out.exists()
    assert cli.main(["plot", "training", measured, "--out", str(tmp_path / "x.bmp")]) == 2
    assert "end in one of .pdf, .png, .svg" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert cli.main(["plot", "training", str(tmp_path / "empty"), "--out", str(out)]) == 2
    assert "make it with `seqzoo train` first" in capsys.readouterr().err


def test_a_figure_that_cannot_be_written_leaves_the_old_one(tmp_path, capsys, monkeypatch):
    run, out = run_folder(tmp_path / "a", "1,3.1,,,,,\n1,,,,2.5,12,0.1\n", [20]), tmp_path / "x.png"
    out.write_text("old")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert cli.main(["plot", "training", run, "--out", str(out)]) == 1
    assert capsys.readouterr().err == (
        f"seqzoo plot: {out}: No space left on device. Free some space there, and try again.\n"
    )
    assert out.read_text() == "old" and sorted(path.name for path in tmp_path.iterdir()) == ["a", "x.png"]


def answered(folder, outputs, task="classify", split="test", **more):
    """A run folder with the answers that `seqzoo evaluate` keeps of a run that labels."""
    references = [("fire", "water", "air")[number % 3] for number in range(len(outputs))]
    found = scores.classification(outputs, references)
    own = {"format": 1, "task": task, "split": split, "count": len(outputs), "sha256": "1" * 64}
    own |= {"scored_by": "classification", "options": {}, "scores": found}
    own |= {"outputs": outputs, "inputs": outputs, "references": references, "lengths": []}
    folder.mkdir(parents=True)
    (folder / f"{split}.outputs.json").write_text(json.dumps(own | more))
    return str(folder)


def test_scores_and_confusions_are_drawn_from_kept_answers(tmp_path, capsys):
    outputs = ["fire", "water", "air", "fire", "fire", "fire"] * 4
    runs = [answered(tmp_path / name / "run", outputs[shift:] + outputs[:shift]) for shift, name in enumerate("ab")]
    out = tmp_path / "x.png"
    for command in (["confusion", runs[0]], ["scores", *runs], ["scores", *runs, "--score", "macro_f1"]):
        out.unlink(missing_ok=True)
        assert cli.main(["plot", *command, "--out", str(out)]) == 0
        assert out.read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()
    tags = {"references": ["A A", "B"] * 12}
    others = answered(tmp_path / "other", outputs, sha256="2" * 64)
    for command, message in (
        (["confusion", *runs], "shows one run; received 2"),
        (["confusion", answered(tmp_path / "writes", outputs, "translate")], "expected one whose answers are labels"),
        (["scores", runs[0], others], "were evaluated on other test sets"),
        (["scores", *runs, "--score", "bleu"], "received bleu"),
        (["scores", runs[0], "--split", "valid"], f"seqzoo evaluate {runs[0]} --split valid"),
    ):
        assert cli.main(["plot", *command, "--out", str(out)]) == 2
        assert message in capsys.readouterr().err
    assert (
        cli.main(
            ["plot", "confusion", answered(tmp_path / "tags", ["A B", "B"] * 12, "tag", **tags), "--out", str(out)]
        )
        == 0
    )


def test_runs_of_one_name_are_told_apart_by_their_paths():
    assert short_names(["x/a", "x/b/"]) == ["a", "b"] and short_names(["r/x/a", "r/y/a"]) == ["x/a", "y/a"]
    assert short_names(["/x/a", "/x/a"]) == ["/x/a", "/x/a"]
    assert short_names(["x/a", "x/a"]) == ["x/a", "x/a"]  # one run, given twice
