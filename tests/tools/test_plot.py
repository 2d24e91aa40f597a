"""`seqzoo plot`: a figure of what a run holds, or a sentence about what it lacks."""

import json

import pytest

from tools import cli

HEAD = "step,loss,learning_rate,tokens_per_second,valid_nll,valid_perplexity,valid_accuracy\n"


def run_folder(folder, rows="", lengths=()):
    folder.mkdir()
    (folder / "metrics.csv").write_text(HEAD + rows)
    if lengths:
        lengths = [{"from": 1, "to": 5, "sentences": count, "bleu": 20.0} for count in lengths]
        (folder / "scores.json").write_text(json.dumps({"bleu": 20.0, "by_length": lengths}))
    return str(folder)


@pytest.mark.parametrize("figure", ["training", "by-length"])
def test_what_was_measured_is_drawn(tmp_path, capsys, figure):
    runs = [run_folder(tmp_path / name, "1,3.1,,,,,\n1,,,,2.5,12,0.1\n2,,,,2.4,11,0.2\n", [20]) for name in "ab"]
    out = tmp_path / "figures" / "x.png"
    assert cli.main(["plot", figure, runs[0], "--out", str(out), runs[1]]) == 0
    assert out.read_bytes().startswith(b"\x89PNG") and capsys.readouterr().out == f"{out}\n"


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
    assert cli.main(["plot", "training", str(tmp_path / "nowhere"), "--out", str(out)]) == 2
    assert "make it with `seqzoo train` first" in capsys.readouterr().err
