"""The Universal Transformer against its equations, both rules of halting, and the steps really made."""

import math

import keras
import numpy as np
import pytest
from keras import ops

from tests import transformer_oracles, weights
from tests.blocks.cases import make_block
from tests.oracles import numpy, sigmoid
from zoo.check.laws import assert_close, length_mask, sequences
from zoo.depth import Halting, UniversalStack, make_universal_stack
from zoo.depth.halting import advance, begin

ROWS = ((1, 5), (2, 3), (3, 1), (4, 0))
X, MASK = sequences(ROWS, 5, 6, noise=5), length_mask(ROWS, 5)
RULES = "accumulated", "interpolated"


def randomised(stack, bias=None, memory=None, scale=0.5):
    stack.build((None, None, 6), memory)
    weights.randomised(stack, seed=3, scale=scale)
    if bias is not None:
        stack.halting.dense.bias.assign([bias])
    return stack


def made(steps=3, halting=None, bias=None, **settings):
    return randomised(make_universal_stack(steps, 6, 2, 8, halting, **settings), bias)


def signal(time, step, units=6):
    """`P^t`, as the paper writes it: i and t from 1."""
    table = np.zeros((time, units))
    for i in range(1, time + 1):
        for j in range(units // 2):
            rate = 10000 ** (2 * j / units)
            table[i - 1, 2 * j] = math.sin(i / rate) + math.sin(step / rate)
            table[i - 1, 2 * j + 1] = math.cos(i / rate) + math.cos(step / rate)
    return table


def universal(stack, causal=False):
    """One row `(time, units)`: `(outputs, N)`; each position on its own, with lists of what it gave."""
    block = transformer_oracles.BLOCKS[type(stack.block).__name__](stack.block)
    norm = transformer_oracles.layer_norm(stack.final_norm) if stack.final_norm is not None else lambda y: y

    def run(x):
        state, time = x.copy(), len(x)
        given = [[] for _ in range(time)]  # (weight, state) of each step
        halted, total = [False] * time, [0.0] * time
        for step in range(1, stack.steps + 1):
            h = state + signal(time, step)
            new = block(h, causal=causal)
            if stack.halting is None:
                state = new
                continue
            kernel, bias = numpy(*stack.halting.dense.weights)
            for i in range(time):
                if halted[i]:
                    continue  # its state is copied
                p = sigmoid(h[i] @ kernel[:, 0] + bias[0])
                last = step == stack.steps and stack.halting.rule == "accumulated"
                halted[i] = total[i] + p > stack.halting.threshold or last
                given[i].append((1.0 - total[i] if halted[i] else p, new[i]))
                total[i] += p
                state[i] = new[i]
        if stack.halting is None:
            return norm(state), None
        outputs = np.zeros_like(x)
        for i in range(time):
            for weight, what in given[i]:
                outputs[i] = outputs[i] * (1 - weight if stack.halting.rule == "interpolated" else 1) + weight * what
        return norm(outputs), np.array([len(each) for each in given])

    return run


@pytest.mark.release(but=4)
@pytest.mark.parametrize("rule", [None, *RULES])
@pytest.mark.parametrize("block", ["post_norm", "pre_norm", "macaron"])
def test_is_the_papers_recurrence(block, rule):
    halting = rule and Halting(rule, threshold=0.9)
    stack = randomised(UniversalStack(make_block(block), 4, halting), rule and -1.0)
    outputs, thought = stack.ponder(X, mask=MASK)
    found = set()
    for row, (_, length) in enumerate(ROWS[:-1]):
        expected, updates = universal(stack)(X[row, :length].astype("float64"))
        np.testing.assert_allclose(ops.convert_to_numpy(outputs)[row, :length], expected, atol=1e-4)
        if rule:
            np.testing.assert_array_equal(ops.convert_to_numpy(thought["updates"])[row, :length], updates)
            found |= set(updates)
    assert not rule or len(found) > 1, "the positions halt at different steps"


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("rule", RULES)
def test_a_pass_that_stops_early_is_the_whole_one(rule):
    """Training runs all the steps; the loop without training only those that somebody needs."""
    stack = made(6, Halting(rule), 1.0, dropout=0.0)
    assert_close(*([ops.convert_to_numpy(stack(X, mask=MASK, training=which))] for which in (True, False)))


def halted(probabilities, rule):
    """Weights that each step's state has in the output, of one position that always gives these probabilities."""
    halting, state = Halting(rule), begin(np.ones((1, 1), bool))
    outputs = np.zeros((1, 1, len(probabilities)), "float32")
    for step, p in enumerate(probabilities):
        final = step == len(probabilities) - 1 and rule == "accumulated"
        weight, state = advance(state, np.full((1, 1), p, "float32"), halting.threshold, final)
        outputs = halting.merge(outputs, np.eye(len(probabilities), dtype="float32")[None, step : step + 1], weight)
    return ops.convert_to_numpy(outputs)[0, 0], {
        name: float(ops.sum(ops.cast(each, "float32"))) for name, each in state.items()
    }


@pytest.mark.parametrize(
    ("probabilities", "accumulated", "interpolated"),
    [([0.6] * 2, 1.0, 0.76), ([0.3] * 4, 1.0, 0.691), ([0.1] * 12, 1.0, 0.651), ([0.995], 1.0, 1.0)],
)
def test_sums_of_the_weights(probabilities, accumulated, interpolated):
    """Graves' sum to 1. Those of the listing do not, because a later step scales the earlier ones down."""
    assert halted(probabilities, "accumulated")[0].sum() == pytest.approx(accumulated, abs=1e-6)
    assert halted(probabilities, "interpolated")[0].sum() == pytest.approx(interpolated, abs=1e-3)


def test_weights_of_both_rules():
    np.testing.assert_allclose(halted([0.6, 0.6], "accumulated")[0], [0.6, 0.4], atol=1e-6)
    np.testing.assert_allclose(halted([0.6, 0.6], "interpolated")[0], [0.36, 0.4], atol=1e-6)
    weights, state = halted([0.6, 0.6, 0.6], "accumulated")
    np.testing.assert_allclose(weights, [0.6, 0.4, 0.0], atol=1e-6)
    assert state["updates"] == 2 and state["remainders"] == pytest.approx(0.4)


def test_who_never_crosses_has_a_remainder_by_graves_rule_alone():
    weights, state = halted([0.2, 0.2, 0.2], "accumulated")
    np.testing.assert_allclose(weights, [0.2, 0.2, 0.6], atol=1e-6)
    assert state["remainders"] == pytest.approx(0.6)
    weights, state = halted([0.2, 0.2, 0.2], "interpolated")
    np.testing.assert_allclose(weights, [0.128, 0.16, 0.2], atol=1e-6)
    assert state["remainders"] == 0 and state["updates"] == 3


def test_one_certain_step_is_one_step():
    stack = made(5, Halting(), 20.0)
    once = UniversalStack(stack.block, 1)
    outputs, thought = stack.ponder(X, mask=MASK)
    assert int(thought["steps"]) == 1
    expected = ops.convert_to_numpy(once(X, mask=MASK))
    np.testing.assert_allclose(ops.convert_to_numpy(outputs)[MASK], expected[MASK], atol=1e-5)


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("rule", RULES)
def test_steps_really_made_are_those_of_the_slowest(rule):
    """Of a block that counts, in a loop that ends; padding does not ask for any."""
    stack = made(12, Halting(rule), 1.0)
    calls = []
    run, stack.block.call = stack.block.call, lambda *args, **kwargs: calls.append(1) or run(*args, **kwargs)
    most = 0
    for row, (_, length) in enumerate(ROWS):
        mask = MASK[row : row + 1]
        _, thought = stack.ponder(X[row : row + 1], mask=mask)
        updates = ops.convert_to_numpy(thought["updates"])[0]
        assert int(thought["steps"]) == updates.max() and not updates[length:].any()
        most = max(most, int(thought["steps"]))
        if keras.backend.backend() == "tensorflow":  # eagerly; JAX traces its loop
            assert len(calls) == int(thought["steps"])
        calls.clear()
    assert 1 < most < 12
    assert int(stack.ponder(X, mask=MASK)[1]["steps"]) == most


@pytest.mark.slow
def test_the_gradient_of_the_remainder_is_the_numeric_one():
    """Of the whole ponder cost, N being constant between two steps."""
    import tensorflow as tf

    stack = made(4, Halting(ponder=1.0), 0.0, dropout=0.0)
    bias = stack.halting.dense.bias

    def cost():
        stack(X, mask=MASK, training=True)
        (loss,) = stack.losses
        return loss

    with tf.GradientTape() as tape:
        tape.watch(bias.value)
        loss = cost()
    received = float(tape.gradient(loss, bias.value)[0])
    around = []
    for change in (2e-3, -2e-3):
        bias.assign([change])
        around.append(float(cost()))
    assert received == pytest.approx((around[0] - around[1]) / 4e-3, rel=2e-2)
    assert received < -0.01, "who is surer to halt has less of a remainder"


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("rule", RULES)
def test_the_ponder_cost_is_the_mean_of_steps_and_remainders(rule):
    stack = made(4, Halting(rule, ponder=0.25), 0.5, dropout=0.0)
    stack(X, mask=MASK, training=True)
    _, thought = stack.ponder(X, mask=MASK)
    each = ops.convert_to_numpy(thought["updates"] + thought["remainders"])[MASK]
    assert float(stack.losses[0]) == pytest.approx(0.25 * each.mean(), rel=1e-5)
    stack(X, mask=MASK)
    assert not stack.losses, "in training only"
    free = made(4, Halting(rule, ponder=0.0))
    free(X, mask=MASK, training=True)
    assert not free.losses


def test_parameters_do_not_grow_with_the_steps():
    counts = {made(steps).count_params() for steps in (1, 3, 8)}
    assert len(counts) == 1
    assert made(3, Halting()).count_params() == counts.pop() + 7


@pytest.mark.slow
def test_random_offsets_are_of_training_and_move_a_whole_row():
    stack = made(2, max_offset=7, seed=1, dropout=0.0)
    x = np.repeat(X[:1], 40, axis=0)
    still = ops.convert_to_numpy(stack(x))
    np.testing.assert_allclose(still, ops.convert_to_numpy(made(2)(x)), atol=1e-6)
    moved = ops.convert_to_numpy(stack(x, training=True))
    longer = sequences(((1, 5),), 5, 6)
    signal_at = stack.signal.at
    expected = []
    for offset in range(8):
        stack.signal.at = lambda places, units, offset=offset: signal_at(
            places + offset if getattr(places, "shape", ()) else places, units
        )
        expected.append(ops.convert_to_numpy(stack(longer))[0])
    nearest = [min(range(8), key=lambda which: np.abs(row - expected[which]).max()) for row in moved]
    assert all(np.abs(row - expected[which]).max() < 1e-5 for row, which in zip(moved, nearest, strict=True))
    assert set(nearest) == set(range(8))


@pytest.mark.slow
def test_stacks_of_one_seed_draw_the_same_offsets():
    x = np.repeat(X[:1], 40, axis=0)
    one, same, other = (made(2, max_offset=7, seed=seed, dropout=0.0) for seed in (1, 1, 2))
    for _ in range(2):  # and go on doing so
        first, second, third = (ops.convert_to_numpy(each(x, training=True)) for each in (one, same, other))
        np.testing.assert_allclose(first, second, atol=1e-6)
        assert np.abs(first - third).max() > 1e-2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: made(0), "positive number of steps. Received: steps=0"),
        (lambda: made(2.0), "Received: steps=2.0"),
        (lambda: made(2, max_offset=-1), "Received: max_offset=-1"),
        (lambda: Halting("graves"), r"one of \('accumulated', 'interpolated'\), received 'graves'"),
        (lambda: Halting(threshold=1.0), "between 0 and 1.*Received: 1.0"),
        (lambda: Halting(ponder=-0.1), "at least 0.*Received: -0.1"),
    ],
)
def test_settings_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()
