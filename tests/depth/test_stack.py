"""Stacks: block after block, the last norm, the state of stepping, and what `make_stack` makes."""

import inspect

import numpy as np
import pytest
from keras import ops

from tests import transformer_oracles
from tests.blocks.cases import BLOCKS, make_block
from tests.weights import randomised
from zoo.check.laws import length_mask, sequences
from zoo.check.steps import shapes_of
from zoo.depth import (
    Stack,
    make_depth_adaptive_stack,
    make_reformer_stack,
    make_stack,
    make_universal_stack,
)

ROWS = ((1, 7), (2, 3), (3, 0))
X, MASK = sequences(((4, 5),) * 3, 5, 6), length_mask(ROWS, 7)
MEMORY = sequences(ROWS, 7, 6, noise=5)


def made(*args, **settings):
    stack = make_stack(*args, **settings)
    stack.build(X.shape, MEMORY.shape)
    return randomised(stack, 3)


@pytest.mark.slow(but=4)
@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("block", BLOCKS)
def test_is_the_papers_stack(block, activation):
    stack = made(2, 6, 2, 8, block, cross=True, activation=activation)
    received = ops.convert_to_numpy(stack(X, memory=MEMORY, memory_mask=MASK, causal=True))
    run = transformer_oracles.stack(stack)
    for row, (_, length) in enumerate(ROWS):
        expected = run(X[row].astype("float64"), MEMORY[row, :length].astype("float64"), causal=True)
        np.testing.assert_allclose(received[row], expected, atol=5e-5)


def test_only_a_stream_without_norms_gets_one_at_its_end():
    stacks = {block: make_stack(1, 6, 2, 8, block) for block in BLOCKS}
    assert {block: stack.final_norm is not None for block, stack in stacks.items()} == {
        "post_norm": False,
        "pre_norm": True,
        "macaron": True,
    }


def test_make_stack_says_it_all():
    stack = make_stack(3, 6, 2, 8, "macaron", dropout=0.3, cross=True, activation="gelu", seed=5)
    assert len(stack.blocks) == 3 and stack.units == 6
    for block in stack.blocks:
        assert block.first.hidden_units == block.feedforward.hidden_units == 4
        assert block.first.activation == block.feedforward.activation == "gelu"
        assert block.cross_attention.num_heads == block.attention.num_heads == 2
        assert [drop.rate for drop in block.dropout_layers] == [0.3] * 4
    seeds = [drop.seed for block in stack.blocks for drop in block.dropout_layers]
    assert len(set(seeds)) == 12, "no two branches drop alike"
    assert make_stack(1, 6, 2, 8).blocks[0].cross_attention is None


def prompt(stack):
    return stack.prefill(X[:, :4]), length_mask(((0, 4), (0, 2), (0, 0)), 4)


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("prompted", [False, True])
@pytest.mark.parametrize("beams", [1, 3])
def test_a_state_grows_or_stays(beams, prompted):
    """By one entry a beam and step; a static one has all of them from the start, and never changes its shapes."""
    stack = made(2, 6, 2, 8)
    entries = 4 if prompted else 0
    given = {"beams": beams, "prompt": prompt(stack) if prompted else None}
    growing, static = stack.start(3, **given), stack.start(3, max_length=5, **given)
    shapes = shapes_of(static)
    assert static["caches"][0]["keys"].shape == (3, 2, entries + 5 * beams, 3)
    assert ("seen" in growing) == (prompted or beams > 1), "one beam without a prompt sees all there is"
    x = np.repeat(X[:, :1], beams, axis=1)
    for step in range(3):
        (one, growing), (other, static) = stack.step(x, growing), stack.step(x, static)
        np.testing.assert_allclose(*map(ops.convert_to_numpy, (one, other)), atol=1e-5)
        assert shapes_of(static) == shapes
        assert growing["caches"][1]["values"].shape == (3, 2, entries + (step + 1) * beams, 3)
        assert int(growing["position"]) == int(static["position"]) == step + 1
        assert int(static["write_index"]) == entries + (step + 1) * beams


@pytest.mark.parametrize("max_length", [None, 5])
def test_reordering_moves_what_is_seen_and_no_key(max_length):
    stack = made(1, 6, 2, 8)
    _, state = stack.step(X[:, :3], stack.start(3, 3, max_length))
    parents = np.array([[2, 2, 0], [0, 1, 2], [1, 0, 1]], "int32")
    moved = stack.reorder(state, parents)
    assert moved["caches"] is state["caches"]
    seen = ops.convert_to_numpy(moved["seen"])[:, :, :3]
    np.testing.assert_array_equal(seen, np.eye(3, dtype=bool)[parents])


def test_blocks_of_different_units_do_not_stack():
    with pytest.raises(ValueError, match=r"same units.*Received 2 blocks with units \[6, 8\]"):
        Stack([make_block("pre_norm"), make_block("pre_norm", units=8)])
    with pytest.raises(ValueError, match="at least one block.*Received 0 blocks"):
        Stack([])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"block": "preln"}, r"\['post_norm', 'pre_norm', 'macaron'\], received 'preln'"),
        ({"block": "macaron", "hidden_units": 9}, "Macaron halves hidden_units.*Received: 9"),
        ({"num_layers": 0}, "at least one block"),
        ({"num_heads": 4}, "heads divide evenly.*units=6, num_heads=4"),
        ({"activation": "rleu"}, "rleu"),
    ],
)
def test_settings_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        make_stack(**{"num_layers": 1, "units": 6, "num_heads": 2, "hidden_units": 8, **settings})


@pytest.mark.parametrize("make", [make_stack, make_reformer_stack, make_universal_stack, make_depth_adaptive_stack])
def test_factories_share_their_settings(make):
    stack = make(2, 6, 2, 8, activation="gelu", dropout=0.3, seed=5)
    for block, seed in zip(stack.blocks, (5, 15), strict=False):
        config = block.get_config()
        assert (config["dropout"], config["seed"]) == (0.3, seed)
        assert block.feedforward.get_config()["activation"] == "gelu"
        assert (block.cross_attention is None) is (make is not make_depth_adaptive_stack)
    with pytest.raises(TypeError, match="no setting 'droput'. Did you mean 'dropout'?"):
        make(2, 6, 2, 8, droput=0.1)
    assert len(inspect.signature(make).parameters) <= 8
