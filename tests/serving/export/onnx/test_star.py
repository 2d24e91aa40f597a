"""A Star-Transformer in one ONNX graph for all lengths, and in an artefact."""

import numpy as np
import pytest

from serving.export import export
from serving.export.onnx.convert import convert, load
from serving.runtime.artefact import read_manifest
from tests.serving.conftest import LABELS, randomised, settings_of, sides
from zoo.core.signatures import Signature, TensorSpec
from zoo.depth import make_star_stack
from zoo.embeddings import ConcatenatedPositions
from zoo.models import Classifier, Tagger

VECTORS = TensorSpec("x", "float32", ("batch", "time", 8)), TensorSpec("mask", "bool", ("batch", "time"))


@pytest.mark.slow
def test_one_graph_serves_all_lengths():
    stack = make_star_stack(2, 8, 2)
    stack.build((None, None, 8))
    random = np.random.default_rng(0)

    def read(x, mask):
        return {"states": stack(x, mask=mask), "summary": stack(x, mask=mask, summary=True)}

    outputs = TensorSpec("states", "float32", ("batch", "time", 8)), TensorSpec("summary", "float32", ("batch", 8))
    session = load(convert(read, Signature("read", VECTORS, outputs)))
    for batch, time in ((1, 1), (2, 4), (3, 7), (2, 211)):
        lengths = random.integers(0, time + 1, batch)
        inputs = {"x": random.normal(size=(batch, time, 8)).astype("float32")}
        inputs["mask"] = np.arange(time) < lengths[:, None]
        for received, expected in zip(session.run(["states", "summary"], inputs), read(**inputs).values(), strict=True):
            np.testing.assert_allclose(received, expected, atol=1e-4)


@pytest.mark.release(but=1)
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["classify", "tag"])
def test_an_artefact_of_a_star_has_parity(kind, tokenizers, tmp_path):
    source = tokenizers[0].vocab_size
    if kind == "classify":
        model = Classifier(source, len(LABELS), make_star_stack(2, 16, 2))
    else:
        model = Tagger(source, len(LABELS), make_star_stack(2, 16, 2, summary=False), ConcatenatedPositions(64, 4))
    artefact = export(randomised(model), sides(kind, tokenizers), tmp_path, settings_of(kind))
    parity = read_manifest(artefact)["parity"]
    assert parity["passed"] and parity["max_abs_diff"] <= 1e-4
