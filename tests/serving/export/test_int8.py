"""What the report says of int8 is so."""

import onnx
import pytest

from serving.export.kinds import kind_of
from serving.export.measuring import report
from serving.export.onnx.convert import convert
from serving.export.onnx.ranges import Calibration
from serving.export.settings import Settings, Trial
from serving.runtime import Runtime
from serving.runtime.artefact import read_manifest
from tests.serving.conftest import TEXTS, settings_of


@pytest.mark.slow(but=2)
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


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("kind", ["generate", "continue", "classify", "tag"])
def test_an_answer_does_not_hang_on_its_batch_mates(artefacts, kind):
    """Every text alone, with every other, and in another order; the untrained models are near many ties."""
    runtime = Runtime(artefacts(kind), precision="int8", threads=1)
    texts = [f"{one} {other}" for one in TEXTS for other in ("a cat", "the mat sat on the mat", "cat " * 9)]
    for mode in runtime.modes:
        if "sampling" not in mode.options:  # of which each text has its own numbers
            alone = [runtime.run([text], **mode.options)[0].answer for text in texts]
            assert [result.answer for result in runtime.run(texts, **mode.options)] == alone
            assert [result.answer for result in runtime.run(texts[::-1], **mode.options)][::-1] == alone


@pytest.mark.slow
def test_a_new_process_measures_the_same(artefacts):
    """As of a large network; times alone are others."""
    texts, found = TEXTS[:3], []
    for large in (False, True):
        found.append(
            report(artefacts("classify"), texts, Trial(texts, texts, lambda *pair: {"n": len(set(pair[0]))}), large)
        )
        for row in found[-1]["modes"]:
            row.pop("milliseconds")
    assert found[0] == found[1] and found[0]["scores"]


def test_the_ranges_are_those_of_the_texts_that_are_given(models, tokenizers):
    """They are in the manifest, and hold again where no text is given."""
    kind = kind_of(models["classify"], settings_of("classify", calibration=TEXTS[:1]))
    few = ranges(kind, tokenizers)
    more = ranges(kind_of(models["classify"], settings_of("classify", calibration=TEXTS)), tokenizers)
    assert few.keys() == more.keys() and all(
        more[key][0] <= low <= 0 <= high <= more[key][1] for key, (low, high) in few.items()
    )
    assert few != more
    again = kind_of(models["classify"], settings_of("classify", ranges=few))
    assert ranges(again, tokenizers) == few


def ranges(kind, tokenizers):
    calibration = Calibration(kind, tokenizers[:1], lambda line: None)
    function = kind.functions["classify"]
    calibration.complete(function.name, convert(function.function, function.signature))
    return calibration.ranges


def test_a_light_artefact_makes_the_same_int8_graph_again(artefacts):
    manifest = read_manifest(artefacts("classify"))
    assert manifest["ranges"] and all(low <= 0 <= high for low, high in manifest["ranges"].values())
    assert dict(Settings.of(manifest).ranges) == manifest["ranges"]


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
