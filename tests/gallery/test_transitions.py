"""The likeliest allowed tags in the page's scripts and in a SavedModel's operations, beside those in Python."""

import json
import subprocess

import numpy as np
import pytest
import tensorflow as tf

from serving.export.kinds.tag import likeliest_in_graph
from serving.gallery import vendored
from tests.scores.test_transitions import IOB2, IOBES
from tests.shared import NODE
from zoo.scores.transitions import likeliest, transitions

SCHEMES = {"iob2": [*IOB2, "B-ORG"], "iobes": IOBES, "bilou": ["B-A", "L-A", "I-A", "O", "U-A", "U-B"]}
SCRIPT = """
import {{ likeliest, transitions }} from "{page}";
const asked = JSON.parse(await new Promise((give) => {{ let all = ""; process.stdin.on("data", (part) => (all += part));
  process.stdin.on("end", () => give(all)); }}));
console.log(JSON.stringify(asked.map(([labels, rows]) => likeliest(rows, transitions(labels)))));
"""


def sentences(seed, count=60):
    """Probabilities of sentences of 1 to 8 words, as float32."""
    draw = np.random.default_rng(seed)
    drawn = [draw.dirichlet(np.full(6, 0.4), draw.integers(1, 9)).astype("float32") for _ in range(count)]
    return [*drawn, *(np.eye(6, dtype="float32")[each.argmax(axis=-1)] for each in drawn)]  # those are wholly sure


def expected(labels, rows):
    with np.errstate(divide="ignore"):
        return likeliest(np.log(rows.astype("float64")), transitions(labels)).tolist()


def test_the_page_answers_as_python_does(tmp_path):
    page = vendored.__file__.replace("vendored.py", "page/engine/transitions.js")
    (tmp_path / "ask.mjs").write_text(SCRIPT.format(page=page))
    (tmp_path / "package.json").write_text('{"type": "module"}')
    asked = [(labels, rows) for labels in (*SCHEMES.values(), ["N", "V", "A", "D", "P", "O"]) for rows in sentences(1)]
    given = json.dumps([[labels, rows.astype(float).tolist()] for labels, rows in asked])
    done = subprocess.run([NODE, tmp_path / "ask.mjs"], input=given, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    own = [expected(*each) if transitions(each[0]) else each[1].argmax(axis=-1).tolist() for each in asked]
    assert json.loads(done.stdout) == own


@pytest.mark.parametrize("labels", SCHEMES.values(), ids=SCHEMES)
def test_a_saved_model_answers_as_python_does(labels):
    rows = sentences(2)
    longest = max(map(len, rows))
    batch = np.stack([np.pad(each, ((0, longest - len(each)), (0, 0))) for each in rows])
    there = np.arange(longest) < np.array([len(each) for each in rows])[:, None]
    shapes = [tf.TensorSpec((None, None, 6), "float32"), tf.TensorSpec((None, None), "bool")]
    graph = tf.function(lambda *given: likeliest_in_graph(*given, transitions(labels)), input_signature=shapes)
    found = graph(batch, there).numpy()
    assert [row[: len(each)].tolist() for row, each in zip(found, rows, strict=True)] == [
        expected(labels, each) for each in rows
    ]
    assert any(expected(labels, each) != each.argmax(axis=-1).tolist() for each in rows)
    for words in (0, 1):
        assert graph(batch[:2, :words], there[:2, :words]).shape == (2, words)
