"""Requests that are wrong: a status and a sentence, and the server goes on."""

import pytest

pytestmark = pytest.mark.xdist_group("server")
NONE = {"inputs": [{"name": "text", "datatype": "BYTES", "shape": [0], "data": []}]}
INFER, PREDICT = "/v2/models/generate/infer", "/v1/models/generate:predict"


def tokens(ids, *lengths):
    return {"signature_name": "tokens", "inputs": {"token_ids": ids, "lengths": list(lengths)}}


@pytest.mark.parametrize(
    ("model", "parameters", "message"),
    [
        ("generate", {"beam": 7}, "no graph for beam 7"),
        ("generate", {"n_best": 5}, "between 1 and the beam width 4; received 5"),
        ("generate", {"n_best": 0}, "received 0"),
        ("generate", {"length": 3}, "does not know the parameter 'length'; it takes beam, n_best, sentences, sample"),
        ("generate", {"seed": 3}, "seed is about sampling"),
        ("generate", {"sample": True, "top_p": 1.5}, "top_p must be a number > 0 and <= 1; received 1.5"),
        ("generate", {"sample": True, "temperature": "hot"}, "temperature must be a number; received 'hot'"),
        ("generate", {"sample": True, "temperature": "inf"}, "a number from 0 to 3.4e38; received inf"),
        ("generate", {"sample": True, "temperature": 1e39}, "a number from 0 to 3.4e38; received 1e+39"),
        ("generate", {"sample": True, "temperature": 10**400}, "temperature must be a number; received 0x"),
        ("generate", {"sample": True, "top_k": 2**31}, "top_k must be a whole number from 0 (takes all) to 2147483647"),
        ("generate", {"sample": 3}, "sample must be true or false; received 3"),
        ("generate", {"sample": True, "n_best": 999}, "n_best must be at most 128; received 999"),
        ("continue", {"length": 10**6}, "length must be at most 4096"),
        ("generate", {"no_repeat_ngram_size": 17}, "_ngram_size must be a whole number from 0 to 16; received 17"),
        ("generate", {"repetition_penalty": "dear"}, "repetition_penalty must be a number; received 'dear'"),
        ("generate", {"bad_words": 3}, "bad_words must be a string or a list of strings; received 3"),
        ("generate", {"bad_words": ["a", 3]}, "bad_words must be a string or a list of strings; received a list"),
        ("generate", {"prefix": True}, "the parameter prefix must be a string; received True"),
        ("classify", {"beam": 1}, "does not know the parameter 'beam'; it takes none"),
        ("generate", {"signature": "step"}, "no signature 'step'; it has serving_default, greedy, tokens"),
        ("generate", {"signature": 3}, "signature must be a string; received 3"),
    ],
)  # fmt: skip
def test_wrong_parameters(server, model, parameters, message):
    body = {"inputs": [{"name": "text", "datatype": "BYTES", "shape": [1], "data": ["a"]}], "parameters": parameters}
    status, _, value = server.ask("POST", f"/v2/models/{model}/infer", body)
    assert status == 400 and message in value["error"]


@pytest.mark.parametrize("parameters", [{"length": 4096}, {"sample": True, "n_best": 128, "length": 80}])
def test_what_would_be_written_for_long_is_bounded(server, parameters):
    inputs = [{"name": "text", "datatype": "BYTES", "shape": [9], "data": ["a"] * 9}]
    body = {"inputs": inputs, "parameters": parameters}
    status, _, value = server.ask("POST", "/v2/models/continue/infer", body)
    assert status == 413 and "32,768 tokens written by several runs" in value["error"]


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        (INFER, b"nonsense", 400, "must be a JSON object"),
        (INFER, {}, 400, '"inputs"'),
        (INFER, {"inputs": [3]}, 400, "must be an object; received 3"),
        ("/v2/models/nobody/infer", NONE, 404, "no model"),
        ("/v2/models/generate/versions/6/infer", NONE, 404, "version 7"),
        (PREDICT, {"instances": "a"}, 400, "a list of at least one row"),
        (PREDICT, {"instances": []}, 400, "a list of at least one row"),
        (PREDICT, {"instances": ["a"], "inputs": ["a"]}, 400, 'either "instances"'),
        (PREDICT, {"instances": [{"text": "a"}, "b"]}, 400, "instance 1 is not"),
        (PREDICT, {"instances": [{"b64": "?"}]}, 400, "is not base64"),
        (PREDICT, {"instances": [["a", "b"]]}, 400, "shape [batch] or [batch, 1]"),
        (PREDICT, {"instances": ["a"] * 41}, 413, "may have 40 texts; received 41"),
        (PREDICT, b" " * 50_001, 413, "more than 50000 bytes"),
        (PREDICT, tokens([[5]], 2), 400, "between 1 and 1"),
        (PREDICT, tokens([[99]], 1), 400, "received 99"),
        (PREDICT, tokens([[1, 2], [3]], 1, 1), 400, "different lengths"),
        (PREDICT, tokens([[1] * 1025], 1), 400, "at most 1024 tokens"),
        (PREDICT, {"signature_name": "tokens", "inputs": {"token_ids": [[1]]}}, 400, "misses the input 'lengths'"),
        ("/v1/models/compare:predict", {"instances": ["a"]}, 400, "give each by its name"),
        (INFER, NONE | {"id": "\ud800"}, 400, "'id' must be Unicode of at most 1000 characters; received '\\ud800'"),
        (INFER, NONE | {"id": "x" * 1001}, 400, "'id' must be Unicode of at most 1000 characters; received 'xxx"),
        (INFER, NONE | {"outputs": [{"name": "label"}]}, 400, "no output 'label'; this signature has output_text"),
        ("/v9", {}, 404, "nothing at '/v9'"),
        ("/v2/health/ready", {}, 405, "does not answer POST"),
    ],
)  # fmt: skip
def test_wrong_requests(server, path, body, status, message):
    found, _, value = server.ask("POST", path, body)
    assert found == status and message in value["error"]


@pytest.mark.parametrize("path", [INFER, PREDICT, "/v2/models/a/versions/1/infer", "/v1/models/a/versions/1:predict"])
def test_a_question_without_a_body_is_told_that_it_must_be_sent(server, path):
    """As `curl` asks without `-d`: such a path is no name of a model."""
    for method in ("GET", "OPTIONS", "PUT"):
        status, headers, value = server.ask(method, path)
        assert (status, headers["allow"]) == (405, "POST")
        assert value["error"] == f"'{path}' does not answer {method}, but POST."


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_nobody_is_sent_elsewhere(server, method):
    """The server does not know by which scheme its callers reach a proxy before it."""
    status, headers, value = server.ask(method, "/v2/models/", b"{}" if method == "POST" else None)
    assert status == 404 and "location" not in headers and value["error"] == "there is nothing at '/v2/models/'."


@pytest.mark.parametrize(("headers", "status"), [({}, 413), ({"Content-Encoding": "br"}, 415)], ids=["large", "br"])
def test_who_sends_all_of_a_body_that_is_refused_is_told_why(server, headers, status):
    """A connection that is closed on bytes that nobody has read is reset, and the answer is lost."""
    for _ in range(5):
        found, answered, value = server.ask("POST", PREDICT, b" " * 1_500_000, headers)
        assert found == status and "the body" in value["error"]
        assert (answered.get("connection") == "close") == (status == 413)
