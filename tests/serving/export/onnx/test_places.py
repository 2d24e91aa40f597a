"""An operation without an ONNX form is named with its file and line, also in a loop and in an installed package."""

import importlib

import pytest
from keras import ops

from serving.export.onnx.convert import convert
from serving.runtime.errors import ConversionError
from zoo.core.signatures import Signature, TensorSpec

SIGNATURE = Signature("layer", (TensorSpec("x", "float32", ("batch", 3)),), (TensorSpec("y", "float32", ("batch", 3)),))


def refusal(function):
    with pytest.raises(ConversionError) as refused:
        convert(function, SIGNATURE)
    return str(refused.value)


def test_in_a_loop():
    def thrice(x):
        def body(index, y):
            return index + 1, ops.expm1(y)

        return {"y": ops.while_loop(lambda index, y: index < 3, body, (0, x))[1]}

    assert f"received Expm1 ({__file__}:" in refusal(thrice) and "'return index + 1, ops.expm1(y)')" in refusal(thrice)


def test_in_an_installed_package(tmp_path, monkeypatch):
    folder = tmp_path / "lib" / "python3.11" / "site-packages"
    folder.mkdir(parents=True)
    (folder / "zoo_installed.py").write_text("from keras import ops\n\ndef f(x):\n    return ops.expm1(x)\n", "utf-8")
    monkeypatch.syspath_prepend(folder)
    installed = importlib.import_module("zoo_installed")
    assert f"({folder}/zoo_installed.py:4, 'return ops.expm1(x)')" in refusal(lambda x: {"y": installed.f(x)})
