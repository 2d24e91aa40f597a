"""The ranges that are observed are those of the numbers that NumPy computes."""

import numpy as np
import tensorflow as tf

from serving.export.onnx.convert import convert
from serving.export.onnx.ranges import keys_of, observe
from zoo.core.signatures import Signature, TensorSpec

RANDOM = np.random.default_rng(0)
ONE, OTHER = (RANDOM.normal(size=(17, 17)).astype("float32") / 4 for _ in range(2))
FEEDS = [{"x": RANDOM.normal(size=(rows, 17)).astype("float32")} for rows in (1, 4)]
SIGNATURE = Signature("f", (TensorSpec("x", "float32", ("batch", 17)),), (TensorSpec("y", "float32", ("batch", 17)),))


def ends(*values):
    """The range of all numbers of some arrays, and of zero."""
    return min(0.0, *(v.min() for v in values)), max(0.0, *(v.max() for v in values))


def check(function, *expected):
    """The ranges of a function of TensorFlow are `expected`, in whatever order."""
    model = convert(lambda x: {"y": function(x)}, SIGNATURE)
    found = observe(model, FEEDS)
    assert found.keys() == keys_of(model)
    np.testing.assert_allclose(sorted(found.values()), sorted(expected), rtol=1e-4, atol=1e-6)


def test_of_two_products_in_a_row():
    xs = [feed["x"] for feed in FEEDS]
    check(lambda x: tf.nn.relu(x @ ONE) @ OTHER, ends(*xs), ends(*(np.maximum(x @ ONE, 0) for x in xs)))


def test_of_a_weight_that_is_used_twice_it_is_that_of_both():
    xs = [feed["x"] for feed in FEEDS]
    check(lambda x: tf.nn.relu(x @ ONE) @ ONE, ends(*xs, *(np.maximum(x @ ONE, 0) for x in xs)))


def test_of_a_loop_inside_a_loop_it_is_that_of_all_steps():
    def inner(x):
        return tf.while_loop(lambda i, _: i < 3, lambda i, h: (i + 1, h @ ONE + 1.0), (tf.constant(0), x))[1]

    def outer(x):
        return tf.while_loop(lambda i, _: i < 2, lambda i, h: (i + 1, inner(h) @ OTHER), (tf.constant(0), x))[1]

    ones, others = [], []
    for h in (feed["x"] for feed in FEEDS):
        for _ in range(2):
            for _ in range(3):
                ones.append(h)
                h = h @ ONE + 1
            others.append(h)
            h = h @ OTHER
    check(outer, ends(*ones), ends(*others))


def test_of_branches_it_is_that_of_the_runs_that_came_to_them():
    def function(x):
        return tf.cond(tf.shape(x)[0] > 2, lambda: x @ ONE, lambda: tf.cond(x[0, 0] > 99, lambda: x @ OTHER, lambda: x))

    check(function, ends(FEEDS[1]["x"]), (0, 0))


def test_a_loop_without_a_step_has_none():
    def function(x):
        steps = tf.cast(x[0, 0] * 0, "int32")
        return tf.while_loop(lambda i, _: i < steps, lambda i, h: (i + 1, h @ ONE), (tf.constant(0), x))[1]

    check(function, (0, 0))
