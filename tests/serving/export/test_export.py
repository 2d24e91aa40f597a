"""An artefact is whole and checked, or it is not there."""

import json
import re
import shutil
from types import SimpleNamespace

import keras
import onnx
import onnxruntime
import pytest

from serving.export import Settings, export, newest
from serving.export.again import verify
from serving.export.manifest import write_card
from serving.export.onnx import convert as converting
from serving.runtime.artefact import read_manifest, sha256
from serving.runtime.errors import ParityError
from serving.runtime.reading import Bound
from tests.house_rules import ROOT
from tests.serving.conftest import MAX_LENGTH, TEXTS, make_seq2seq, settings_of
from tests.shared import mostly_at_releases
from tools import cli

PAGE = (ROOT / "docs" / "artefacts.md").read_text(encoding="utf-8")
KINDS = ("generate", "continue", "classify", "tag")
FEW = ["generate", *(pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS[1:])]
SERVED = {"saved_model.pb", "variables", "assets", "fingerprint.pb"}
ALWAYS = {"model.keras", "source.spm", "recipe.toml", "card.md", "manifest.json"} | SERVED
WRITTEN = {"encoder.onnx", "step.onnx", "greedy.onnx", "greedy.int8.onnx", "sample.onnx", "sample.int8.onnx"}
MODEL = {"model.onnx", "model.int8.onnx"}
HELD = {
    "generate": ALWAYS | WRITTEN | MODEL | {"target.spm"},
    "continue": ALWAYS | WRITTEN | {"score.onnx", "score.int8.onnx"},
    "classify": ALWAYS | MODEL,
    "tag": ALWAYS | MODEL,
}


def left(directory):
    return sorted(path.name for path in directory.rglob("*"))


@pytest.mark.release(but="classify")
@pytest.mark.parametrize("kind", FEW)
def test_the_artefact_holds_what_the_design_names(artefacts, kind):
    artefact = artefacts(kind)
    assert {path.name for path in artefact.iterdir()} == HELD[kind]
    assert artefact.parts[-2:] == (kind, "1")
    told = re.findall(r"[\w*.]+", PAGE.split("## What is in it")[1].split("\n## ")[0])
    assert not [name for name in HELD[kind] if name not in told and not name.endswith(".int8.onnx")]


@pytest.mark.release(but=1)
@pytest.mark.parametrize("kind", FEW)
def test_the_manifest_knows_every_file_and_what_was_measured(artefacts, kind):
    artefact = artefacts(kind)
    manifest = read_manifest(artefact)
    held = {path.relative_to(artefact).as_posix() for path in artefact.rglob("*") if path.is_file()}
    assert manifest["kind"] == kind
    assert set(manifest["files"]) == held - {"manifest.json"}
    assert all(sha256(artefact / name) == digest for name, digest in manifest["files"].items())
    assert manifest["parity"]["passed"] and manifest["parity"]["max_abs_diff"] <= 1e-4
    assert set(manifest["graphs"].values()) == {name for name in held if name.endswith(".onnx") and "int8" not in name}
    names = [table["name"] for table in manifest["signatures"]]
    assert names[0] == "serving_default" and set(manifest["graphs"]) < set(names)


@pytest.mark.release(but=2)
@pytest.mark.parametrize(
    ("kind", "quantities"),
    [
        (
            "generate",
            {"ONNX tokens scores", "ONNX drive logits", "SavedModel serving_default scores", "ONNX sample scores"},
        ),
        ("continue", {"ONNX greedy scores", "ONNX drive logits", "ONNX score log_probs"}),
        ("classify", {"ONNX classify probabilities", "SavedModel serving_default probabilities"}),
        ("tag", {"ONNX tag probabilities", "SavedModel serving_default scores"}),
    ],
)
def test_parity_was_asked_of_everything(artefacts, kind, quantities):
    assert quantities <= read_manifest(artefacts(kind))["parity"]["largest"].keys()


def test_axes_have_names(artefacts):
    session = onnxruntime.InferenceSession(artefacts("generate") / "encoder.onnx")
    assert [node.shape for node in session.get_inputs()] == [["batch", "time"], ["batch"]]
    shapes = {node.name: node.shape for node in session.get_outputs()}
    assert shapes["state.caches.0.keys"] == ["batch", 2, "past", 8]
    assert shapes["state.seen"] == ["batch", "beams", "past"] and shapes["first_ids"] == ["batch", "beams"]
    assert shapes["memory.cross.0.values"] == ["batch", 2, "time", 8]


@pytest.mark.slow
def test_a_language_models_step_reads_no_memory(artefacts):
    manifest = read_manifest(artefacts("continue"))
    assert not [name for name in manifest["step"]["inputs"] if name.startswith("memory")]
    assert manifest["generation"] == {"1": "greedy.onnx"} and manifest["default_beam"] == 1


@pytest.mark.slow
def test_it_still_verifies_after_it_was_moved(artefacts, tmp_path):
    moved, lines = shutil.copytree(artefacts("tag"), tmp_path / "elsewhere"), []
    (moved / "variables" / "more.txt").touch()
    report = verify(moved, log=lines.append)
    assert report["max_abs_diff"] <= 1e-4
    assert report["extra"] == ["variables/more.txt"]
    assert any("manifest.json does not list variables/more.txt" in line for line in lines)


@pytest.mark.release(but="classify")
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["generate", "continue", "classify"])
def test_every_kind_verifies(artefacts, kind):
    assert verify(artefacts(kind))["max_abs_diff"] <= 1e-4


def test_a_changed_byte_is_found(artefacts, tmp_path, capsys):
    damaged = shutil.copytree(artefacts("generate"), tmp_path / "damaged")
    content = bytearray((damaged / "model.onnx").read_bytes())
    content[len(content) // 2] ^= 1
    (damaged / "model.onnx").write_bytes(content)
    assert cli.main(["verify", str(damaged)]) == 1
    assert "model.onnx (other bytes)" in capsys.readouterr().err


@pytest.mark.slow
def test_an_artefact_that_answers_otherwise_is_removed(models, tokenizers, tmp_path, monkeypatch):
    convert = converting.convert

    def other(function, signature, *args, **options):
        return convert(
            lambda **inputs: {key: value + 1e-3 for key, value in function(**inputs).items()},
            signature,
            *args,
            **options,
        )

    monkeypatch.setattr(converting, "convert", other)  # what goes into ONNX, not the expectation
    with pytest.raises(ParityError, match="ONNX classify probabilities in .*differs by 0.001, allowed 0.0001"):
        export(models["classify"], tokenizers[:1], tmp_path, settings_of("classify"))
    assert left(tmp_path) == ["classify"]


def test_a_version_is_never_overwritten(models, tokenizers, artefacts):
    home = artefacts("generate").parent
    before = left(home)
    with pytest.raises(ValueError, match="exists. Choose another --version"):
        export(models["generate"], tokenizers, home.parent, settings_of("generate"), version=1)
    assert left(home) == before and newest(home) == 1


def refused(model, tokenizers, settings, tmp_path, message, **kwargs):
    """Refused before anything is written."""
    with pytest.raises(ValueError, match=message):
        export(model, tokenizers, tmp_path, settings, **kwargs)
    assert left(tmp_path) == []


def test_only_float32_is_exported(tokenizers, tmp_path):
    half = make_seq2seq(tokenizers, dtype="mixed_bfloat16")
    message = "needs a float32 model; this one computes in bfloat16"
    refused(half, tokenizers, Settings("half", "test"), tmp_path, message)


@pytest.mark.parametrize("version", [0, -3])
def test_a_version_is_positive(version, models, tokenizers, tmp_path):
    message = f"positive integer. Received: {version}"
    refused(models["tag"], tokenizers[:1], settings_of("tag"), tmp_path, message, version=version)


def test_only_tensorflow_exports(models, tokenizers, tmp_path, monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    message = "needs the tensorflow backend; this process runs on jax"
    refused(models["tag"], tokenizers[:1], settings_of("tag"), tmp_path, message)


@pytest.mark.parametrize("kind", ["classify", "tag"])
def test_every_label_has_a_name(kind, models, tokenizers, tmp_path):
    settings = settings_of(kind, labels=("one", "two"))
    refused(models[kind], tokenizers[:1], settings, tmp_path, "the model has 3, received 2.*labels.json")


def test_every_side_has_a_tokenizer(models, tokenizers, tmp_path):
    message = "Transformer needs a tokenizer for source and target. Received: 1"
    refused(models["generate"], tokenizers[:1], settings_of("generate"), tmp_path, message)
    refused(models["tag"], tokenizers, settings_of("tag"), tmp_path, "Tagger needs a tokenizer for source. Received: 2")
    message = "Tagger and its tokenizers disagree: expected the vocabularies {'source': 17}, received {'source': 19}"
    refused(models["tag"], tokenizers[1:], settings_of("tag"), tmp_path, message)


def test_a_text_is_no_longer_than_its_positions(models, tokenizers, tmp_path):
    settings = settings_of("continue", max_length=MAX_LENGTH + 1)
    refused(models["continue"], tokenizers[:1], settings, tmp_path, "max_length=8 is too long")


@pytest.mark.parametrize("beams", [(), (0,), (4, -1)])
def test_beam_widths_are_positive(beams):
    with pytest.raises(ValueError, match="Beam widths must be at least 1"):
        Settings("any", "test", beams=beams)


@pytest.mark.release(but=2)
@pytest.mark.parametrize("kind", KINDS)
def test_settings_come_back_from_the_manifest(kind, artefacts):
    given, found = settings_of(kind), Settings.of(read_manifest(artefacts(kind)))
    assert (found.name, found.texts) == (given.name, given.texts)
    if kind in ("generate", "continue"):
        assert (found.beams, found.max_length, found.alpha) == (given.beams, given.max_length, given.alpha)
    else:
        assert found.labels == given.labels


@pytest.mark.release
def test_more_beams_and_a_compiled_signature(models, tokenizers, tmp_path):
    settings = settings_of("generate", beams=(2, 3), xla=True, int8=False)
    artefact = export(models["generate"], tokenizers, tmp_path, settings)
    manifest = read_manifest(artefact)
    assert manifest["generation"] == {"1": "greedy.onnx", "2": "model.onnx", "3": "model.beam3.onnx"}
    assert {"ONNX tokens_beam3 scores", "SavedModel tokens_xla scores"} <= manifest["parity"]["largest"].keys()
    assert manifest["int8"] is None and not list(artefact.glob("*.int8.onnx"))
    assert Settings.of(manifest).beams == (2, 3) and Settings.of(manifest).xla


@pytest.mark.release
@pytest.mark.parametrize(
    ("cell", "attention", "num_layers"),
    mostly_at_releases([("gru_reset_before", "dot", 2), ("simple_rnn", "additive", 1), ("lstm", "dot", 2)], 1),
)
def test_every_recurrent_model_exports_with_native_encoders(cell, attention, num_layers, tokenizers, tmp_path):
    model = make_seq2seq(tokenizers, cell=cell, attention=attention, num_layers=num_layers)
    path = export(model, tokenizers, tmp_path, Settings("any", "test", beams=(4,), max_length=9, texts=TEXTS))
    assert read_manifest(path)["parity"]["passed"]
    operators = [node.op_type for node in onnx.load(path / "encoder.onnx").graph.node]
    native = {"simple_rnn": "RNN", "lstm": "LSTM"}.get(cell, "GRU")
    assert operators.count(native) == 2 * num_layers and "Loop" not in operators


def test_the_card_says_what_int8_changes(artefacts):
    manifest = read_manifest(artefacts("generate"))
    card = (artefacts("generate") / "card.md").read_text()
    for row in manifest["int8"]["modes"]:
        assert f"| {row['mode']} | {row['megabytes'][0]} / {row['megabytes'][1]} |" in card
    assert json.dumps(manifest["parity"]["tolerance"]) in card


def test_the_card_shows_single_scores(tmp_path):
    scores = {"seconds": 1.5, "bleu": 31.2512, "bleu_interval": [29, 33.5]}
    scores |= {"by_length": [{"from": 1, "to": 5, "bleu": 20.0}], "training": {"steps": 3}}
    kind = SimpleNamespace(
        settings=Settings("small", "translation", scores=scores),
        model=SimpleNamespace(count_params=lambda: 1234),
        bound=Bound(),
    )
    write_card(kind, tmp_path, 1, {"max_abs_diff": 1e-6, "tolerance": 1e-4})
    card = (tmp_path / "card.md").read_text()
    assert "## Scores\n- seconds: 1.5\n- BLEU: 31.25 (95 %: 29.00 to 33.50)\n\n## Parity" in card
