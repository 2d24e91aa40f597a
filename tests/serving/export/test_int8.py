"""What the report says of int8 is so."""

import onnx
import pytest

from serving.export.int8 import report
from serving.export.settings import Trial
from serving.runtime import Runtime
from serving.runtime.artefact import read_manifest
from tests.serving.conftest import TEXTS


@pytest.mark.parametrize(
    ("kind", "modes"),
    [
        ("generate", ["beam 1", "beam 3"]),
        ("continue", ["beam 1", "sample"]),
        ("classify", ["classify"]),
        ("tag", ["tag"]),
    ],
)
def test_every_mode_is_measured(artefacts, kind, modes):
    found = read_manifest(artefacts(kind))["int8"]
    assert [row["mode"] for row in found["modes"]] == modes
    assert found["texts"] == len(TEXTS) and set(found["scores"]) == ({"score"} if kind == "continue" else set())
    for row in found["modes"]:
        assert set(row["milliseconds"]) == {"1", "32"}
        assert all(value > 0 for pair in row["milliseconds"].values() for value in pair)
        assert all(size > 0 for size in row["megabytes"])


@pytest.mark.parametrize("kind", ["continue", "tag"])
def test_answers_hang_on_batch_mates_no_more_than_it_says(artefacts, kind):
    """Every text alone, and with every other: of the example texts, int8 changes no more answers than reported."""
    runtime = Runtime(artefacts(kind), precision="int8", threads=1)
    row = read_manifest(artefacts(kind))["int8"]["modes"][0]
    alone = [runtime.run([text])[0].answer for text in TEXTS]
    together = [result.answer for result in runtime.run([text for text in TEXTS] * 11)][: len(TEXTS)]
    if kind == "tag":
        alone, together = (sum(answers, []) for answers in (alone, together))
    changed = sum(one != other for one, other in zip(alone, together, strict=True)) / len(alone)
    assert changed <= row["batch_mates"] + 1e-6


def test_a_trial_without_texts_is_refused():
    with pytest.raises(ValueError, match="at least one text; received none"):
        Trial(())
    with pytest.raises(ValueError, match="a reference for each of its 2 texts; received 1"):
        Trial(("a", "b"), ("x",), len)


def test_agreement_and_scores_are_counted(artefacts):
    directory = artefacts("classify")
    precise, rounded = (
        [result.label for result in Runtime(directory, precision=name, threads=1).run(list(TEXTS))]
        for name in ("float32", "int8")
    )

    def score(answers, references):
        return {"right": sum(one == other for one, other in zip(answers, references, strict=True))}

    found = report(directory, (), Trial(TEXTS, tuple(rounded), score))
    same = sum(one == other for one, other in zip(precise, rounded, strict=True))
    assert found["scores"] == {"classify": {"right": [same, 3]}}
    assert found["modes"][0]["identical"] == pytest.approx(same / 3, abs=1e-6)


@pytest.mark.slow
def test_the_quantised_graph_is_quantised(artefacts):
    for name, quantised in (("model.onnx", False), ("model.int8.onnx", True)):
        graph = onnx.load(artefacts("tag") / name).graph
        assert any(tensor.data_type == onnx.TensorProto.INT8 for tensor in graph.initializer) is quantised
