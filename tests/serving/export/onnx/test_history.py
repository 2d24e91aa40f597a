"""The gallery's engine opens the loops of what is exported today: what they tell, and that they answer as before.

The pages in a browser are tested with published models, which are older than the exporter.
"""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from serving.gallery import vendored
from tests.shared import NODE

ENGINE = Path(vendored.__file__).parent / "page" / "engine"

SCRIPT = """
import { readFileSync, writeFileSync } from "node:fs";
import { addHistory } from "./engine/history.js";
const [from, to] = process.argv.slice(2);
const { bytes, outputs } = addHistory(new Uint8Array(readFileSync(from)));
writeFileSync(to, bytes);
console.log(JSON.stringify(outputs));
"""


@pytest.mark.parametrize(("kind", "graph"), [("generate", "model.onnx"), ("continue", "greedy.onnx")])
def test_what_a_search_tells(kind, graph, artefacts, tmp_path):
    """One text: the answers stay, each value has a leading axis for the outer loop, and probabilities sum to 1."""
    made = shutil.copytree(artefacts(kind), tmp_path / "made")
    shutil.copytree(ENGINE, tmp_path / "engine")
    (tmp_path / "ask.mjs").write_text(SCRIPT)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    command = [NODE, tmp_path / "ask.mjs", made / graph, made / "told.onnx"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told and all(each["nested"] for each in told)
    before, after = (onnxruntime.InferenceSession(made / name) for name in (graph, "told.onnx"))
    given = {"token_ids": np.array([[5, 6, 7]], "int32"), "lengths": np.array([3], "int32")}
    names = [each.name for each in before.get_outputs()]
    for expected, value in zip(before.run(names, given), after.run(names, given), strict=True):
        np.testing.assert_array_equal(value, expected)
    values = after.run([each["name"] for each in told], given)
    for each, value in zip(told, values, strict=True):
        assert value.shape[0] == 1 and value.shape[1] > 1, each
        if each["of"] == "LogSoftmax":
            np.testing.assert_allclose(np.exp(value).sum(-1), 1, rtol=1e-5)
    assert "LogSoftmax" in [each["of"] for each in told]
