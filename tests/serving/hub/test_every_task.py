"""Runs of every task are exported, published, and every number of their cards is measured again."""

import pytest

from serving import Runtime
from serving.export import export_run
from serving.hub import Facts, check, publish
from serving.hub.published import OUTPUTS, unpack_outputs
from serving.runtime.artefact import read_manifest
from tests.shared import mostly_at_releases
from tests.tasks import runs

FACTS = Facts("MIT", "lines of a test", ("CC0-1.0",))
GRAPHS = {
    "translate": {"model.onnx"},
    "continue": {"greedy.onnx", "sample.onnx", "score.onnx"},
    "classify": {"model.onnx"},
    "compare": {"model.onnx"},
    "rate": {"model.onnx"},
    "rate_pairs": {"model.onnx"},
    "tag": {"model.onnx"},
    "embed": {"model.onnx"},
}


@pytest.mark.release
@pytest.mark.parametrize("task", mostly_at_releases(GRAPHS, 2))
def test_a_task_is_published_and_checked(task, tmp_path):
    recipe = runs.recipe(task, tmp_path)
    run = runs.write(recipe, tmp_path / "run")
    artefact = export_run(run, tmp_path / "artefacts")
    entry = publish(artefact, run, tmp_path / "hub", FACTS)
    home = tmp_path / "hub" / "small" / "1"
    manifest = read_manifest(home)
    assert set(manifest["graphs"].values()) == GRAPHS[task] and entry["task"] == task
    held = {name for name in entry["files"] if name.endswith(".onnx")}
    assert {name.replace(".int8", "") for name in held} == GRAPHS[task]
    assert all((".int8." in name) is bool(entry["int8"]) for name in held)
    inputs, references, outputs = unpack_outputs((home / OUTPUTS).read_bytes())
    whole = recipe.job.read(recipe, "test")
    assert ("".join(inputs) == whole[0][0]) if task == "continue" else ((inputs, references) == whole)
    rows = check(home, entry)
    assert {row.part for row in rows} == {"files", "scores", "answers", "parameters", "parity", "card"}
    assert [row for row in rows if row.equal is not True] == []
    again = {row.what for row in rows if row.what.endswith(", made again: same answers")}
    assert again == {f"{name}, made again: same answers" for name in held if ".int8." in name}
    assert len(Runtime(home).run(["undo"] if task not in ("compare", "rate_pairs") else ["undo\tdo"])) == 1
    assert len(outputs) == entry["scores"]["count"] == manifest["test"]["count"]
