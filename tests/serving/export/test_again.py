"""An artefact is exported again from its model alone, and in 16 bits its forms hold the same rounded weights."""

import shutil

import keras
import numpy as np
import onnx
import pytest

from serving.export import export, export_again
from serving.export.onnx.graphs import walk
from serving.export.settings import Settings
from serving.export.storage import round_nearest
from serving.runtime import Runtime
from serving.runtime.artefact import read_manifest
from tests.serving.conftest import TEXTS, make_seq2seq
from tests.shared import made_once, mostly_at_releases, python
from tools import cli

HELD = ("manifest.json", "model.keras", "recipe.toml", "source.spm", "target.spm")
PROGRAM = """
import sys, numpy, keras, zoo
model = keras.models.load_model(sys.argv[1])
kept = {str(i): w.numpy() for i, w in enumerate(model.weights) if w.dtype == "float32"}
numpy.savez(sys.argv[2], **kept)
print(keras.backend.backend())
"""


def light(artefact, folder):
    """A copy of an artefact that has only what an export of it needs."""
    folder.mkdir(parents=True)
    for name in HELD:
        if (artefact / name).is_file():
            shutil.copy(artefact / name, folder)
    return folder


def weights(path):
    found = keras.models.load_model(path).weights
    return [np.asarray(weight.numpy()) for weight in found if weight.dtype == "float32"]


def dtypes(path):
    graph = onnx.load(path).graph
    return {tensor.data_type for inner in walk(graph) for tensor in inner.initializer if len(tensor.raw_data) >= 512}


def check_settings(manifest, before, storage):
    """They are those of before but for the storage; weights that were rounded have ranges of their own."""
    assert len(manifest["ranges"]) == len(before["ranges"]) and manifest["ranges"].keys() != before["ranges"].keys()
    own = {"storage": storage, "ranges": manifest["ranges"]}
    assert Settings.of(manifest) == Settings.of(before | own)


@pytest.fixture(scope="module")
def again(artefacts, tmp_path_factory):
    """A classifier that was exported again from a light copy, in float16."""

    def make(folder):
        copy = light(artefacts("classify"), folder / "light" / "classify" / "1")
        assert cli.main(["export", str(copy.parents[1]), "--out", str(folder / "out"), "--storage", "float16"]) == 0

    return made_once(tmp_path_factory, "classify-again", make) / "out" / "classify" / "1"


@pytest.mark.slow
def test_it_has_every_form_and_the_settings_of_before(again, artefacts):
    before, manifest = read_manifest(artefacts("classify")), read_manifest(again)
    assert manifest["files"].keys() == before["files"].keys()
    assert (before["storage"], manifest["storage"]) == ("float32", "float16")
    check_settings(manifest, before, "float16")
    same = {"storage", "files", "sizes", "parity", "int8", "manifest_sha256", "ranges"}
    assert {key: value for key, value in manifest.items() if key not in same} == {
        key: value for key, value in before.items() if key not in same
    }
    assert manifest["parity"]["passed"] and manifest["parity"]["tolerance"] == before["parity"]["tolerance"]
    assert (again / "recipe.toml").read_bytes() == (artefacts("classify") / "recipe.toml").read_bytes()
    assert "stored so in `model.keras`" in (again / "card.md").read_text()
    assert "## Storage" not in (artefacts("classify") / "card.md").read_text()


@pytest.mark.slow
def test_every_form_holds_the_rounded_weights(again, artefacts):
    for values, other in zip(
        weights(artefacts("classify") / "model.keras"), weights(again / "model.keras"), strict=True
    ):
        np.testing.assert_array_equal(round_nearest(values), other)
    assert onnx.TensorProto.FLOAT16 in dtypes(again / "model.onnx")
    assert onnx.TensorProto.FLOAT16 not in dtypes(artefacts("classify") / "model.onnx")
    answers = [Runtime(each, threads=1).run(list(TEXTS)) for each in (again, artefacts("classify"))]
    for one, other in zip(*answers, strict=True):
        np.testing.assert_allclose(list(one.probabilities.values()), list(other.probabilities.values()), atol=5e-3)


@pytest.mark.slow
def test_what_is_missing_is_named(artefacts, tmp_path, capsys):
    copy = light(artefacts("classify"), tmp_path / "classify" / "1")
    (copy / "model.keras").unlink()
    assert cli.main(["export", str(copy), "--out", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert "expected model.keras, recipe.toml, source.spm in it, and model.keras is missing. Fetch or copy" in said


@pytest.mark.slow
def test_a_changed_model_is_not_exported(artefacts, tmp_path, capsys):
    copy = light(artefacts("classify"), tmp_path / "classify" / "1")
    content = bytearray((copy / "model.keras").read_bytes())
    content[-1] ^= 1
    (copy / "model.keras").write_bytes(content)
    assert cli.main(["export", str(copy), "--out", str(tmp_path)]) == 1
    assert "model.keras is damaged" in capsys.readouterr().err
    assert not (tmp_path / "classify" / "2").exists()


@pytest.mark.slow
def test_what_a_light_artefact_left_out_is_made_again(artefacts):
    manifest = read_manifest(artefacts("generate"))
    files = {name: digest for name, digest in manifest["files"].items() if "int8" not in name}
    left = {"model.beam8.onnx": "0" * 64, "model.int8.onnx": "0" * 64}
    found = Settings.of(manifest | {"files": files, "left_out": left})
    assert (found.beams, found.int8) == ((*Settings.of(manifest).beams, 8), True)
    assert not Settings.of(manifest | {"files": files}).int8


@pytest.mark.release(but="tag")
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["generate", "continue", "tag"])
def test_every_kind_is_exported_again(kind, artefacts, tmp_path):
    path = export_again(light(artefacts(kind), tmp_path / "light"), tmp_path, storage="float16")
    manifest, before = read_manifest(path), read_manifest(artefacts(kind))
    assert manifest["files"].keys() == before["files"].keys() and manifest["onnx"] == before["onnx"]
    check_settings(manifest, before, "float16")
    assert all(onnx.TensorProto.FLOAT16 in dtypes(path / name) for name in manifest["graphs"].values())
    assert manifest["sizes"]["model.keras"] < before["sizes"]["model.keras"] / 2


@pytest.mark.release
@pytest.mark.parametrize("kind", ["generate", "continue"])
def test_in_bytes_all_forms_agree_as_well(kind, artefacts, tmp_path):
    manifest = read_manifest(export_again(light(artefacts(kind), tmp_path / "light"), tmp_path, storage="int8"))
    before = read_manifest(artefacts(kind))
    assert manifest["parity"]["passed"] and manifest["onnx"] == before["onnx"]
    check_settings(manifest, before, "int8")
    path = tmp_path / manifest["name"] / str(manifest["version"])
    for name in manifest["graphs"].values():
        assert any(
            tensor.data_type == onnx.TensorProto.INT8
            for inner in walk(onnx.load(path / name).graph)
            for tensor in inner.initializer
        )
        assert manifest["sizes"][name] < before["sizes"][name]


@pytest.mark.release
@pytest.mark.parametrize("cell", mostly_at_releases(["gru", "lstm", "gru_reset_before"], 1))
def test_recurrent_models_in_float16(cell, tokenizers, tmp_path):
    settings = Settings("any", "test", beams=(4,), max_length=9, texts=TEXTS, storage="float16")
    path = export(make_seq2seq(tokenizers, cell=cell), tokenizers, tmp_path, settings)
    assert read_manifest(path)["parity"]["passed"] and read_manifest(path)["storage"] == "float16"


@pytest.mark.release(but=1)
@pytest.mark.slow
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_a_fresh_process_loads_it_on_each_backend(backend, again, tmp_path):
    done = python("-c", PROGRAM, again / "model.keras", tmp_path / "found.npz", KERAS_BACKEND=backend)
    assert done.stdout.split() == [backend]
    with np.load(tmp_path / "found.npz") as found:
        for values, other in zip(weights(again / "model.keras"), found.values(), strict=True):
            assert other.dtype == np.float32
            np.testing.assert_array_equal(values, other)
