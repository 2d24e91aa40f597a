"""A Transformer's generation in one graph: the tokens of Keras from a few fused operators."""

from collections import Counter
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from serving.export.onnx.convert import convert, load
from serving.export.onnx.graphs import bodies
from serving.export.onnx.operators import native_operators
from serving.export.onnx.quantize import quantize
from serving.export.onnx.ranges import observe
from serving.export.signatures import find, generation
from tests.models.settings import CASES
from tests.weights import randomised
from zoo.attention import MultiHeadAttention
from zoo.attention.cache import append
from zoo.core.signatures import Signature, TensorSpec
from zoo.depth import make_stack
from zoo.models import Transformer

STEPS, VOCABULARY = 9, 53
SHAPES = ((1, 1), (1, 7), (3, 5), (8, 13))


def make_model(block):
    """Random weights, large enough that tokens vary and some rows end early."""
    keras.utils.set_random_seed(1)
    stacks = [make_stack(2, 32, 4, 64, block=block, cross=cross, dropout=0.0) for cross in (False, True)]
    model = Transformer(61, VOCABULARY, *stacks, dropout=0.0)
    model.build()
    random = np.random.default_rng(0)
    for variable in model.trainable_variables:
        variable.assign(variable + random.normal(0, 0.3, variable.shape).astype("float32"))
    return model


OTHERS = [pytest.param(each, marks=pytest.mark.slow) for each in (("pre_norm", 1), ("post_norm", 1), ("macaron", 4))]


def generated(model, beams, block=None):
    function = generation(model, beams, STEPS, 0.6)
    signature = find(model.signatures(), "tokens").fix(beams=beams, output_time=STEPS)
    return SimpleNamespace(beams=beams, function=function, graph=convert(function, signature), block=block)


@pytest.fixture(scope="module", params=[("pre_norm", 4), *OTHERS])
def generator(request):
    block, beams = request.param
    return generated(make_model(block), beams, block)


def sentences(rows, time, vocabulary=61):
    """Ragged; the fourth row is empty."""
    random = np.random.default_rng(rows * time)
    lengths = random.integers(1, time + 1, rows)
    lengths[3:4] = 0
    token_ids = random.integers(4, vocabulary, (rows, time)).astype("int32")
    return {"token_ids": token_ids, "lengths": lengths.astype("int32")}


def check(generator, inputs):
    """The graph's tokens and scores are those of Keras."""
    expected = generator.function(**inputs)
    ids, lengths, scores = load(generator.graph).run(None, inputs)
    np.testing.assert_array_equal(ids, expected["output_ids"])
    np.testing.assert_array_equal(lengths, expected["output_lengths"])
    np.testing.assert_allclose(scores, expected["scores"], atol=1e-4)


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("shape", SHAPES)
def test_tokens_and_scores_are_those_of_keras(generator, shape):
    check(generator, sentences(*shape))


@pytest.mark.slow
@pytest.mark.release(but="-3")
@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("name", ["with-an-output", "ssru", "t5"])
def test_those_of_t5_and_of_a_student_of_marian_too(name, beams):
    """Biases go into the fused operator."""
    (case,) = [case for case in CASES if case.name == f"transformer-{name}"]
    generator = generated(randomised(case.make(), 3), beams)
    for shape in SHAPES[:3] if name == "with-an-output" else SHAPES:  # it has 11 positions
        check(generator, sentences(*shape, vocabulary=11))


@pytest.mark.slow
@pytest.mark.release(but=1)
def test_rows_do_not_depend_on_their_batch_mates(generator):
    inputs = sentences(8, 13)
    session = load(generator.graph)
    together = session.run(["output_ids"], inputs)[0]
    for row in range(8):
        alone = session.run(["output_ids"], {name: array[row : row + 1] for name, array in inputs.items()})[0]
        np.testing.assert_array_equal(alone[0], together[row])


def step_of(graph):
    """The innermost loop and its body: the steps, between two of which rows leave."""
    (loop,) = (node for node in graph.node if node.op_type == "Loop")
    (body,) = bodies(loop)
    return step_of(body) if any(node.op_type == "Loop" for node in body.node) else (loop, body)


@pytest.mark.slow
@pytest.mark.release(but=1)
def test_a_step_is_fused_and_carries_no_weight(generator):
    loop, body = step_of(generator.graph.graph)
    found = Counter(node.op_type for node in body.node)
    assert found["MultiHeadAttention"] == 4 and not found["Softmax"]
    assert found["LayerNormalization"] == {"pre_norm": 7, "post_norm": 6, "macaron": 9}[generator.block]
    matrices, rows = (3, 4) if generator.beams > 1 else (0, 0)
    assert found["GatherND"] == rows and found["GatherElements"] == matrices
    # The token's vector; of one hypothesis its place in two arrays, of beams the best open one, the worst finished one
    # and the penalty of their length.
    assert found["Gather"] == (4 if generator.beams > 1 else 3)
    kernels = [node for node in body.node if node.op_type == "MatMul"]
    assert len(kernels) == {"pre_norm": 17, "post_norm": 17, "macaron": 21}[generator.block]
    bookkeeping = 5 if generator.beams == 1 else 8  # token, position, hypotheses, and what is seen
    assert len(loop.input) - 2 <= 2 * 2 + bookkeeping + 2


@pytest.mark.slow
@pytest.mark.release(but=1)
def test_int8_is_smaller_and_close(generator):
    small = quantize(generator.graph, observe(generator.graph, [sentences(4, 9)]))
    found = Counter(node.op_type for node in step_of(small.graph)[1].node)
    assert found["MatMulIntegerToFloat"] and not found["MatMul"]
    assert small.ByteSize() < 0.6 * generator.graph.ByteSize()
    inputs = sentences(8, 13)
    expected, received = (load(model).run(["output_ids"], inputs)[0][:, 0] for model in (generator.graph, small))
    assert (expected == received).all(axis=1).sum() >= 5


def attention_of(function, **specs):
    """The function's ONNX session and what Keras says, over random inputs of the specs' sizes."""
    inputs = tuple(TensorSpec(name, dtype, shape) for name, (dtype, shape) in specs.items())
    random = np.random.default_rng(0)

    def value(spec):
        shape = [axis if isinstance(axis, int) else {"batch": 3, "time": 5, "slots": 6}[axis] for axis in spec.shape]
        return random.normal(size=shape).astype(spec.dtype) if spec.dtype == "float32" else random.random(shape) < 0.5

    values = {spec.name: value(spec) for spec in inputs}
    expected = function(**values)
    outputs = tuple(TensorSpec(name, "float32", (None,) * len(array.shape)) for name, array in expected.items())
    named = tuple(TensorSpec(o.name, o.dtype, tuple(f"{o.name}_{i}" for i in range(len(o.shape)))) for o in outputs)
    model = convert(function, Signature("attention", inputs, named))
    assert "MultiHeadAttention" in {node.op_type for node in model.graph.node}
    for name, received in zip(expected, load(model).run(None, values), strict=True):
        np.testing.assert_allclose(received, expected[name], atol=2e-5)


@pytest.mark.parametrize("queries", [1, 5])
def test_mix_with_a_mask_of_every_shape_even_where_nothing_is_seen(queries):
    layer = MultiHeadAttention(8, 2)
    pool = ("float32", ("batch", 2, "slots", 4))

    def mix(query, keys, values, mask):
        mask = ops.logical_and(mask, ops.arange(3)[:, None, None] > 0)  # row 0 sees nothing
        return {"mixed": layer.mix(query, keys, values, mask)}

    attention_of(
        mix, query=("float32", ("batch", 5, 8)), keys=pool, values=pool, mask=("bool", ("batch", queries, "slots"))
    )


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_mix_all(causal, masked):
    """Under masks that begin with padding, too: those queries see nothing where attention is causal."""
    mask = tf.constant(np.array([[0, 0, 0, 0, 0], [0, 0, 1, 0, 1], [1, 1, 1, 0, 0]], bool))
    layer = MultiHeadAttention(8, 2)
    part = ("float32", ("batch", "time", 8))

    def mix_all(query, key, value):
        return {"mixed": layer.mix_all(query, key, value, mask if masked else None, causal)}

    attention_of(mix_all, query=part, key=part, value=part)


def test_extend_appends():
    layer = MultiHeadAttention(8, 2)
    new, pool = ("float32", ("batch", 2, 8)), ("float32", ("batch", 2, "slots", 4))

    def extend(query, key, value, keys, values, seen):
        seen = ops.concatenate([seen, ops.broadcast_to(ops.eye(2, dtype="bool"), (3, 2, 2))], axis=2)
        mixed, cache = layer.extend(query, key, value, {"keys": keys, "values": values}, seen, None)
        return {"mixed": mixed, "keys_after": cache["keys"], "values_after": cache["values"]}

    attention_of(extend, query=new, key=new, value=new, keys=pool, values=pool, seen=("bool", ("batch", 2, "slots")))


def test_static_slots_and_the_time_after_conversion_are_untouched():
    layer, before = MultiHeadAttention(8, 2), MultiHeadAttention.mix
    x, zeros = tf.ones((1, 1, 8)), tf.zeros((1, 2, 3, 4))
    seen = tf.constant([[[True, False, False]]])
    with native_operators():
        assert MultiHeadAttention.mix is not before
    assert MultiHeadAttention.mix is before
    mixed, cache = layer.extend(x, x, x, {"keys": zeros, "values": zeros}, seen, 0)
    expected = append({"keys": zeros, "values": zeros}, layer.split_heads(x), layer.split_heads(x), 0)
    np.testing.assert_array_equal(cache["keys"], expected["keys"])
    np.testing.assert_allclose(mixed, x, atol=1e-6)
