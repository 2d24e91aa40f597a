"""A layer of another package goes all the way: installed, trained, stored, loaded, exported with parity and run.

No line of the zoo knows it. It is compared with the paper's equations, written out for each position.
"""

import os
import shutil
import sys

import keras
import numpy as np
import pytest

from tests.house_rules import ROOT
from tests.registered import registered
from tests.shared import python

PACKAGE = ROOT / "tests" / "own_layers" / "linear-attention"


def install(copy, site):
    """Install a copy of the package by pip into the folder `site`."""
    shutil.copytree(PACKAGE, copy)
    words = "-m pip install -q --no-deps --no-index --no-build-isolation --target".split()
    python(*words, site, copy)


@pytest.fixture(scope="module")
def linear_attention():
    sys.path.append(str(PACKAGE))
    try:
        with registered("linear_attention") as module:
            yield module
    finally:
        sys.path.remove(str(PACKAGE))


def oracle(layer, query, causal):
    """https://arxiv.org/abs/2006.16236, equation 9: a sum over pairs, position by position."""
    dense = {
        name: keras.ops.convert_to_numpy(vars(layer)[f"{name}_projection"].kernel).astype("float64")
        for name in ("query", "key", "value", "output")
    }
    size, outputs = layer.head_dim, np.zeros((*query.shape[:2], layer.units))

    def phi(x):
        return np.where(x > 0, x + 1, np.exp(x))

    for row in range(query.shape[0]):
        for t in range(query.shape[1]):
            for head in range(layer.num_heads):
                part = slice(head * size, (head + 1) * size)
                q, over, under = phi(query[row, t] @ dense["query"][:, part]), 0.0, layer.epsilon
                for s in range(t + 1 if causal else query.shape[1]):
                    weight = q @ phi(query[row, s] @ dense["key"][:, part])
                    over, under = over + weight * (query[row, s] @ dense["value"][:, part]), under + weight
                outputs[row, t, part] = over / under
    return outputs @ dense["output"]


@pytest.mark.parametrize("causal", [False, True])
def test_it_is_the_paper(linear_attention, causal):
    layer = linear_attention.LinearAttention(6, 3)
    x = np.random.default_rng(1).normal(size=(2, 5, 7)).astype("float32")
    np.testing.assert_allclose(layer(x, causal=causal), oracle(layer, x, causal), atol=1e-5)


def make_model(linear_attention, vocab_size):
    from zoo.blocks import PreNorm
    from zoo.depth import Stack
    from zoo.feedforward import FeedForward
    from zoo.models import LanguageModel

    blocks = [PreNorm(linear_attention.LinearAttention(16, 2), FeedForward(16, 32)) for _ in range(2)]
    return LanguageModel(vocab_size, Stack(blocks), dropout=0.0)


@pytest.mark.slow
def test_all_the_way(linear_attention, tokenizers, tmp_path):
    """Installed by pip, a fresh process loads the file after `import zoo` alone."""
    from serving.export import export
    from serving.runtime import Runtime
    from serving.runtime.artefact import read_manifest
    from tests.serving.conftest import settings_of
    from zoo.text.base import BOS
    from zoo.training import SmoothedCrossEntropy, make_steps

    tokenizer = tokenizers[0]
    keras.utils.set_random_seed(1)
    model = make_model(linear_attention, tokenizer.vocab_size)
    model.build()
    texts = np.array([[BOS, *tokenizer.encode(["the cat sat on the mat"])[0]]], "int32")
    batch = {"token_ids": texts[:, :-1], "labels": texts[:, 1:], "weights": np.ones(texts[:, 1:].shape, "float32")}
    steps = make_steps(model, keras.optimizers.Adam(1e-2), SmoothedCrossEntropy())
    losses = [float(steps.train(batch)) for _ in range(40)]
    assert losses[-1] < 0.2 * losses[0]

    model.save(tmp_path / "model.keras")
    site = tmp_path / "site"
    install(tmp_path / "source", site)
    code = (
        "import sys, numpy, zoo, keras\n"
        "model = keras.models.load_model(sys.argv[1], safe_mode=True)\n"
        "numpy.save(sys.argv[2], model({'token_ids': numpy.load(sys.argv[3])}))\n"
        "print(type(model.decoder.blocks[0].attention).__module__)"
    )
    np.save(tmp_path / "ids.npy", batch["token_ids"])
    paths = [tmp_path / name for name in ("model.keras", "logits.npy", "ids.npy")]
    done = python("-c", code, *paths, cwd=tmp_path, PYTHONPATH=f"{ROOT}{os.pathsep}{site}")
    assert done.stdout.strip() == "linear_attention"
    np.testing.assert_allclose(np.load(paths[1]), model({"token_ids": batch["token_ids"]}), atol=1e-5)

    artefact = export(model, tokenizers[:1], tmp_path / "models", settings_of("continue"))
    parity = read_manifest(artefact)["parity"]
    assert parity["passed"] and parity["max_abs_diff"] <= 1e-4
    (result,) = Runtime(artefact).run(["the cat"])
    assert result.text.strip().startswith("sat"), result


RECIPE = """
name = "novel"
task = "continue"
data = {train = "text.txt", valid_share = 0.3}
text = {pieces = "char", vocab_size = 60}
attention = "linear"

[model]
kind = "transformer"
units = 16
num_heads = 2
hidden_units = 16
context = 12

[training]
steps = 6
validate_every = 3
batch_size = 4

[search]
max_output_length = 8
"""


@pytest.mark.release
def test_a_recipe_names_it_without_a_line_of_the_zoo(tmp_path):
    """Installed by pip, it is found by its entry point: trained, exported with parity, verified and run."""
    source, site = tmp_path / "source", tmp_path / "site"
    install(source, site)
    (tmp_path / "text.txt").write_text("the cat sat on the mat, and the dog sat on the cat.\n" * 20)
    (tmp_path / "novel.toml").write_text(RECIPE)
    for name, folder in (("seqzoo", "tools"), ("serving", "serving"), ("zoo", "zoo")):
        (site / name).symlink_to(ROOT / folder)

    def seqzoo(*arguments):
        return python("-m", "seqzoo", *arguments, cwd=tmp_path, PYTHONPATH=str(site)).stdout

    seqzoo("train", "novel.toml", "--out", "run")
    assert 'layer = "linear"' in (tmp_path / "run" / "recipe.toml").read_text()
    seqzoo("export", "run", "--out", "artefacts")
    assert "is intact" in seqzoo("verify", "artefacts/novel/1")
    assert seqzoo("run", "artefacts/novel/1", "the cat ").strip()
