"""kserve's own client over HTTP, with tensors as JSON and as bytes: nothing of ours on their side."""

import asyncio
import sys

import numpy as np
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("server")]
TEXTS = ["abc", "日本"]


@pytest.fixture(scope="module")
def kserve():
    held, sys.argv = sys.argv, sys.argv[:1]  # it parses the arguments of the process
    try:
        import kserve

        return kserve
    finally:
        sys.argv = held


def request(kserve, binary):
    asked = kserve.InferInput("text", [2], "BYTES")
    asked.set_data_from_numpy(np.array([text.encode() for text in TEXTS], object), binary_data=binary)
    return kserve.InferRequest("generate", [asked], request_id="me", parameters={"binary_data_output": binary})


@pytest.mark.parametrize("binary", [False, True], ids=["json", "bytes"])
def test_over_http(server, kserve, binary):
    async def ask():
        client = kserve.InferenceRESTClient(kserve.RESTConfig(protocol="v2", retries=0, timeout=30))
        base = f"http://127.0.0.1:{server.http}"
        try:
            assert await client.is_server_ready(base) and await client.is_model_ready(base, "generate")
            return await client.infer(base, request(kserve, binary), model_name="generate")
        finally:
            await client.close()

    answer = asyncio.run(ask())
    found = answer.outputs[0].as_numpy().tolist() if binary else answer.outputs[0].data
    assert answer.model_version in ("7", None) and answer.id == "me"
    assert [text.decode() if isinstance(text, bytes) else text for text in found] == TEXTS
