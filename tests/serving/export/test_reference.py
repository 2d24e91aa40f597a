"""The exported graphs on `onnx.reference`, which is not ONNX Runtime; and what a manifest says of each graph."""

import numpy as np
import onnx
import onnxruntime
import pytest

from serving.export.onnx.convert import convert, load
from serving.export.onnx.graphs import requirements
from serving.export.signatures import driver
from serving.runtime.artefact import read_manifest
from tests.serving.conftest import MAX_LENGTH, make_seq2seq
from tests.serving.reference import custom_operators, evaluate

ATTENTION = "com.microsoft::MultiHeadAttention"


def source(names, batch, time, short):
    rng = np.random.default_rng(batch * time)
    lengths = rng.integers(1, time + 1, batch) if short else np.full(batch, time)
    ids = np.where(np.arange(time) < lengths[:, None], rng.integers(4, 16, (batch, time)), 0)
    inputs = {"token_ids": ids.astype("int32"), "lengths": lengths.astype("int32")}
    if "uniforms" in names:
        inputs["uniforms"] = rng.random((batch, 1, MAX_LENGTH)).astype("float32")
        inputs |= {name: np.full(batch, 0.9, "float32") for name in ("temperature", "top_p")}
        inputs["top_k"] = np.full(batch, 3, "int32")
    return inputs


def compare(model, session, short):
    names = [node.name for node in session.get_inputs()]
    for batch, time in ((1, 1), (3, 5)):
        inputs = source(names, batch, time, short)
        expected = dict(zip([node.name for node in session.get_outputs()], session.run(None, inputs), strict=True))
        for name, received in evaluate(model, inputs).items():
            np.testing.assert_allclose(received, expected[name], atol=1e-5, err_msg=name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "file"), [("continue", "sample.onnx"), ("continue", "score.onnx"), ("tag", "model.onnx")]
)
def test_graphs_of_transformers_run_where_attention_is_numpy(artefacts, kind, file):
    """Generation with its loop and cache, scoring and tagging, in padded batches."""
    path = artefacts(kind) / file
    model = onnx.load(path)
    assert custom_operators(model) == {ATTENTION}
    compare(model, onnxruntime.InferenceSession(path), short=True)


@pytest.mark.slow
@pytest.mark.parametrize("file", ["encoder.onnx", "greedy.onnx", "model.onnx"])
def test_beam_search_runs_there_too(artefacts, file):
    path = artefacts("generate") / file
    compare(onnx.load(path), onnxruntime.InferenceSession(path), short=True)


@pytest.mark.slow(but=("lstm", "simple_rnn"))
@pytest.mark.parametrize("cell", ["gru", "lstm", "simple_rnn"])
def test_recurrent_graphs_need_no_custom_operator(tokenizers, cell):
    """`onnx.reference` ignores the lengths of recurrent operators: full rows."""
    signature, function = driver(make_seq2seq(tokenizers, cell=cell, attention="additive"))["encode"]
    model = convert(function, signature)
    assert requirements(model) == {"opset": 18, "operators": [], "onnxruntime": "1.20"}
    compare(model, load(model), short=False)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["continue", "tag"])
def test_the_manifest_lists_what_each_graph_needs(artefacts, kind):
    manifest = read_manifest(artefacts(kind))
    graphs = {path.name for path in artefacts(kind).glob("*.onnx")}
    assert manifest["format"] == 2 and set(manifest["onnx"]) == graphs
    for name, facts in manifest["onnx"].items():
        model = onnx.load(artefacts(kind) / name)
        assert facts["opset"] == next(each.version for each in model.opset_import if each.domain == "")
        assert set(facts["operators"]) == custom_operators(model)
        assert facts["onnxruntime"] == ("1.21" if ATTENTION in facts["operators"] else "1.20")
        assert any("MatMulIntegerToFloat" in operator for operator in facts["operators"]) == (".int8." in name)
    (ids, lengths) = next(table for table in manifest["signatures"] if table["name"] != "serving_default")["inputs"][:2]
    assert (ids["minimum"], ids["maximum"]) == (0, manifest["vocabulary"]["source"] - 1)
    assert (lengths["minimum"], lengths["maximum"]) == (0 if kind == "continue" else 1, "time")
    assert set(manifest["sizes"]) == set(manifest["files"])


def attend(bias, padding):
    """One MultiHeadAttention with the masks that are asked for, as a model."""
    value = onnx.helper.make_tensor_value_info
    inputs = [value(name, onnx.TensorProto.FLOAT, ["batch", "time", 8]) for name in "qkv"]
    names = [*"qkv", "", "padding" if padding else "", "bias" if bias else ""]
    if padding:
        inputs.append(value("padding", onnx.TensorProto.INT32, ["batch", "time"]))
    if bias:
        inputs.append(value("bias", onnx.TensorProto.FLOAT, ["batch", 1, "time", "time"]))
    node = onnx.helper.make_node("MultiHeadAttention", names, ["y"], domain="com.microsoft", num_heads=2)
    output = value("y", onnx.TensorProto.FLOAT, ["batch", "time", 8])
    opsets = [onnx.helper.make_opsetid("", 18), onnx.helper.make_opsetid("com.microsoft", 1)]
    return onnx.helper.make_model(onnx.helper.make_graph([node], "g", inputs, [output]), opset_imports=opsets)


@pytest.mark.parametrize(
    ("bias", "padding", "oldest"), [(0, 0, "1.20"), (1, 0, "1.21"), (0, 1, "1.21"), (1, 1, "1.21")]
)
def test_a_mask_is_what_asks_for_a_newer_onnxruntime(bias, padding, oldest):
    assert requirements(attend(bias, padding)) == {"opset": 18, "operators": [ATTENTION], "onnxruntime": oldest}
