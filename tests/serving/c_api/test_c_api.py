"""A program in C, without Python, loads every exported SavedModel as a server does and answers as Python does."""

import subprocess

import numpy as np
import pytest

from serving.deploy.tf_serving import inputs
from serving.runtime.artefact import read_manifest
from tests.serving.c_api.program import COMPILER, ask, compiled, signatures
from tests.serving.conftest import LABELS, exported_once, make_seq2seq, randomised, settings_of
from tests.shared import made_once

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(COMPILER is None, reason="no C compiler: install gcc to run the SavedModels without Python"),
]
NEAR = 1e-5
STRANGE = [b"the cat sat", b"", b" \xe3\x80\x80 ", b"\xff\xfe", b"a " * 3000, b"x\x00y", "日本 ß 🙂".encode()]


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return made_once(tmp_path_factory, "c-program", compiled) / "saved_model"


def requests(folder):
    """Requests for every signature: in two sizes, and for texts those that are strange, too."""
    manifest, held = read_manifest(folder), signatures(folder)
    tables = [table for table in manifest["signatures"] if table["name"] in held]
    found = [(table["name"], inputs(manifest, table, size)) for table in tables for size in (1, 3)]
    (default,) = (table for table in tables if table["name"] == "serving_default")
    return [*found, ("serving_default", {spec["name"]: np.array(STRANGE, object) for spec in default["inputs"]})]


def in_python(folder, asked):
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  registers the tokenizers' operations

    loaded = tf.saved_model.load(str(folder)).signatures
    for name, values in asked:
        given = {
            key: tf.constant(value.tolist() if value.dtype.kind in "OU" else value) for key, value in values.items()
        }
        yield {key: value.numpy() for key, value in loaded[name](**given).items()}


@pytest.fixture(scope="module")
def further(tokenizers, tmp_path_factory):
    """The path of an artefact of a recurrent translator, and of one of pairs."""
    from serving.export import export
    from zoo.depth import make_star_stack
    from zoo.models import PairClassifier

    def made(kind):
        def make(folder):
            if kind == "recurrent":
                export(make_seq2seq(tokenizers), tokenizers, folder, settings_of("generate", int8=False))
            else:
                model = randomised(PairClassifier(tokenizers[0].vocab_size, len(LABELS), make_star_stack(2, 16, 2)))
                settings = settings_of("compare", int8=False, texts=("the cat\ton the mat", "a mat\ta"))
                export(model, tokenizers[:1], folder, settings)

        return exported_once(tmp_path_factory, f"c-{kind}", make)

    return made


@pytest.mark.release(but="classify")
@pytest.mark.parametrize("kind", ["generate", "continue", "classify", "tag", "recurrent", "compare"])
def test_every_signature_answers_as_in_python(program, artefacts, further, kind, tmp_path):
    folder = further(kind) if kind in ("recurrent", "compare") else artefacts(kind)
    asked = requests(folder)
    assert {name for name, _ in asked} == signatures(folder).keys()
    for (name, _), one, other in zip(
        asked, ask(program, folder, asked, tmp_path), in_python(folder, asked), strict=True
    ):
        assert one.keys() == other.keys()
        for key, value in other.items():
            assert one[key].shape == value.shape, (name, key)
            if value.dtype.kind == "f":
                assert (np.abs(one[key] - value) <= NEAR * np.maximum(1, np.abs(value))).all(), (name, key)
            else:
                assert np.array_equal(one[key], value), (name, key)


def test_what_is_no_saved_model_is_told(program, tmp_path):
    command = [program, tmp_path, tmp_path / "requests", tmp_path / "answers"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "Could not find SavedModel" in done.stderr
