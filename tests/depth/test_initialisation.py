"""Gradients and norms at initialisation, in the setting of Xiong et al. 2020: what the place of the norm changes.

One head, W_Q = W_K = 0 (uniform attention), all matrices d x d and Xavier Gaussian, gains 1.
"""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from zoo.attention import MultiHeadAttention
from zoo.blocks import PostNorm, PreNorm
from zoo.depth import Stack
from zoo.feedforward import FeedForward

UNITS, TIME = 64, 16
DEPTHS = (2, 4, 8, 16, 32)
WIRINGS = {"post_norm": PostNorm, "pre_norm": PreNorm}
SLOPES = {"post_norm": (-0.2, 0.2), "pre_norm": (-0.65, -0.35)}


def theorems_stack(wiring, depth):
    """Output biases are 0 from the start; W_O is the identity: the paper's single head has W_V alone."""
    parts = [(MultiHeadAttention(UNITS, 1), FeedForward(UNITS, UNITS)) for _ in range(depth)]
    stack = Stack([WIRINGS[wiring](*pair) for pair in parts])
    stack.build((None, None, UNITS))
    return stack


def initialise(stack, seed):
    generator = np.random.default_rng(seed)

    def xavier():
        return generator.normal(0.0, np.sqrt(2 / (UNITS + UNITS)), (UNITS, UNITS))

    for block in stack.blocks:
        block.attention.query_projection.kernel.assign(np.zeros((UNITS, UNITS)))
        block.attention.key_projection.kernel.assign(np.zeros((UNITS, UNITS)))
        block.attention.output_projection.kernel.assign(np.eye(UNITS))
        for dense in (block.attention.value_projection, block.feedforward.hidden, block.feedforward.output_projection):
            dense.kernel.assign(xavier())
    return generator


def last_gradient(blocks, final_norm, seed):
    """`||dL/dW_2||_F` of the last layer; L is the cross-entropy of random labels, the mean over positions."""
    generator = np.random.default_rng([seed, 1])
    x = generator.normal(size=(1, TIME, UNITS)).astype("float32")
    readout = generator.normal(0.0, UNITS**-0.5, (UNITS, UNITS)).astype("float32")
    labels = generator.integers(0, UNITS, (1, TIME))
    for block in blocks[:-1]:
        x = block(x)
    with tf.GradientTape() as tape:  # nothing below the last layer matters
        x = blocks[-1](x)
        logits = ops.matmul(final_norm(x) if final_norm else x, readout)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
    return float(tf.norm(tape.gradient(loss, blocks[-1].feedforward.output_projection.kernel.value)))


@pytest.mark.release(but=1)
@pytest.mark.slow
@pytest.mark.parametrize("wiring", WIRINGS)
def test_the_last_gradient_against_the_depth(wiring):
    """Theorem 1: `O(d sqrt(ln d))` where the norm is behind, `O(d sqrt(ln d / L))` where it is in front: slope -1/2."""
    stack, norms = theorems_stack(wiring, max(DEPTHS)), []
    for seed in range(4):
        initialise(stack, seed)
        norms.append([last_gradient(stack.blocks[:depth], stack.final_norm, seed) for depth in DEPTHS])
    means = np.mean(norms, axis=0)
    slope = np.polyfit(np.log(DEPTHS), np.log(means), 1)[0]
    print(
        f"{wiring}: ||dL/dW_2|| {means.round(3).tolist()} at L = {list(DEPTHS)}, slope {slope:+.2f}"
    )  # see it with -s
    lowest, highest = SLOPES[wiring]
    assert lowest < slope < highest


def squared_norms(values):
    return float(np.mean(np.sum(ops.convert_to_numpy(values) ** 2, axis=-1)))


@pytest.mark.slow
def test_norms_in_front_let_the_stream_grow():
    """Lemma 2: `(1 + l/2) d <= E ||x_l||^2 <= (1 + 3l/2) d`."""
    stack = theorems_stack("pre_norm", 8)
    found = []
    for seed in range(4):
        x = initialise(stack, seed).normal(size=(4, TIME, UNITS)).astype("float32")
        found.append([])
        for block in stack.blocks:
            x = block(x)
            found[-1].append(squared_norms(x) / UNITS)
    for layer, mean in enumerate(np.mean(found, axis=0), start=1):
        assert 0.95 * (1 + layer / 2) <= mean <= 1.05 * (1 + 3 * layer / 2)


def test_norms_behind_keep_it():
    """Lemma 2: the sum in front of the last norm has `E ||x||^2 = 3 d / 2`, in every layer."""
    stack, sums = theorems_stack("post_norm", 4), []
    for seed in range(4):
        x = initialise(stack, seed).normal(size=(4, TIME, UNITS)).astype("float32")
        for block in stack.blocks:
            attended = block.norms[0](x + block.attention(x))
            sums.append(squared_norms(attended + block.feedforward(attended)) / UNITS)
            x = block(x)
            assert abs(squared_norms(x) / UNITS - 1) < 0.01
    assert abs(np.mean(sums) - 1.5) < 0.1
