"""bfloat16 products of TensorFlow's steps, whose sums are float32 until they are rounded once."""

import gc

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

from zoo.training.steps.graph_products import summed_in_float32
from zoo.training.steps.tensorflow import Compiled

RANDOM = np.random.default_rng(0)


def array(*shape):
    return tf.constant(RANDOM.normal(size=shape), tf.bfloat16)


def exact(tensor):
    return tf.cast(tensor, tf.float64).numpy()


def run(function, **batch):
    """What the rewritten function returns; one of the tensors of a batch is of floats."""
    batch["weights"] = tf.ones((2,))
    return tf.function(summed_in_float32(function), jit_compile=True, autograph=False)(batch)


def operations(graph):
    """All nodes of a graph and of its functions."""
    graph = graph.as_graph_def()
    return [*graph.node, *(node for each in graph.library.function for node in each.node_def)]


def narrow_products(function, **batch):
    batch["weights"] = tf.ones((2,))
    graph = tf.function(summed_in_float32(function), autograph=False).get_concrete_function(batch).graph
    return [
        each.name for each in operations(graph) if each.op in ("MatMul", "BatchMatMulV2") and each.attr["T"].type == 14
    ]


@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("rows", [5, 384])
def test_a_product_is_rounded_once(turned, rows):
    x = array(*((64, rows) if turned[0] else (rows, 64)))
    y = array(*((48, 64) if turned[1] else (64, 48)))
    found = run(lambda batch: tf.matmul(batch["x"], batch["y"], *turned), x=x, y=y)
    assert found.dtype == tf.bfloat16
    factors = [exact(each).T if flag else exact(each) for each, flag in zip((x, y), turned, strict=True)]
    np.testing.assert_allclose(exact(found), factors[0] @ factors[1], rtol=2**-8, atol=1e-3)


def body(x, w):
    """Of a product both the rounded result and the one that is widened again are read."""
    product = tf.matmul(x, w)
    return tf.cast(tf.tanh(tf.cast(product, tf.float32)), x.dtype) + product / 100


def loss(x, w, v):
    """Products of matrices and of batches, in a loop, and of which the result is widened."""
    x = tf.tanh(tf.matmul(x, w))
    _, x = tf.while_loop(lambda n, x: n < 3, lambda n, x: (n + 1, body(x, w)), (0, x), maximum_iterations=3)
    scores = tf.matmul(x[None], x[None], transpose_b=True)
    return tf.reduce_mean(tf.square(tf.cast(tf.matmul(scores[0], v), tf.float32)))


def test_gradients_and_loops_are_rewritten_and_are_those_of_float32():
    batch = {"x": array(16, 24), "w": array(24, 24) / 5, "v": array(16, 7)}

    def gradients(batch):
        values = [batch[name] for name in "xwv"]
        with tf.GradientTape() as tape:
            tape.watch(values)
            value = loss(*values)
        return [value, *tape.gradient(value, values)]

    assert not narrow_products(gradients, **batch)
    found = run(gradients, **batch)
    expected = gradients({name: tf.cast(value, tf.float32) for name, value in batch.items()})
    for one, other in zip(found, expected, strict=True):
        size = np.abs(exact(other)).max()
        np.testing.assert_allclose(exact(one), exact(other), atol=0.03 * size)


def test_what_is_widened_is_not_rounded():
    x, w = array(64, 512), tf.constant(RANDOM.normal(size=(512, 7)), tf.float32)
    weight = tf.constant(RANDOM.normal(size=(64, 7)), tf.float32)

    def gradient(batch):
        with tf.GradientTape() as tape:
            tape.watch(batch["w"])
            logits = tf.cast(tf.matmul(batch["x"], tf.cast(batch["w"], tf.bfloat16)), tf.float32)
            value = tf.reduce_sum(logits * tf.cast(tf.cast(batch["weight"], tf.bfloat16), tf.float32))
        return logits, tape.gradient(value, batch["w"])

    logits, found = run(gradient, x=x, w=w, weight=weight)
    narrow = [exact(x), exact(tf.cast(w, tf.bfloat16)), exact(tf.cast(weight, tf.bfloat16))]
    np.testing.assert_allclose(logits, narrow[0] @ narrow[1], rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(found, narrow[0].T @ narrow[2], rtol=1e-5, atol=1e-4)


def test_variables_are_read_and_updated():
    w = tf.Variable(array(8, 4))
    count = tf.Variable(0)

    def step(batch):
        count.assign_add(1)
        w.assign_add(tf.matmul(batch["x"], batch["x"], transpose_a=True) @ tf.ones((8, 4), tf.bfloat16))
        return tf.matmul(batch["x"], w)

    x, compiled = array(6, 8), Compiled(step, wide=True)
    for _ in range(2):
        before = tf.constant(w)
        found = compiled({"x": x, "weights": tf.ones((2,))})
        np.testing.assert_allclose(
            exact(w), exact(before) + exact(x).T @ exact(x) @ np.ones((8, 4)), rtol=0.05, atol=0.3
        )
        np.testing.assert_allclose(exact(found), exact(x) @ exact(w), rtol=0.05, atol=0.3)
    assert int(count) == 2 and compiled.num_programs == 1


def test_a_product_that_xla_refuses_is_compiled_as_it_was_written():
    """XLA takes the reshaped transposition for a transposed factor, too late to give it a kernel."""
    count = tf.Variable(0)

    def step(batch):
        count.assign_add(1)
        turned = tf.reshape(tf.transpose(tf.reshape(batch["x"], (32, 8, 512)), (2, 0, 1)), (512, 256))
        return tf.matmul(turned, batch["y"])

    x, y = array(256, 512), array(256, 512)
    batch = {"x": x, "y": y, "weights": tf.ones((2,))}
    with pytest.raises(tf.errors.UnimplementedError):  # otherwise the second way can go
        tf.function(summed_in_float32(step), jit_compile=True, autograph=False)(batch)
    compiled = Compiled(step, wide=True)
    with pytest.warns(UserWarning, match="slower, for batches of .*256.*DotThunk"):
        compiled(batch)
    np.testing.assert_allclose(exact(compiled(batch)), exact(x).T @ exact(y), rtol=2**-7, atol=0.2)  # and warns no more
    assert int(count) == 2


def test_a_step_without_bfloat16_is_left_as_it_is():
    compiled = Compiled(lambda batch: tf.matmul(batch["x"], batch["x"], transpose_b=True), wide=False)
    x = tf.constant(RANDOM.normal(size=(3, 4)), tf.float32)
    np.testing.assert_allclose(compiled({"x": x}), x.numpy() @ x.numpy().T, rtol=1e-5)
    assert [each.op for each in operations(compiled.graph({"x": x})) if "MatMul" in each.op] == ["MatMul"]


def test_what_stands_with_an_input_or_waits_for_one_is_compiled():
    """An embedding is looked up where its table is, and a control dependency may be on an input or a variable."""
    table, x = tf.Variable(array(9, 4)), array(6, 4)

    def step(batch):
        rows = tf.nn.embedding_lookup(table, batch["ids"])
        with tf.control_dependencies([batch["x"], rows]):
            return tf.matmul(batch["x"], rows, transpose_b=True)

    ids = tf.constant([1, 8, 1])
    found = tf.function(summed_in_float32(step), jit_compile=True, autograph=False)({"ids": ids, "x": x})
    np.testing.assert_allclose(exact(found), exact(x) @ exact(table)[ids].T, rtol=2**-7, atol=0.02)


def test_a_batch_may_be_of_integers():
    never = tf.Variable(array(5, 4), name="never")
    step = summed_in_float32(lambda batch: tf.matmul(tf.gather(never, batch["ids"]), never, transpose_b=True))
    found = tf.function(step, jit_compile=True, autograph=False)({"ids": tf.constant([3, 0])})
    np.testing.assert_allclose(exact(found), exact(never)[[3, 0]] @ exact(never).T, rtol=2**-7, atol=0.02)


def test_functions_are_gone_with_the_step():
    def traced():
        product = summed_in_float32(lambda batch: tf.matmul(batch["x"], batch["x"], transpose_a=True))
        step = tf.function(product, jit_compile=True, autograph=False)
        step({"x": array(4, 3)})
        assert known() > before

    def known():
        gc.collect()
        return len([name for name in context.context().list_function_names() if "turned_product" in str(name)])

    before = known()
    traced()
    assert known() == before


def test_each_shape_has_a_program_of_its_own():
    compiled = Compiled(lambda batch: tf.matmul(batch["x"], batch["x"], transpose_a=True), wide=True)
    for rows in (4, 7, 4):
        x = array(rows, 3)
        np.testing.assert_allclose(exact(compiled({"x": x})), exact(x).T @ exact(x), rtol=2**-7, atol=0.02)
    assert compiled.num_programs == 2
