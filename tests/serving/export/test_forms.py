"""Forms are asked and never named: what one answers otherwise is found, and an optional one stands beside the rest."""

import importlib.util
import json
from types import SimpleNamespace

import numpy as np
import pytest

from serving.export import Settings, export, forms
from serving.export.again import verify
from serving.export.forms.base import Form
from serving.export.forms.litert import expand_axes
from serving.export.parity.check import Case, check
from serving.hub.published import choose_files, rewrite_manifest
from serving.runtime.artefact import Artefact, read_manifest
from serving.runtime.errors import ConversionError, ParityError, UnsupportedError
from serving.runtime.sessions import open_graph
from tests.house_rules import ROOT
from tests.pages.blocks import blocks
from tests.serving.conftest import LABELS, TEXTS, make_model, randomised, settings_of, sides
from tests.shared import python
from tools import cli

IDS = {"name": "ids", "dtype": "int32", "shape": ["batch"]}
SUMS = {"name": "sums", "dtype": "float32", "shape": ["batch"]}
MANIFEST = {"signatures": [{"name": "add", "inputs": [IDS], "outputs": [SUMS]}]}
CASES = [Case("add", {"ids": np.array([1, 2], "int32")}, {"sums": np.float32([1.0, 2.0])})]


class Adder(Form):
    """A form that lives in this file alone."""

    name, title, extra, needs, searches = "adder", "Adder", "adders", ("no_such_package",), False
    more, outputs, wrong = 0.0, (("sums", "float32", ["batch"]),), ()

    def __init__(self):
        super().__init__(None, MANIFEST)

    @classmethod
    def write(cls, kind, tokenizers, directory, log):
        (directory / "adder").write_text("1 + 1")

    @staticmethod
    def files(names):
        return [name for name in names if name == "adder"]

    def signatures(self):
        return {"add": {"inputs": [("ids", "int32", ["batch"])], "outputs": list(self.outputs)}}

    def answer(self, name, inputs):
        return {"sums": inputs["ids"].astype("float32") + np.float32(self.more)}

    def faults(self):
        return list(self.wrong)


def list_failures(**changes):
    form = Adder()
    vars(form).update(changes)
    return check(MANIFEST, [form], CASES).failures


def test_the_gate_asks_whatever_form_there_is():
    assert list_failures() == []
    (line,) = list_failures(more=0.01)
    assert line.startswith("Adder add sums in ids [2]: differs by 0.01")
    (line,) = list_failures(outputs=(("sums", "float32", ["rows"]),))
    assert line.startswith("outputs of add in Adder: expected") and "rows" in line
    assert list_failures(wrong=("it would run a program.",)) == ["it would run a program."]
    form = Adder()
    form.signatures = dict
    assert check(MANIFEST, [form], CASES).failures == ["signature add is in none of the forms: Adder."]


def test_forms_are_found_by_their_files_and_written_as_settings_say(monkeypatch):
    files = ["manifest.json", "model.keras", "saved_model.pb", "variables/variables.index", "model.onnx"]
    assert [form.title for form in forms.forms_in(files)] == ["Keras", "SavedModel", "ONNX"]
    assert sum(len(form.files(files)) for form in forms.FORMS) == 4
    versions = {"keras": "3.15.0", "tensorflow": "2.21.0", "tensorflow-text": "2.21.0", "ai-edge-litert": "2.1.0"}
    needs = [form.find_requirements({"versions": versions, "onnx": {}}) for form in forms.FORMS if form.name != "onnx"]
    assert needs == [{name: versions[name]} for name in ("keras", "tensorflow", "ai-edge-litert")]
    monkeypatch.setattr(forms, "FORMS", [*forms.FORMS, Adder])
    monkeypatch.setattr(forms, "OPTIONAL", forms.OPTIONAL | {"adder": Adder})
    written = forms.forms_to_write(SimpleNamespace(forms=("adder",)))
    assert forms.titles(written) == "Keras, SavedModel, ONNX and Adder"
    assert Adder not in forms.forms_to_write(SimpleNamespace(forms=()))
    with pytest.raises(UnsupportedError, match=r"Adder needs no_such_package, .*pip install 'seqzoo\[adders\]'"):
        Settings("a", "b", forms=("adder",))
    with pytest.raises(ValueError, match="expected some of .*, received other.*Every artefact has Keras, SavedModel"):
        Settings("a", "b", forms=("other",))
    with pytest.raises(ValueError, match="is that of a folder, .*; received '[.][.]'"):
        Settings("..", "b")


def test_a_form_that_cannot_search_refuses_a_model_that_searches(models, tokenizers, tmp_path, monkeypatch):
    monkeypatch.setattr(forms.OPTIONAL["litert"], "check_installed", lambda: None)
    with pytest.raises(ValueError, match="LiteRT cannot hold a model of the task 'test', .* a search"):
        export(models["generate"], tokenizers, tmp_path, settings_of("generate", forms=("litert",)))
    assert not list(tmp_path.rglob("*.keras"))


def test_what_is_not_installed_is_told_before_anything_is_read(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    (tmp_path / "recipe.toml").touch()
    monkeypatch.setattr("tools.export._prepare_run", lambda *_: (None, "a", lambda: None))
    assert cli.main(["export", str(tmp_path), "--form", "litert"]) == 1
    assert "pip install 'seqzoo[litert]'" in capsys.readouterr().err


@pytest.fixture(scope="module")
def made(models, tokenizers, tmp_path_factory):
    def artefact(kind):
        home = tmp_path_factory.mktemp("litert")
        return export(models[kind], sides(kind, tokenizers), home, settings_of(kind, forms=("litert",), int8=False))

    return artefact


MORE = """
import json, sys

found = [
    runner(token_ids=np.array(ids, "int32"), lengths=np.array(lengths, "int32"))["probabilities"].tolist()
    for ids, lengths in json.load(sys.stdin)
]
assert "tensorflow" not in sys.modules and "zoo" not in sys.modules
print(json.dumps(found))
"""
(BLOCK,) = blocks(ROOT / "docs" / "artefacts.md", "py")
BATCHES = (([[5, 6, 7]], [3]), ([[5, 6, 7, 8], [9, 4, 0, 0]], [4, 2]), ([[4]], [1]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classify", "tag"])
def test_litert_answers_as_onnx_does(made, kind):
    """In a process that has the runtime of LiteRT alone."""
    artefact = made(kind)
    manifest = read_manifest(artefact)
    assert manifest["forms"] == {"litert": {kind: "model.tflite"}} and "ai-edge-litert" in manifest["versions"]
    assert f"LiteRT {kind} probabilities" in manifest["parity"]["largest"]
    assert "Keras, SavedModel, ONNX and LiteRT agree" in (artefact / "card.md").read_text()
    code = BLOCK.text.replace("artefacts/reviews/1", str(artefact)).replace('"classify"', repr(kind)) + MORE
    done = python("-c", code, given=json.dumps(BATCHES), cwd=ROOT.anchor, PYTHONPATH="")
    session = open_graph(artefact / "model.onnx")
    for (ids, lengths), found in zip(BATCHES, json.loads(done.stdout.splitlines()[-1]), strict=True):
        (expected,) = session.run(None, {"token_ids": np.array(ids, "int32"), "lengths": np.array(lengths, "int32")})
        np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.slow
def test_an_optional_form_is_verified_made_again_and_left_out_of_a_light_artefact(made, tmp_path):
    artefact = made("classify")
    assert "LiteRT classify probabilities" in verify(artefact)["largest"]
    manifest = read_manifest(artefact)
    assert Settings.of(manifest).forms == ("litert",)
    kept = choose_files(manifest, "float32")
    assert "model.tflite" not in kept and {"model.keras", "model.onnx"} <= set(kept)
    light = json.loads(rewrite_manifest(manifest, {name: Artefact(artefact).read(name) for name in kept}))
    assert "forms" not in light and "model.tflite" in light["left_out"]
    assert [table["name"] for table in light["signatures"]] == ["classify"]


@pytest.mark.release
def test_a_form_that_answers_otherwise_is_found(made, tokenizers, tmp_path, monkeypatch):
    """The file of another model of the same shape."""
    artefact = made("classify")
    other = export(
        randomised(make_model("classify", tokenizers), 5),
        tokenizers[:1],
        tmp_path,
        settings_of("classify", forms=("litert",), int8=False),
    )
    (artefact / "model.tflite").write_bytes((other / "model.tflite").read_bytes())
    manifest = json.loads((artefact / "manifest.json").read_text())
    monkeypatch.setattr("serving.export.again.check_files", lambda *_: [])
    assert manifest["labels"] == list(LABELS) and manifest["texts"] == list(TEXTS)
    with pytest.raises(ParityError, match="LiteRT classify probabilities"):
        verify(artefact)


AXES = [
    lambda x: x[:, None],
    lambda x: x[None, :, None, :, None],
    lambda x: x[..., None, :],
    lambda x: x[:, None, ..., None, :],
    lambda x: x[:, 1, None],
    lambda x: x[..., 2, None],
    lambda x: x[None, ..., 0],
    lambda x: x[:, 1::2, None, ::-1],
]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("cut", AXES)
def test_new_axes_are_where_numpy_has_them(cut, tmp_path):
    """Of arrays two of whose axes have no fixed length."""
    import tensorflow as tf
    from ai_edge_litert.interpreter import Interpreter

    module = tf.Module()
    spec = tf.TensorSpec((None, None, 3), tf.float32, "x")
    module.cut = tf.function(lambda x: {"y": cut(x) + 1.0}, input_signature=[spec], autograph=False)
    tf.saved_model.save(module, str(tmp_path), signatures={"cut": module.cut})
    expand_axes(tmp_path / "saved_model.pb")
    content = tf.lite.TFLiteConverter.from_saved_model(str(tmp_path)).convert()
    x = np.arange(2 * 5 * 3, dtype="float32").reshape(2, 5, 3)
    found = Interpreter(model_content=content).get_signature_runner("cut")(x=x)["y"]
    np.testing.assert_array_equal(found, cut(x) + 1)


@pytest.mark.slow
def test_a_layer_without_a_litert_form_is_told(tokenizers, tmp_path):
    from zoo import models
    from zoo.recurrent import RecurrentEncoder, RecurrentReader

    model = models.Classifier(tokenizers[0].vocab_size, len(LABELS), RecurrentReader(RecurrentEncoder(8)))
    randomised(model)
    with pytest.raises(ConversionError, match="Classifier has no LiteRT form: .* Leave --form litert out"):
        export(model, tokenizers[:1], tmp_path, settings_of("classify", forms=("litert",), int8=False))
    assert not list(tmp_path.rglob("*.tflite"))
