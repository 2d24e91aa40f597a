"""Weights that are split among devices: which ones, what is refused, and that the numbers are those of one device."""

import json
import re

import numpy as np
import pytest

from tests.recipes.small import recipe
from tests.shared import python
from tools import cli
from zoo import recipes
from zoo.core import devices, layouts
from zoo.recipes.folder import claim

SPLIT = {  # path: the axis that is split
    "embedding/matrix": 1,
    "decoder/blocks/0/feedforward/hidden/kernel": 1,
    "decoder/blocks/0/feedforward/hidden/bias": 0,
    "decoder/blocks/0/feedforward/output_projection/kernel": 0,
    "decoder/blocks/1/feedforward/values": 1,
}


@pytest.mark.parametrize(
    ("path", "axis"),
    [
        ("language_model/token_embedding/matrix", 1),
        ("language_model_3/token_embedding_12/matrix", 1),
        ("seq2_seq/reversible_embedding_1/embeddings", 1),
        ("transformer/stack_1/pre_norm_7/feed_forward_7/hidden/kernel", 1),
        ("transformer/stack_1/pre_norm_7/feed_forward_7/hidden/bias", 0),
        ("transformer/stack_1/pre_norm_7/feed_forward_7/output/kernel", 0),
        ("language_model/stack/pre_norm/product_key_memory_1/values", 1),
        ("transformer/stack_1/pre_norm_7/feed_forward_7/output/bias", None),
        ("language_model/stack/pre_norm/product_key_memory_1/keys", None),
        ("transformer/stack_1/pre_norm_7/multi_head_attention/output/kernel", None),
        ("language_model/learned_positions/matrix", None),
    ],
)
def test_which_weights_are_split_and_along_which_axis(path, axis):
    found = [axis for pattern, axis in layouts.LAYOUT.items() if re.fullmatch(layouts.expression(pattern), path)]
    assert found == ([] if axis is None else [axis])


def test_a_pattern_is_no_regular_expression():
    assert not re.fullmatch(layouts.expression("a.b/c"), "axb/c")
    assert re.fullmatch(layouts.expression("*/b+/c"), "x/y_1/b+_2/c_3")


@pytest.mark.parametrize(
    ("given", "backend", "message"),
    [
        ([], "jax", "model_parallel=2 splits the weights among 2 devices, and this training has one. Give --devices"),
        ([], "tensorflow", "needs the JAX backend; this one is tensorflow"),
        (["--devices", "3"], "jax", "3 devices cannot hold copies of a model of which each is split among 2"),
        (["--devices", "6"], "jax", "8 examples cannot be split equally among 3 copies of the model"),
    ],
)
def test_what_cannot_be_split_is_told_before_anything_is_read(monkeypatch, tmp_path, capsys, given, backend, message):
    monkeypatch.setattr(devices, "backend", lambda: backend)
    (tmp_path / "small.toml").write_text(recipes.dumps(recipe("transducer", "training.model_parallel=2")))
    assert cli.main(["train", str(tmp_path / "small.toml"), "--out", str(tmp_path / "run"), *given]) == 2
    assert message in capsys.readouterr().err and not (tmp_path / "run").exists()


def test_a_layout_of_weights_that_are_whole_has_no_effect():
    layout = {"layout": {"*embedding/matrix": 0}}
    with pytest.raises(ValueError, match="layout=.* has no effect: it is read where model_parallel is above 1"):
        recipe("transformer", training=layout)
    assert recipe("transformer", training=layout | {"model_parallel": 2}).training.layout == layout["layout"]


def test_a_run_may_be_resumed_with_another_split(tmp_path):
    (tmp_path / "recipe.toml").write_text(recipes.dumps(recipe("transformer", "training.model_parallel=2")))
    claim(recipe("transformer"), tmp_path, resume=True)
    claim(recipe("transformer", training={"model_parallel": 2, "layout": {"*embedding/matrix": 0}}), tmp_path, True)
    with pytest.raises(ValueError, match="batch_size"):
        claim(recipe("transformer", "training.batch_size=16"), tmp_path, resume=True)


@pytest.mark.release
def test_two_by_two_devices_train_as_one(tmp_path):
    done = python("-m", "tests.core.grid", tmp_path, seconds=1800, KERAS_BACKEND="jax")
    found = json.loads(done.stdout.splitlines()[-1])

    (grid, one) = found["losses"]
    assert len(one) == 10 and grid[0] == pytest.approx(one[0], rel=1e-6)
    np.testing.assert_allclose(grid, one, atol=1e-4)
    assert found["weights"]["1"] < 1e-6 and found["weights"]["10"] < 1e-4, found["weights"]
    assert found["checkpoint"] < 1e-4 and found["model"] < 1e-4
    assert found["shapes"][0] == found["shapes"][1]  # the files hold whole weights

    halved = {path: [a // b for a, b in zip(*pair, strict=True)] for path, pair in found["parts"].items()}
    assert {path: each.index(2) for path, each in halved.items() if 2 in each and "optimizer" not in path} == SPLIT
    moments = [path for path, each in halved.items() if 2 in each and "optimizer" in path]
    assert len(moments) == 2 * len(SPLIT)  # Adam's two of each

    (alone, four) = found["resumed"]
    assert len(alone) == len(four) == 4  # ten steps were done
    np.testing.assert_allclose(alone, four, atol=1e-4)
    assert found["end"] < 1e-3

    assert "hidden/kernel (8, 16) is to be split along axis 2 among 4 devices" in found["refused"][0]
    assert "it has no axis 2" in found["refused"][0]
    assert "keys (2, 2, 6, 2) is to be split along axis 0 among 4" in found["refused"][1]
    assert "it is 2 long there" in found["refused"][1]
    assert "none of the" in found["refused"][2] and "feed_forward/hidden/kernel" in found["refused"][2]
    assert found["nothing"]
