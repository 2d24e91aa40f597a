"""From a finished run of every kind to answers, by the command line alone."""

import json

import pytest

from tests.recipes import small
from tests.shared import mostly_at_releases
from tools import cli

KINDS = {
    "transformer": "generate",
    "transducer": "generate",
    "language_model": "continue",
    "classifier": "classify",
    "tagger": "tag",
}


@pytest.mark.release
@pytest.mark.parametrize("model", mostly_at_releases(KINDS, 3))
def test_train_export_run_and_bench(model, tmp_path, capsys):
    from zoo import runs

    recipe = small.recipe(model)
    data = small.write_corpus(recipe, tmp_path / "data")
    runs.train(recipe, tmp_path / "run", data)
    given = ["--data", str(data)] if not recipe.data.generated else ["--split", "test"]
    narrow = ["--shortlist", "5"] if KINDS[model] == "generate" else []
    assert cli.main(["export", str(tmp_path / "run"), "--out", str(tmp_path / "out"), *given, *narrow, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["parity_max_abs_diff"] <= 1e-4
    scores = {"transformer": {"exact_match"}, "language_model": {"nats_per_token"}}
    scores["transducer"] = {"exact_match", "wer", "per"}
    expected = scores.get(model, {"accuracy"})
    assert report["int8"]["scores"] and all(set(pairs) == expected for pairs in report["int8"]["scores"].values())
    assert report["int8"]["texts"] > 5

    manifest = json.loads((tmp_path / "out" / "small" / "1" / "manifest.json").read_text())
    assert manifest["kind"] == KINDS[model]
    assert "## int8" in (tmp_path / "out" / "small" / "1" / "card.md").read_text()

    assert cli.main(["run", report["path"], "undoing done", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["input"] == "undoing done"
    assert cli.main(["run", report["path"], "undoing done", "--shortlist"]) == (0 if narrow else 2)
    said = capsys.readouterr()
    assert "has no graph with a shortlist" in said.err if not narrow else said.out.count("\n") == 1
    if model == "tagger":
        assert [word["tag"] in "UDR" for word in answer["words"]] == [True, True]
    if model == "classifier":
        assert sorted(answer["probabilities"]) == ["HUM", "LOC", "NUM"]
    assert cli.main(["bench", report["path"], "--batch", "2", "--rounds", "1", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["precision"] for row in rows} == {"float32", "int8"} and all(row["ms"] > 0 for row in rows)


@pytest.mark.release
def test_int8_can_be_left_out(tmp_path, capsys):
    from zoo import runs

    recipe = small.recipe("tagger")
    runs.train(recipe, tmp_path / "run", small.write_corpus(recipe, tmp_path / "data"))
    given = ["--no-int8", "--name", "plain", "--max-input", "40", "--overlong", "truncate"]
    assert cli.main(["export", str(tmp_path / "run"), "--out", str(tmp_path), *given]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'plain' / '1'}\n"
    assert cli.main(["bench", str(tmp_path / "plain"), "--batch", "1", "--rounds", "1"]) == 0
    (_, row) = capsys.readouterr().out.splitlines()
    assert row.split()[:3] == ["tag", "1", "float32"]
    artefact = tmp_path / "plain" / "1"
    manifest = json.loads((artefact / "manifest.json").read_text())
    assert (manifest["max_input"], manifest["overlong"]) == (40, "truncate")
    assert "At most 40 tokens of a text are read; of a longer one the first." in (artefact / "card.md").read_text()
    assert cli.main(["run", str(tmp_path / "plain"), "undoing " * 100]) == 0
    captured = capsys.readouterr()
    assert "text 1: only the first " in captured.err and 0 < len(captured.out.split()) < 40
