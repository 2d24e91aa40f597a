"""What the report says of int8 is so, and what is usual for a model is measured by the texts that validate it."""

import json

import numpy as np
import onnx
import pytest

from serving.export import export
from serving.export.kinds import kind_of
from serving.export.measuring import measure_usual, report, spread
from serving.export.onnx.convert import convert
from serving.export.onnx.ranges import Calibration
from serving.export.settings import Settings, Trial
from serving.runtime import Runtime
from serving.runtime.artefact import read_manifest
from serving.runtime.manifest_format import checked
from tests.serving import fake_artefact
from tests.serving.conftest import TEXTS, settings_of, sides


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


def texts_of(tokenizer, count=120):
    """Texts of pieces that the tokenizer knows."""
    draw = np.random.default_rng(3)
    return tokenizer.decode(
        [draw.integers(4, tokenizer.vocab_size, draw.integers(2, 7)).tolist() for _ in range(count)]
    )


def lowest(values, share=0.015):
    return np.sort(values)[int(share * len(values))]


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("kind", ["classify", "tag", "generate"])
def test_the_bounds_are_those_of_the_validation(kind, models, tokenizers, tmp_path):
    own = sides(kind, tokenizers)
    texts = texts_of(own[0])
    folder = export(models[kind], own, tmp_path, settings_of(kind, calibration=texts))
    manifest = json.loads((folder / "manifest.json").read_text())
    usual, common = manifest["usual"], own[0].log_probabilities
    encode = (
        (lambda text: sum(own[0].encode_words(text.split()), [])) if kind == "tag" else lambda t: own[0].encode([t])[0]
    )
    read = [(encode(text), len(text)) for text in texts if text.strip()]
    rare = np.array([sum(common[token] for token in ids) / length for ids, length in read])
    assert usual["texts"] == len(rare) and usual["familiarity"] == pytest.approx(rare.mean())
    scaled = (rare - rare.mean()) * np.sqrt([len(ids) for ids, _ in read])
    assert usual["spread"] == pytest.approx(-lowest(scaled))
    assert usual["pieces"] == max(len(encode(text)) for text in texts)
    answers = Runtime(folder, precision="float32").run(texts)
    assert usual["confidence"] == pytest.approx(lowest([each.confidence for each in answers if each.confidence]))
    unsure = sum("the model is unsure" in (each.warning or "") for each in answers)
    assert unsure <= 0.02 * len(texts)
    assert "has a warning; so has an answer of which" in (folder / "card.md").read_text()
    assert Settings.of(checked(manifest)).usual == usual


@pytest.mark.slow
def test_the_bounds_of_ratings_are_those_of_the_answers(tmp_path):
    """The artefact rates a text by half its number of tokens: its letters and two around them."""
    found = measure_usual(fake_artefact.write(tmp_path / "a", "rate"), ["abc", "a", " ", "abcdef", "ab"])
    assert found["ratings"] == [1.5, 4.0] and "confidence" not in found


@pytest.mark.slow
def test_prompts_begin_as_lines_do(artefacts, tokenizers):
    """A heading is rare within a text, and where a line begins it is usual: 8, 16, 32 or 64 characters of it."""
    artefact, (tokenizer, _) = artefacts("continue"), tokenizers
    most, lines = Runtime(artefact).max_input, texts_of(tokenizer, 400)
    both = ["\n".join(lines[row : row + 2]) for row in range(0, 400, 2)]
    texts = [text for text, ids in zip(both, tokenizer.encode(both), strict=True) if len(ids) <= most]
    behind = [text[place + 1 :] for text in texts for place in range(len(text)) if text[place] == "\n"]
    parts = texts + [each[:size] for each in behind for size in (8, 16, 32, 64) if len(each) >= size]
    common, ids = tokenizer.log_probabilities, tokenizer.encode(parts)
    rare = np.array([sum(common[token] for token in row) / len(part) for row, part in zip(ids, parts, strict=True)])
    scaled = (rare - rare.mean()) * np.sqrt([len(row) for row in ids])
    expected = {"familiarity": pytest.approx(rare.mean()), "spread": pytest.approx(-lowest(scaled))}
    assert len(parts) > len(texts) > 20 and measure_usual(artefact, texts) == expected | {"texts": len(texts)}


@pytest.mark.slow
def test_without_texts_that_validate_nothing_is_usual(models, tokenizers, tmp_path):
    own = sides("classify", tokenizers)
    settings, said = settings_of("classify", calibration=texts_of(own[0], 99)), []
    artefact = export(models["classify"], own, tmp_path, settings, log=said.append)
    assert "usual" not in json.loads((artefact / "manifest.json").read_text())
    assert "no text will be told to be unusual: 99 texts validate, and 100 are needed" in said
    assert "Too few texts validated the model" in (artefact / "card.md").read_text()


@pytest.mark.slow
def test_texts_are_taken_from_the_whole_file():
    texts = list(range(4501))
    found = spread(texts, 2000)
    assert len(found) <= 2000 and found[0] == 0 and found[-1] >= 4498 and spread([], 5) == []
