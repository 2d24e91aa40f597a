"""One server of every kind of artefact, asked over every protocol: its answers are those of `Runtime`."""

import base64
import json
import time

import grpc
import numpy as np
import pytest

from serving.runtime import Sampling
from serving.server.messages import pb
from serving.server.tensors import Tensor, from_raw, raw_bytes
from tests.serving.server.conftest import KINDS

pytestmark = pytest.mark.xdist_group("server")
NO_UTF8 = "not UTF-8: the byte 0xff at character 1"
TEXTS = ["abc", "", "日本 ab", "a\ud800", "h" * 20_000, "12 ab\ncd", "\tab", "ß"]


def message(model, raw=False, **inputs):
    """A ModelInferRequest of columns of texts."""
    request = pb.ModelInferRequest(model_name=model, id="me")
    for name, texts in inputs.items():
        made = request.inputs.add(name=name, datatype="BYTES", shape=[len(texts)])
        content = [text.encode("utf-8", "surrogateescape") for text in texts]
        if raw:
            request.raw_input_contents.append(raw_bytes(Tensor(name, "BYTES", (len(texts),), texts)))
        else:
            made.contents.bytes_contents.extend(content)
    return request


def test_metadata(server):
    assert server.ask("GET", "/v2/health/live")[0] == server.ask("GET", "/v2/health/ready")[0] == 200
    assert server.ask("GET", "/v2/models")[2] == {"models": sorted(KINDS)}
    assert server.ask("GET", "/v2")[2]["extensions"] == ["binary_tensor_data"]
    found = server.ask("GET", "/v2/models/compare")[2]
    assert [each["name"] for each in found["inputs"]] == ["first_text", "second_text"] and found["versions"] == ["7"]
    assert server.ask("GET", "/v2/models/tag/versions/7/ready")[2] == {"name": "tag", "ready": True}
    status = server.ask("GET", "/v1/models/generate")[2]["model_version_status"]
    assert [(each["version"], each["state"]) for each in status] == [("7", "AVAILABLE")]
    tables = server.ask("GET", "/v1/models/generate/metadata")[2]["metadata"]["signature_def"]["signature_def"]
    assert sorted(tables) == ["greedy", "sample", "serving_default", "tokens"]
    assert tables["tokens"]["inputs"]["token_ids"]["dtype"] == "DT_INT32"


def test_sentences_of_a_text_are_run_by_themselves(server, runtimes):
    texts = ["Abc ab. Ba cd!\n\n- 12 ab", "ab", "", f"Cd ba! {'H' * 20_000}! Cd."]
    found, expected = server.infer("generate", *texts, sentences=True), runtimes["generate"].run(texts, sentences=True)
    assert found["output_text"] == [result.text for result in expected] and found["output_text"][0].count("\n") == 2
    assert found["errors"] == [result.error or "" for result in expected] and found["errors"][3].startswith(
        "sentence 2"
    )
    body = {"inputs": [{"name": "text", "datatype": "BYTES", "shape": [1], "data": ["a"]}]}
    assert server.infer("generate", "<ul>", sentences=True)["output_text"] == ["<ul>"]
    wrong = {"parameters": {"sentences": True, "n_best": 2}}
    assert "has one answer" in server.ask("POST", "/v2/models/generate/infer", body | wrong)[2]["error"]
    only = server.ask("POST", "/v2/models/continue/infer", body | {"parameters": {"sentences": True}})[2]["error"]
    assert "does not know the parameter 'sentences'" in only
    many = {"inputs": [{"name": "text", "datatype": "BYTES", "shape": [1], "data": ["Ab. " * 4097]}]}
    status, _, value = server.ask("POST", "/v2/models/generate/infer", many | {"parameters": {"sentences": True}})
    assert (status, value["error"]) == (413, "a request may have 4096 sentences; received 4097. Send them in parts.")


@pytest.mark.parametrize("kind", ["generate", "continue", "classify", "tag", "embed"])
def test_texts_are_answered_as_by_the_runtime(server, runtimes, kind):
    """Good texts and bad ones in one request: a bad one costs no other its answer."""
    found, expected = server.infer(kind, *TEXTS), runtimes[kind].run(TEXTS)
    assert found["errors"] == [result.error or "" for result in expected]
    assert found["warnings"] == [result.warning or "" for result in expected]
    assert any(found["errors"]) and not all(found["errors"])
    if kind == "embed":
        rows = np.reshape(found["vector"], (len(TEXTS), 3)).tolist()
        assert rows == [list(result.vector) or [0.0] * 3 for result in expected]
        return
    if kind == "tag":
        width = max(len(result.words) for result in expected)
        rows = np.reshape(found["tags"], (len(TEXTS), width)).tolist()
        assert [row[: len(result.words)] for row, result in zip(rows, expected, strict=True)] == [
            r.answer for r in expected
        ]
        assert found["word_counts"] == [len(result.words) for result in expected]
        assert found["starts"][:1] == [0] and found["ends"][:1] == [3]
        assert found["entity_counts"] == [0] * len(TEXTS) and not found["entity_types"]  # its tags spell none
        return
    name = "label" if kind == "classify" else "output_text"
    assert found[name] == [result.answer for result in expected]
    scores = [result.probability if kind == "classify" else result.score for result in expected]
    np.testing.assert_allclose(found["scores"], scores, rtol=1e-6)
    if kind == "classify":
        rows = np.reshape(found["probabilities"], (len(TEXTS), 3))
        assert rows[0].argmax() == ["null", "eins", "zwei"].index(found["label"][0])


def test_pairs(server, runtimes):
    """Two inputs, in which a TAB is a character like others; or lines, as on the command line."""
    first, second = ["abc", "", "a\ud800", "a\tb"], ["ab", "", "a", "b"]
    rows = [{"first_text": a, "second_text": b} for a, b in zip(first, second, strict=True)]
    status, _, value = server.ask("POST", "/v1/models/compare:predict", {"instances": rows})
    expected = runtimes["compare"].run(list(zip(first, second, strict=True)))
    assert status == 200 and [row["label"] for row in value["predictions"]] == [result.label for result in expected]
    assert [row["errors"] for row in value["predictions"]] == [
        "",
        "",
        "first text: not UTF-8: the lone surrogate U+D800 at character 2",
        "",
    ]
    found, lines = server.infer("compare", "abc\tab", "abc"), runtimes["compare"].run(["abc\tab", "abc"])
    assert found["label"] == [expected[0].label, ""] and found["errors"][1] == lines[1].error


@pytest.mark.parametrize("by", ["instances", "inputs"])
def test_pairs_as_lines_over_tensorflow_servings_rest(server, runtimes, by):
    lines = ["abc\tab", "abc", "a\tb\tc"]
    body = {"instances": [{"text": line} for line in lines]} if by == "instances" else {"inputs": {"text": lines}}
    status, _, value = server.ask("POST", "/v1/models/compare:predict", body)
    assert status == 200
    found = value["predictions"] if by == "instances" else value["outputs"]
    if by == "instances":
        found = {name: [row[name] for row in found] for name in found[0]}
    expected = runtimes["compare"].run(lines)
    assert found["label"] == [each.label for each in expected] and found["label"][0]
    assert found["errors"] == [each.error or "" for each in expected] and found["errors"][1] and found["errors"][2]


def test_a_tuple_of_other_than_two_texts_is_no_pair(runtimes):
    texts = [("a", "b", "c"), ("abc", "ab"), ("a",), ()]
    assert runtimes["compare"].run(texts) == runtimes["compare"].run(["\t".join(text) for text in texts])


def test_the_cost_of_a_text_of_tabs_is_known_at_once(runtimes):
    """It is asked in the event loop, where 8 MiB of TABs once took 90 seconds."""
    started = time.thread_time()
    assert runtimes["compare"].lengths(["a\t" + "\t" * (1 << 20), "abc\tab", ("a\tb", "")]) == [2, 4, 4]
    assert time.thread_time() - started < 1


def test_one_side_of_a_pair_beside_a_line(server):
    body = {"instances": [{"text": "a\tb", "first_text": "a"}]}
    status, _, value = server.ask("POST", "/v1/models/compare:predict", body)
    assert status == 400 and "misses the input 'second_text'" in value["error"]


@pytest.mark.parametrize("raw", [False, True], ids=["contents", "raw"])
def test_grpc(call, raw):
    texts = ["abc", "a\udcff", ""]
    request = message("generate", raw, text=texts)
    request.parameters["n_best"].int64_param = 2
    answer = call("ModelInfer", request, pb.ModelInferResponse)
    assert (answer.id, answer.model_name, answer.model_version) == ("me", "generate", "7")
    assert bool(answer.raw_output_contents) == raw
    names = [each.name for each in answer.outputs]
    assert names == ["output_text", "scores", "errors", "warnings"] and list(answer.outputs[0].shape) == [3, 2]
    if raw:
        found = from_raw("", "BYTES", [3, 2], answer.raw_output_contents[0]).data
        scores = np.frombuffer(answer.raw_output_contents[1], "<f4")
    else:
        found = [each.decode() for each in answer.outputs[0].contents.bytes_contents]
        scores = np.array(answer.outputs[1].contents.fp32_contents)
    assert found == ["abc", "ab", "", "", "", ""]
    assert scores.tolist() == [-0.5, -1.5, 0, -1e9, 0, -1e9]


def test_grpc_says_what_is_wrong(call):
    for request, code, said in (
        (message("nobody", text=["a"]), "NOT_FOUND", "no model 'nobody' here; this server has classify"),
        (
            message("generate", texts=["a"]),
            "INVALID_ARGUMENT",
            "does not know the input 'texts'|misses the input 'text'",
        ),
        (pb.ModelInferRequest(model_name="generate", id="x" * 1001), "INVALID_ARGUMENT", "of at most 1000 characters"),
        (b"nonsense", "INVALID_ARGUMENT", "not a ModelInferRequest"),
        (pb.ModelInferRequest(model_name="generate"), "INVALID_ARGUMENT", "misses the input 'text'"),
        (pb.ModelInferRequest(model_name="generate", model_version="6"), "NOT_FOUND", "answers as version 7 now"),
    ):
        with pytest.raises(grpc.RpcError) as caught:
            call("ModelInfer", request, pb.ModelInferResponse)
        assert caught.value.code().name == code
        assert any(part in caught.value.details() for part in said.split("|"))


def test_outputs_are_known_before_anything_is_computed(server, call):
    before = server.metric('seqzoo_texts_total{model="generate"')
    wrong = server.metric('seqzoo_requests_total{model="generate",outcome="invalid",protocol="v2-grpc"')
    request = message("generate", text=["a"])
    request.outputs.add(name="label")
    with pytest.raises(grpc.RpcError, match="no output 'label'; this signature has output_text, scores"):
        call("ModelInfer", request, pb.ModelInferResponse)
    assert server.metric('seqzoo_texts_total{model="generate"') == before
    assert server.metric('seqzoo_requests_total{model="generate",outcome="invalid",protocol="v2-grpc"') == wrong + 1


def test_an_output_that_is_asked_twice_is_sent_once(call):
    request = message("generate", text=["a"])
    for _ in range(3):
        request.outputs.add(name="scores")
    assert [each.name for each in call("ModelInfer", request, pb.ModelInferResponse).outputs] == ["scores"]


def test_binary_tensors_over_http(server):
    texts = ["abc", "a\udcff"]
    raw = raw_bytes(Tensor("text", "BYTES", (2,), texts))
    head = {
        "inputs": [{"name": "text", "datatype": "BYTES", "shape": [2, 1], "parameters": {"binary_data_size": len(raw)}}]
    }
    head["outputs"] = [{"name": "scores"}, {"name": "output_text", "parameters": {"binary_data": True}}]
    content = json.dumps(head).encode()
    size = {"Inference-Header-Content-Length": str(len(content))}
    status, headers, body = server.ask("POST", "/v2/models/generate/infer", content + raw, size)
    said = json.loads(body[: int(headers["inference-header-content-length"])])
    assert status == 200 and said["outputs"][0] == {
        "name": "scores",
        "shape": [2],
        "datatype": "FP32",
        "data": [-0.5, 0.0],
    }
    left = body[int(headers["inference-header-content-length"]) :]
    assert said["outputs"][1]["parameters"]["binary_data_size"] == len(left)
    assert from_raw("", "BYTES", [2], left).data == ["abc", ""]
    for wrong in ("7", "-1", "x", str(len(content) + 1)):
        assert (
            server.ask(
                "POST", "/v2/models/generate/infer", content + raw, {**size, "Inference-Header-Content-Length": wrong}
            )[0]
            == 400
        )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"instances": ["abc", {"b64": base64.b64encode(b"ab").decode()}]}, [("abc", ""), ("ab", "")]),
        ({"instances": [{"text": "abc"}, {"text": {"b64": "/w=="}}]}, [("abc", ""), ("", NO_UTF8)]),
        ({"signature_name": "serving_default", "instances": [{"text": "a"}]}, [("a", "")]),
    ],
    ids=["plain", "objects", "named"],
)  # fmt: skip
def test_tensorflow_servings_rest_by_rows(server, body, expected):
    status, _, value = server.ask("POST", "/v1/models/generate/versions/7:predict", body)
    assert status == 200
    assert [(row["output_text"], row["errors"]) for row in value["predictions"]] == expected
    assert value["predictions"][0].keys() == {"output_text", "scores", "errors", "warnings"}


@pytest.mark.parametrize("inputs", [["abc", "b"], {"text": ["abc", "b"]}], ids=["plain", "named"])
def test_tensorflow_servings_rest_by_columns(server, inputs):
    status, _, value = server.ask("POST", "/v1/models/generate:predict", {"inputs": inputs})
    assert (
        status == 200 and value["outputs"]["output_text"] == ["abc", "b"] and value["outputs"]["scores"] == [-0.5, -0.5]
    )


def test_ids_in_and_out(server):
    """By the manifest's own signature; ids of two requests may share a batch, and padding never shows."""
    ids = {"token_ids": [[5, 6, 3], [7, 3, 0]], "lengths": [3, 2]}
    status, _, value = server.ask("POST", "/v1/models/generate:predict", {"signature_name": "tokens", "inputs": ids})
    assert status == 200 and np.shape(value["outputs"]["output_ids"]) == (2, 4, 3)
    assert value["outputs"]["output_lengths"] == [[2, 1, 0, 0], [1, 0, 0, 0]]
    rows = [{"token_ids": [5, 6, 3], "lengths": 3}]
    found = server.ask("POST", "/v1/models/tag:predict", {"signature_name": "tag", "instances": rows})[2]["predictions"]
    assert np.argmax(found[0], axis=-1).tolist() == [2, 0, 0]  # one output stands without its name
    inputs = [
        {"name": "token_ids", "datatype": "INT64", "shape": [1, 2], "data": [5, 3]},
        {"name": "lengths", "datatype": "INT32", "shape": [1], "data": [2]},
    ]
    body = {"inputs": inputs, "parameters": {"signature": "greedy"}, "outputs": [{"name": "output_lengths"}]}
    assert server.ask("POST", "/v2/models/generate/infer", body)[2]["outputs"][0]["data"] == [1]


def test_sampling_is_that_of_the_runtime(server, runtimes):
    """Its numbers depend on the seed and on the place in the request, not on who else is in the batch."""
    texts, settings = ["ab", "c", "日本"], {"temperature": 0.5, "top_k": 3, "seed": 9}
    found = server.infer("continue", *texts, sample=True, length=3, n_best=2, **settings)
    expected = runtimes["continue"].run(texts, sampling=Sampling(**settings), length=3, n_best=2)
    assert np.reshape(found["output_text"], (3, 2)).tolist() == [[each.text for each in r.hypotheses] for r in expected]
    np.testing.assert_allclose(found["scores"], [each.score for r in expected for each in r.hypotheses], rtol=1e-6)


def test_deadlines(server):
    body = {"instances": ["a"]}
    assert server.ask("POST", "/v1/models/generate:predict", body, {"Request-Timeout": "10"})[0] == 200
    for wrong in ("soon", "0", "-1", "nan", "inf"):
        status, _, value = server.ask("POST", "/v1/models/generate:predict", body, {"Request-Timeout": wrong})
        assert status == 400 and "a number of seconds, more than 0" in value["error"]


def test_what_is_counted_and_what_is_never_logged(server):
    before = server.metric('seqzoo_texts_total{model="generate"')
    server.infer("generate", "a b c a secret", "ab")
    assert server.metric('seqzoo_texts_total{model="generate"') == before + 2
    assert server.metric('seqzoo_requests_total{model="generate",outcome="invalid"') > 0
    assert server.metric('seqzoo_model_loaded{model="generate",version="7"}') == 1
    assert "secret" not in json.dumps(server.events)
