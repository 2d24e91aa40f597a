"""An artefact is whole and checked, or it is not there."""

import json
import shutil
import subprocess
import sys

import numpy as np
import onnxruntime
import pytest

import serving.export
from serving.artefact import read_manifest, sha256
from serving.errors import ParityError
from serving.export import Settings, export, newest
from serving.signatures import generation
from serving.verify import verify
from tests.serving.conftest import TEXTS, make_model
from tools import cli


def left(directory):
    return sorted(path.name for path in directory.rglob("*"))


def test_the_artefact_holds_what_the_design_names(artefact):
    names = {path.name for path in artefact.iterdir()}
    assert names == {
        *("model.keras", "saved_model", "encoder.onnx", "step.onnx", "greedy.onnx", "greedy.int8.onnx"),
        *("model.onnx", "model.int8.onnx", "source.spm", "target.spm", "recipe.toml", "card.md"),
        "manifest.json",
    }
    assert artefact.parts[-2:] == ("cats", "1")


def test_the_manifest_knows_every_file_and_the_parity(artefact):
    manifest = read_manifest(artefact)
    held = {path.relative_to(artefact).as_posix() for path in artefact.rglob("*") if path.is_file()}
    assert set(manifest["files"]) == held - {"manifest.json"}
    assert all(sha256(artefact / name) == digest for name, digest in manifest["files"].items())
    assert manifest["parity"]["passed"] and manifest["parity"]["max_abs_diff"] <= 1e-4
    assert manifest["generation"] == {"1": "greedy.onnx", "3": "model.onnx"}


def test_axes_have_names(artefact):
    session = onnxruntime.InferenceSession(artefact / "encoder.onnx")
    assert [node.shape for node in session.get_inputs()] == [["batch", "time"], ["batch"]]


def test_it_still_verifies_after_it_was_moved(artefact, tmp_path):
    moved = shutil.copytree(artefact, tmp_path / "elsewhere")
    assert verify(moved)["max_abs_diff"] <= 1e-4


def test_a_changed_byte_is_found(artefact, tmp_path, capsys):
    damaged = shutil.copytree(artefact, tmp_path / "damaged")
    content = bytearray((damaged / "model.onnx").read_bytes())
    content[len(content) // 2] ^= 1
    (damaged / "model.onnx").write_bytes(content)
    assert cli.main(["verify", str(damaged)]) == 1
    assert "model.onnx (other bytes)" in capsys.readouterr().err


def test_an_artefact_that_answers_otherwise_is_removed(model, tokenizers, settings, tmp_path, monkeypatch):
    def other(model, beams, max_length, alpha):
        return generation(model, beams, max_length, alpha + 0.7 * (beams > 1))

    monkeypatch.setattr(serving.export, "generation", other)  # what goes into ONNX, not the expectation
    with pytest.raises(ParityError, match="ONNX tokens"):
        export(model, tokenizers, tmp_path, settings)
    assert left(tmp_path) == ["cats"]


def test_a_version_is_never_overwritten(model, tokenizers, settings, artefact):
    home = artefact.parent
    before = left(home)
    with pytest.raises(ValueError, match="exists. Choose another --version"):
        export(model, tokenizers, home.parent, settings, version=1)
    assert left(home) == before and newest(home) == 1


def test_only_float32_is_exported(tokenizers, tmp_path):
    half = make_model(tokenizers, dtype="mixed_bfloat16")
    with pytest.raises(ValueError, match="needs a float32 model; this one computes in bfloat16"):
        export(half, tokenizers, tmp_path, Settings("half", "test"))
    assert left(tmp_path) == []


@pytest.mark.parametrize("version", [0, -3])
def test_a_version_is_positive(version, model, tokenizers, settings, tmp_path):
    with pytest.raises(ValueError, match=f"positive integer. Received: {version}"):
        export(model, tokenizers, tmp_path, settings, version=version)
    assert left(tmp_path) == []


@pytest.mark.parametrize("beams", [(), (0,), (4, -1)])
def test_beam_widths_are_positive(beams):
    with pytest.raises(ValueError, match="Beam widths must be at least 1"):
        Settings("any", "test", beams=beams)


def test_only_tensorflow_exports(model, tokenizers, settings, tmp_path, monkeypatch):
    monkeypatch.setattr(serving.export.keras.backend, "backend", lambda: "jax")
    with pytest.raises(ValueError, match="needs the tensorflow backend; this process runs on jax"):
        export(model, tokenizers, tmp_path, settings)
    assert left(tmp_path) == []


def test_it_runs_where_tensorflow_is_not_imported(artefact, model, tokenizers, settings):
    code = (
        "import json, sys; from serving.runtime import Runtime;"
        f"found = Runtime({str(artefact)!r}).run({list(TEXTS)!r});"
        "assert not {'tensorflow', 'keras', 'zoo', 'onnx'} & set(sys.modules);"
        "print(json.dumps([result.text for result in found]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    search = generation(model, 3, settings.max_length, settings.alpha)
    expected = []
    for ids in tokenizers[0].encode(list(TEXTS)):
        ids = [*ids, 3]
        found = search(np.array([ids], "int32"), np.array([len(ids)], "int32"))
        length = int(found["output_lengths"][0, 0])
        expected += tokenizers[1].decode([np.asarray(found["output_ids"])[0, 0, :length].tolist()])
    assert json.loads(done.stdout) == expected


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "attention", "num_layers"),
    [
        ("simple_rnn", "additive", 1),
        ("gru", None, 2),
        ("gru_reset_before", "dot", 2),
        ("lstm", "additive", 1),
        ("lstm", "dot", 2),
    ],
)
def test_every_recurrent_model_exports_with_native_encoders(cell, attention, num_layers, tokenizers, tmp_path):
    import onnx

    model = make_model(tokenizers, cell=cell, attention=attention, num_layers=num_layers)
    path = export(model, tokenizers, tmp_path, Settings("any", "test", beams=(4,), max_length=9, texts=TEXTS))
    assert read_manifest(path)["parity"]["passed"]
    operators = [node.op_type for node in onnx.load(path / "encoder.onnx").graph.node]
    native = {"simple_rnn": "RNN", "lstm": "LSTM"}.get(cell, "GRU")
    assert operators.count(native) == 2 * num_layers and "Loop" not in operators
