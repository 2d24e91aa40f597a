"""The depth-adaptive stack against its equations, token by token; rules of exit, oracles, thresholds and FLOPs."""

from functools import partial
from itertools import pairwise

import keras
import numpy as np
import pytest
from keras import ops

from tests import transformer_oracles
from tests.contracts import assert_close, check_causal, length_mask, sequences
from tests.oracles import numpy, sigmoid, softmax
from zoo.attention import AdaptiveSpanAttention, MultiHeadAttention
from zoo.blocks import PreNorm
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
from zoo.depth.flops import block_flops, decoder_flops, skipped_flops
from zoo.depth.oracles import best_depth, sequence_oracle, token_oracle
from zoo.depth.thresholds import judged, tune
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
        return softmax(y @ WORDS * n).max() > rule.initial[n - 1]
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


def test_a_block_runs_for_the_one_who_has_not_left():
    stack, found = made(GeometricExit(LAYERS, 0.6)), []
    for row in range(len(X)):
        arguments = {"memory": MEMORY[row : row + 1], "memory_mask": MASK[row : row + 1], "causal": True}
        thought = stack.think(X[row : row + 1], **arguments)[1]
        assert int(thought["ran"]) == ops.convert_to_numpy(thought["exits"]).max()
        found.append(int(thought["ran"]))
    assert think(stack)[1]["ran"] == max(found)


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


def test_paths_copy_upwards():
    """A path of one depth for all is that depth, and a path of the exits that a rule chose is what it gave."""
    stack = made(RULES["geometric"]())
    outputs, thought = think(stack)
    arguments = {"memory": MEMORY, "memory_mask": MASK, "causal": True}
    assert_close([ops.convert_to_numpy(stack.path(X, thought["exits"], **arguments))], [outputs])
    states, _ = stack.depths(X, **arguments)
    received = stack.path(X, np.full(X.shape[:2], 2), **arguments)
    assert_close([ops.convert_to_numpy(received)], [ops.convert_to_numpy(states[1])])
    drawn = ops.convert_to_numpy(made(paths=1, seed=3).draw_exits(50, 40))
    assert set(np.unique(drawn)) == {1, 2, 3, 4} and abs(drawn.mean() - 2.5) < 0.1


@pytest.mark.parametrize("rule", ["geometric", "multinomial"])
def test_no_token_sees_what_follows(rule):
    stack = made(RULES[rule]())
    check_causal(lambda x: stack(x, memory=MEMORY[:2], memory_mask=MASK[:2], causal=True), X[:2])


def test_oracles_against_sums():
    random = np.random.default_rng(4)
    scores, weights = random.normal(size=(3, 7, 4)), length_mask(((1, 7), (2, 4), (3, 0)), 7).astype("float32")
    depths = np.arange(1, 5)
    whole = ops.convert_to_numpy(sequence_oracle(scores, weights, 0.7)).argmax(-1)
    for row in range(3):
        total = sum(weights[row, t] * scores[row, t] for t in range(7)) - 0.7 * depths
        assert whole[row, 0] == np.argmax(total)
    for width in (0.0, 0.5, 8.0):
        received = ops.convert_to_numpy(token_oracle(scores, weights, 0.1, width))
        np.testing.assert_array_equal(received.sum(axis=-1), 1.0)
        for row in range(3):
            for t in range(7):
                smooth = np.zeros(4)
                for s in range(7):
                    kernel = float(s == t) if not width else np.exp(-((t - s) ** 2) / width)
                    smooth += kernel * weights[row, s] * scores[row, s]
                assert received[row, t].argmax() == np.argmax(smooth - 0.1 * depths)


def test_among_equals_the_oracle_takes_the_least_depth():
    right = np.array([[0.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 1.0, 1.0]])
    np.testing.assert_array_equal(ops.convert_to_numpy(best_depth(right, 0.0)).argmax(-1), [1, 0, 0])
    np.testing.assert_array_equal(ops.convert_to_numpy(best_depth(right, 1.0)).argmax(-1), [0, 0, 0])


def test_price_and_width_move_the_oracle():
    """A higher price is less depth; more neighbours, of whom some need depth, are more."""
    random = np.random.default_rng(4)
    right = np.sort(random.integers(0, 2, (5, 31, 4)), axis=-1).astype("float32")
    weights = np.ones((5, 31))

    def mean(price, width=0.0):
        return ops.convert_to_numpy(token_oracle(right, weights, price, width)).argmax(-1).mean()

    assert mean(0.01) > mean(0.4) > mean(1.1) == 0
    assert mean(0.4) < mean(0.4, 1.0) < mean(0.4, 8.0)


def test_thresholds_are_the_best_of_each_segment():
    random = np.random.default_rng(6)
    sureness = random.uniform(size=(200, 3))
    right = (random.uniform(size=(200, 3)) < [0.3, 0.6, 0.9]).astype(float)
    never, always = judged(sureness, right, [2.0, 2.0]), judged(sureness, right, [-1.0, -1.0])
    assert never == (pytest.approx(right[:, 2].mean()), 3.0) and always == (pytest.approx(right[:, 0].mean()), 1.0)
    tried = []

    def judge(thresholds):
        tried.append((*judged(sureness, right, thresholds), list(thresholds)))
        return tried[-1][:2]

    found = tune(judge, 3, draws=300, segments=5, seed=1)
    assert len(tried) == 300 and np.array([each[2] for each in tried]).shape == (300, 2)
    costs = [cost for _, cost, _ in tried]
    edges = np.linspace(min(costs), max(costs), 6)
    segments = [[t for t in tried if low <= t[1] < high or t[1] == high == edges[-1]] for low, high in pairwise(edges)]
    segments = [inside for inside in segments if inside]
    assert len(segments) > 2
    for inside, best in zip(segments, found, strict=True):
        assert best["quality"] == max(quality for quality, _, _ in inside)
        assert [best["quality"], best["cost"], best["thresholds"]] in [list(each) for each in inside]
    assert [each["cost"] for each in found] == sorted(each["cost"] for each in found)
    assert found == tune(partial(judged, sureness, right), 3, draws=300, segments=5, seed=1)


def test_flops_against_a_count_by_hand():
    """d = 2, f = 3, e = 5, |x| = 7, third token: every product of a block, two operations each."""
    d, f, e, source, t = 2, 3, 5, 7, 3
    matrices = (
        4 * d * d + 2 * d * d + 2 * d * f
    )  # W_Q, W_K, W_V, W_O; W_Q and W_O of the source's attention; the two of f
    attention = t * d + t * d + source * d + source * d  # scores and sums over t keys and over |x| keys
    assert block_flops(d, f, t, source, e) == 2 * (matrices + attention) == 152
    assert block_flops(d, f, t, source, e, first=True) == 152 + 2 * (2 * source * e * d)
    assert skipped_flops(d) == 2 * (2 * d * d) == 16
    # Three tokens that leave at 1, 3 and 2 of 3; with first tokens at 1, 2 and 2.
    runs = [(1, 1, True), (2, 1, False), (3, 1, False), (2, 2, True), (3, 2, False), (2, 3, True)]
    expected = sum(block_flops(d, f, token, source, e, first) for token, _, first in runs) + 3 * 16
    assert decoder_flops([1, 3, 2], 3, d, f, source, e) == expected


def test_flops_of_matrices_are_those_of_a_blocks_weights():
    """The part of FC that depends on no length, from the kernels of a real block."""
    block = PreNorm(MultiHeadAttention(6, 2), FeedForward(6, 10), MultiHeadAttention(6, 2))
    block.build((None, None, 6), (None, None, 6))
    kernels = [w for w in block.weights if w.path.endswith("kernel")]
    source_side = [block.cross_attention.key_projection.kernel, block.cross_attention.value_projection.kernel]
    count = sum(2 * int(np.prod(w.shape)) for w in kernels if not any(w is side for side in source_side))
    assert len(kernels) == 10 and block_flops(6, 10, 0, 0) == count


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
        (lambda: made(ConfidenceExit(4)).think(X, memory=MEMORY), "judges by the logits of each depth"),
        (lambda: decoder_flops([1, 5], 4, 2, 2, 2), "between 1 and num_layers=4. Received: 1 to 5"),
        (lambda: tune(None, 3, draws=0), "at least one draw and one segment. Received: draws=0"),
    ],
)
def test_settings_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_what_cannot_be_passed_by_or_chosen_is_refused():
    spans = PreNorm(AdaptiveSpanAttention(6, 2), FeedForward(6, 8))
    with pytest.raises(ValueError, match=r"cannot pass by \['AdaptiveSpanAttention'\]"):
        DepthAdaptiveStack([spans])
    alone = DepthAdaptiveStack([PreNorm(MultiHeadAttention(6, 2), FeedForward(6, 8))], SequenceExit(1))
    with pytest.raises(ValueError, match="neither a memory nor a plan"):
        alone(X, causal=True)
