"""The depth-adaptive stack against its equations, token by token, and the rules of exit."""

import keras
import numpy as np
import pytest
from keras import ops

from tests import transformer_oracles
from tests.oracles import numpy, sigmoid, softmax
from zoo.attention import LSHAttention, MultiHeadAttention
from zoo.blocks import PreNorm
from zoo.check.laws import assert_close, length_mask, sequences
from zoo.depth import (
    ConfidenceExit,
    DepthAdaptiveStack,
    FixedExit,
    GeometricExit,
    MultinomialExit,
    SequenceExit,
    Stack,
    make_depth_adaptive_stack,
)
from zoo.depth.flops import decoder_flops
from zoo.depth.thresholds import tune
from zoo.feedforward import FeedForward

ROWS, LAYERS = ((1, 5), (2, 3), (3, 1)), 4
X, MEMORY, MASK = sequences(ROWS, 7, 6, stream=1), sequences(ROWS, 5, 6, noise=5), length_mask(ROWS, 5)
WORDS = np.random.default_rng(9).normal(size=(6, 11))
RULES = {
    "fixed": lambda: FixedExit(LAYERS, depth=3),
    "sequence": lambda: SequenceExit(LAYERS),
    "multinomial": lambda: MultinomialExit(LAYERS),
    "geometric": lambda: GeometricExit(LAYERS, threshold=0.6),
    "confidence": lambda: ConfidenceExit(LAYERS, [0.5, 0.6, 0.7]),
}


def classify(index, state):
    return ops.matmul(state, WORDS.astype("float32")) * (index + 1.0)


def made(rule=None, block="pre_norm", weights=3, **settings):
    stack = make_depth_adaptive_stack(LAYERS, 6, 2, 8, rule, block, dropout=0.0, **settings)
    stack.build((None, None, 6), (None, None, 6))
    generator = np.random.default_rng(weights)
    for weight in stack.trainable_weights:
        scale = 0.5 if "kernel" in weight.path else 0.2
        weight.assign(weight + generator.normal(0.0, scale, weight.shape))
    for weight in stack.exit.trainable_weights:  # so that tokens leave here and there
        weight.assign(generator.normal(0.0, 2.0, weight.shape) if "kernel" in weight.path else weight * 0.0)
    return stack


def think(stack, **changes):
    outputs, thought = stack.think(X, memory=MEMORY, memory_mask=MASK, causal=True, classify=classify, **changes)
    return ops.convert_to_numpy(outputs), {name: ops.convert_to_numpy(leaf) for name, leaf in thought.items()}


def left(rule, n, y, memory, first):
    """Whether a token whose block n gave `y` leaves there: the paper's equations."""
    if isinstance(rule, FixedExit):
        return n >= rule.depth
    if isinstance(rule, ConfidenceExit):
        return softmax(y @ WORDS * n).max() > rule.thresholds[n - 1]
    kernel, bias = numpy(*rule.dense.weights)
    if isinstance(rule, GeometricExit):
        return sigmoid(y @ kernel[:, 0] + bias[0]) > rule.threshold
    state = memory.mean(axis=0) if isinstance(rule, SequenceExit) else first
    return n >= 1 + np.argmax(softmax(state @ kernel + bias))


def adaptive(stack):
    """One row, token by token: `(outputs, exits)`. `given[n]` lists what block n + 1 was given, copies among it."""
    blocks = [transformer_oracles.BLOCKS[type(block).__name__](block) for block in stack.blocks]
    norms = [transformer_oracles.layer_norm(norm) if norm is not None else (lambda y: y) for norm in stack.norms]

    def run(x, memory):
        given, outputs, exits = [[] for _ in blocks], [], []
        for token in x:
            h, depth, first = token, None, None
            for n, block in enumerate(blocks, start=1):
                given[n - 1].append(h)
                if depth is not None:
                    continue  # h is copied
                h = block(np.array(given[n - 1]), memory, causal=True)[-1]
                y = norms[n - 1](h)
                first = y if n == 1 else first
                if n == len(blocks) or left(stack.exit, n, y, memory, first):
                    depth = n
                    outputs.append(y)
            exits.append(depth)
        return np.array(outputs), np.array(exits)

    return run


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize(
    ("rule", "block"),
    [*((rule, "pre_norm") for rule in RULES), ("geometric", "post_norm"), ("geometric", "macaron")],
)
def test_is_the_papers_recurrence(rule, block):
    for weights in range(3, 20):
        stack = made(RULES[rule](), block, weights)
        outputs, thought = think(stack)
        if rule == "fixed" or len(np.unique(thought["exits"])) > 1:
            break
    else:
        raise AssertionError("all tokens leave at one depth")
    for row, (_, length) in enumerate(ROWS):
        expected, exits = adaptive(stack)(X[row].astype("float64"), MEMORY[row, :length].astype("float64"))
        np.testing.assert_array_equal(thought["exits"][row], exits)
        np.testing.assert_allclose(outputs[row], expected, atol=1e-4)
    assert thought["ran"] == thought["exits"].max()


@pytest.mark.slow
def test_always_the_last_is_a_plain_decoder():
    stack = made()
    plain = Stack(stack.blocks)
    plain.build((None, None, 6), (None, None, 6))
    plain.final_norm.set_weights(stack.norms[-1].get_weights())
    arguments = {"memory": MEMORY, "memory_mask": MASK, "causal": True}
    assert_close([ops.convert_to_numpy(stack(X, **arguments))], [ops.convert_to_numpy(plain(X, **arguments))], 0, 0)
    states, nothing = stack.depths(X, **arguments)
    assert_close([ops.convert_to_numpy(states[-1])], [ops.convert_to_numpy(plain(X, **arguments))], 1e-6)
    assert nothing is None and len(states) == LAYERS


@pytest.mark.release(but=1)
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_blocks_that_all_have_left_are_not_run(depth):
    """Of blocks that count, in a pass and in a step."""
    stack, calls = made(FixedExit(LAYERS, depth)), []
    for block in stack.blocks:
        for name in ("call", "step"):
            run = getattr(block, name)
            setattr(block, name, lambda *args, run=run, **kwargs: calls.append(1) or run(*args, **kwargs))
    assert think(stack)[1]["ran"] == depth
    cross, mask = stack.remember(MEMORY), MASK[:, None, :]
    _, thought, state = stack.think_step(X[:, :1], stack.start(3), cross, mask)
    assert int(thought["ran"]) == depth
    if keras.backend.backend() == "tensorflow":  # eagerly; JAX traces both ways
        assert len(calls) == 2 * depth
    assert all(cache["keys"].shape[2] == 1 for cache in state["caches"]), "all blocks know the copy"


@pytest.mark.parametrize("rule", [ConfidenceExit, GeometricExit])
def test_a_stack_of_one_block_asks_no_rule(rule):
    """There are thresholds for the depths before the last alone."""
    stack = make_depth_adaptive_stack(1, 6, 2, 8, rule(1), dropout=0.0)
    outputs, thought = think(stack)
    assert thought["ran"] == 1 and (thought["exits"] == 1).all()
    plain = Stack(stack.blocks)
    plain.build((None, None, 6), (None, None, 6))
    arguments = {"memory": MEMORY, "memory_mask": MASK, "causal": True}
    assert_close([outputs], [ops.convert_to_numpy(plain(X, **arguments))], 0, 0)


@pytest.mark.slow
def test_a_block_runs_for_the_one_who_has_not_left():
    stack, found = made(GeometricExit(LAYERS, 0.6)), []
    for row in range(len(X)):
        arguments = {"memory": MEMORY[row : row + 1], "memory_mask": MASK[row : row + 1], "causal": True}
        thought = stack.think(X[row : row + 1], **arguments)[1]
        assert int(thought["ran"]) == ops.convert_to_numpy(thought["exits"]).max()
        found.append(int(thought["ran"]))
    assert think(stack)[1]["ran"] == max(found)


@pytest.mark.slow
def test_nobody_waits_for_a_row_that_is_done():
    stack = made(GeometricExit(LAYERS, 0.6))
    cross, mask = stack.remember(MEMORY), MASK[:, None, :]
    state = stack.start(3)
    assert state["running"].shape == (3, 1) and bool(ops.all(state["running"]))
    expected, thought, _ = stack.think_step(X[:, :1], state, cross, mask)
    exits = ops.convert_to_numpy(thought["exits"])[:, 0]
    done = exits == exits.max()
    assert int(thought["ran"]) == exits.max() > exits[~done].max() >= 1
    state["running"] = ops.convert_to_tensor(~done[:, None])
    found, thought, following = stack.think_step(X[:, :1], state, cross, mask)
    assert int(thought["ran"]) == exits[~done].max()
    np.testing.assert_array_equal(ops.convert_to_numpy(thought["exits"])[:, 0], np.where(done, 1, exits))
    assert_close(ops.convert_to_numpy(found)[~done], ops.convert_to_numpy(expected)[~done], 1e-6)
    assert_close([ops.convert_to_numpy(following["running"])], [~done[:, None]])


@pytest.mark.release(but=1)
@pytest.mark.parametrize("rule", ["sequence", "multinomial", "geometric"])
def test_distributions(rule):
    """They sum to 1, and are those of the paper."""
    stack = made(RULES[rule]())
    arguments = {"memory": MEMORY, "memory_mask": MASK, "causal": True}
    states, found = stack.depths(X, **arguments)
    found = np.exp(ops.convert_to_numpy(found))
    np.testing.assert_allclose(found.sum(axis=-1), 1.0, atol=1e-6)
    assert found.shape == (3, 1 if rule == "sequence" else 7, LAYERS)
    kernel, bias = numpy(*stack.exit.dense.weights)
    h = [ops.convert_to_numpy(state).astype("float64") for state in states]
    for row, (_, length) in enumerate(ROWS):
        if rule == "sequence":
            expected = softmax(MEMORY[row, :length].mean(axis=0) @ kernel + bias)
            np.testing.assert_allclose(found[row, 0], expected, atol=1e-5)
            continue
        for t in range(7):
            if rule == "multinomial":
                expected = softmax(h[0][row, t] @ kernel + bias)
            else:
                chi = [sigmoid(state[row, t] @ kernel[:, 0] + bias[0]) for state in h]
                expected = [chi[n] * np.prod([1 - chi[m] for m in range(n)]) for n in range(LAYERS - 1)]
                expected.append(np.prod([1 - chi[m] for m in range(LAYERS - 1)]))
            np.testing.assert_allclose(found[row, t], expected, atol=1e-5)


@pytest.mark.slow
def test_paths_copy_upwards():
    """A path of one depth for all is that depth, and a path of the exits that a rule chose is what it gave."""
    stack = made(RULES["geometric"]())
    outputs, thought = think(stack)
    arguments = {"memory": MEMORY, "memory_mask": MASK, "causal": True}
    assert_close([ops.convert_to_numpy(stack.walk(X, thought["exits"], **arguments))], [outputs])
    states, _ = stack.depths(X, **arguments)
    received = stack.walk(X, np.full(X.shape[:2], 2), **arguments)
    assert_close([ops.convert_to_numpy(received)], [ops.convert_to_numpy(states[1])])
    drawn = ops.convert_to_numpy(made(paths=1, seed=3).draw_exits(50, 40))
    assert set(np.unique(drawn)) == {1, 2, 3, 4} and abs(drawn.mean() - 2.5) < 0.1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: made(GeometricExit(3)), r"for 3 layers and the stack has 4 blocks. Make it GeometricExit\(4, ...\)"),
        (lambda: made(GeometricExit(4), paths=2), "GeometricExit learns from the losses of all depths"),
        (lambda: made(paths=-1), "Received: paths=-1"),
        (lambda: FixedExit(4, 5), "depth from 1 to num_layers=4. Received: depth=5"),
        (lambda: MultinomialExit(0), "at least 1. Received: 0"),
        (lambda: GeometricExit(4, 1.0), "between 0 and 1. Received: threshold=1.0"),
        (lambda: ConfidenceExit(4, [0.5]), r"each of the 3 depths before the last.*Received: thresholds=\[0.5\]"),
        (lambda: made(ConfidenceExit(4)).think(X, memory=MEMORY), "reads the logits of each depth"),
        (lambda: decoder_flops([1, 5], 4, 2, 2, 2), "between 1 and num_layers=4. Received: 1 to 5"),
        (lambda: tune(None, 3, draws=0), "at least one draw and one segment. Received: draws=0"),
    ],
)
def test_settings_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_what_cannot_be_passed_by_or_chosen_is_refused():
    hashing = PreNorm(LSHAttention(6, 2, num_buckets=4, chunk_length=4), FeedForward(6, 8))
    with pytest.raises(ValueError, match=r"cannot pass by \['LSHAttention'\]"):
        DepthAdaptiveStack([hashing])
    alone = DepthAdaptiveStack([PreNorm(MultiHeadAttention(6, 2), FeedForward(6, 8))], SequenceExit(1))
    with pytest.raises(ValueError, match="neither a memory nor a plan"):
        alone(X, causal=True)
