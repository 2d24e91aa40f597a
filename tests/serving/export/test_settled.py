"""The samples with which exported forms are compared do not hang on the last digits of a random number."""

import types

import numpy as np
import pytest

from serving.export.kinds.writing import EDGE, Generate


def drawn(tokens, uniforms, top_k, **_):
    """A model whose next token is any of `tokens`, or of the `top_k` likeliest, with equal probability."""
    among = np.where(top_k, np.minimum(top_k, tokens), tokens)[:, None, None]
    return {"output_ids": np.floor(uniforms.astype("float64") * among).astype("int32")}


@pytest.mark.parametrize("tokens", [20, 8000])
@pytest.mark.parametrize("batch", [1, 4])
def test_tokens_of_samples_are_sure(tokens, batch):
    settings = types.SimpleNamespace(max_length=50)
    kind = types.SimpleNamespace(settings=settings, ask=lambda name, **inputs: drawn(tokens, **inputs))
    for seed in range(20):
        source = {"token_ids": np.ones((batch, 3), "int32"), "lengths": np.full(batch, 3, "int32")}
        inputs = Generate._settled(kind, source, np.random.default_rng(seed))
        assert 1 <= len(inputs["lengths"]) <= batch
        answers = [drawn(tokens, **{**inputs, "uniforms": inputs["uniforms"] + edge}) for edge in (-EDGE, 0.0, EDGE)]
        for each in answers[1:]:
            np.testing.assert_array_equal(each["output_ids"], answers[0]["output_ids"])
