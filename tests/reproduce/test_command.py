"""`seqzoo reproduce`: names, wrong use, tables, files and comparisons, with a system that trains in no time."""

import json
import os
import types

import numpy as np
import pytest

from tools import cli
from zoo.reproduce import report
from zoo.reproduce.report import SYSTEMS, find

HASHES = {"model": ["a", "b"]}


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """The command chooses the backend of its process, which here is that of other tests, too."""
    monkeypatch.setenv("KERAS_BACKEND", os.environ.get("KERAS_BACKEND", "tensorflow"))
    monkeypatch.setenv("XLA_FLAGS", os.environ.get("XLA_FLAGS", ""))
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def fake(monkeypatch):
    """Every system measures the number 0.5; `weights` are what its next training ends in."""
    made = types.SimpleNamespace(FULL={"updates": 2}, QUICK={"updates": 1}, hashes=HASHES, asked=[])

    def measure(log, updates):
        made.asked.append(updates)
        log("half way")
        return {"right": [0.5, np.float64(0.25).item()], "weights": made.hashes}

    def draw(found):
        from zoo.reproduce import findings

        figure, (axes,) = findings.panels("Right")
        axes.plot(found["right"])
        return figure

    made.measure, made.draw = measure, draw
    made.claims = lambda found: [
        {"paper": "It is right.", "ours": f"It is {found['right'][0]} right.", "holds": True, "seeds": [0, 1]},
        {"paper": "It is fast.", "ours": "It is slow.", "holds": False, "seeds": []},
    ]
    monkeypatch.setattr(report, "load_module", lambda system: made)
    return made


@pytest.mark.parametrize(
    ("name", "system"),
    [
        ("star", "star"),
        ("Star-Transformer", "star"),
        ("STAR TRANSFORMER", "star"),
        ("product_key", "product-key"),
        ("Product-Key Memory", "product-key"),
        ("universal transformer", "universal"),
        ("seq2seq", "attention"),
        ("pre-LN", "transformer"),
        ("lstm", "recurrent"),
        ("Depth-Adaptive Transformer", "depth-adaptive"),
        ("adaptive span", "adaptive-span"),
    ],
)
def test_names_may_be_spelled_otherwise(name, system):
    assert find(name) == system


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["reproduce", "reformr"], "Did you mean reformer"),
        (["reproduce", "zzz"], "Expected one of recurrent, attention"),
        (["reproduce"], "Expected one system, or --all"),
        (["reproduce", "star", "--all"], "both star and --all"),
        (["reproduce", "star", "--check", "--draw"], "give one of the two"),
        (["reproduce", "star", "--check", "--quick"], "leave out --quick"),
        (["reproduce", "star", "--draw", "--out", "nowhere"], "There are no results of star"),
    ],
)
def test_wrong_use_is_one_sentence(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(words) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_what_is_measured_is_kept_and_printed(fake, tmp_path, capsys):
    assert cli.main(["reproduce", "star", "--out", str(tmp_path / "new"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found.keys() == {"system", "claims", "seconds"} and found["system"] == "star"
    assert [row.keys() for row in found["claims"]] == [{"paper", "ours", "holds", "seeds"}] * 2
    kept = json.loads((tmp_path / "new" / "star.json").read_text())
    assert kept["weights"] == HASHES and kept["claims"] == found["claims"] and fake.asked == [2]
    assert (
        kept["processor"]
        and kept["versions"]["keras"]
        and sorted(os.listdir(tmp_path / "new"))
        == [
            "star.json",
            "star.png",
        ]
    )


def test_the_table_says_what_holds(fake, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(report, "draw", lambda system, folder: None)  # eleven figures take seconds
    assert cli.main(["reproduce", "--all", "--quick", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert fake.asked == [1] * len(SYSTEMS)
    assert said.out.count("  yes\n") == said.out.count("  no\n") == len(SYSTEMS)
    assert f"{len(SYSTEMS)} of {2 * len(SYSTEMS)} claims hold" in said.out
    assert "(seeds 0, 1)" in said.out and "half way" in said.err and "half way" not in said.out
    assert max(map(len, said.out.splitlines())) <= 100


def test_drawing_trains_nothing_and_is_the_same_picture(fake, tmp_path, capsys):
    words = ["reproduce", "star", "--out", str(tmp_path)]
    assert cli.main(words) == 0
    first = (tmp_path / "star.png").read_bytes()
    (tmp_path / "star.png").unlink()
    assert cli.main([*words, "--draw"]) == 0 and fake.asked == [2]
    assert (tmp_path / "star.png").read_bytes() == first and first.startswith(b"\x89PNG")


def test_check_compares_weights(fake, tmp_path, capsys):
    words = ["reproduce", "star", "--out", str(tmp_path)]
    assert cli.main(words) == 0
    kept = (tmp_path / "star.json").read_bytes()
    assert cli.main([*words, "--check"]) == 0
    assert "bit for bit" in capsys.readouterr().err
    fake.hashes = {"model": ["a", "c"]}
    assert cli.main([*words, "--check"]) == 1
    err = capsys.readouterr().err
    assert "the weights of 1 model differ" in err and "model, seed 1" in err and "seed 0" not in err
    assert (tmp_path / "star.json").read_bytes() == kept


@pytest.mark.parametrize(
    "changed",
    [{"processor": "another"}, {"versions": {"backend": "jax", "keras": "1.0"}}, {"sizes": {"updates": 7}}],
    ids=lambda each: next(iter(each)),
)
def test_another_machine_is_not_compared(changed, fake, tmp_path, capsys):
    words = ["reproduce", "star", "--out", str(tmp_path)]
    assert cli.main(words) == 0
    path = tmp_path / "star.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changed))
    assert cli.main([*words, "--check"]) == 1
    err = capsys.readouterr().err
    told = {"processor": "processor was another", "versions": "keras was 1.0", "sizes": "sizes were {'updates': 7}"}
    assert "cannot be compared" in err and told[next(iter(changed))] in err and fake.asked == [2]


@pytest.mark.parametrize("content", ["{", "[]", '{"system": "star"}'])
def test_damaged_results_are_a_sentence(content, fake, tmp_path, capsys):
    (tmp_path / "star.json").write_text(content)
    assert cli.main(["reproduce", "star", "--draw", "--out", str(tmp_path)]) == 2
    err = capsys.readouterr().err
    assert "star.json" in err and "Measure it again" in err and err.count("\n") == 1


def test_an_interrupted_training_writes_nothing(fake, tmp_path, monkeypatch, capsys):
    def interrupted(log, **sizes):
        raise KeyboardInterrupt

    fake.measure = interrupted
    assert cli.main(["reproduce", "star", "--out", str(tmp_path)]) == 130
    assert os.listdir(tmp_path) == [] and "interrupted" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_told_before_training(fake, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert cli.main(["reproduce", "star", "--out", str(tmp_path)]) == 1
    assert fake.asked == [] and str(tmp_path) in capsys.readouterr().err
