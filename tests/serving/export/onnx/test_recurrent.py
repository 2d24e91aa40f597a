"""Native recurrent operators against Keras eager, over configurations, shapes and empty rows."""

import sys
from collections import Counter

import keras
import numpy as np
import pytest
from keras import layers, ops

from serving.export.onnx.convert import convert, load
from serving.export.onnx.graphs import walk
from serving.export.onnx.recurrent import native_recurrent
from zoo.core.signatures import Signature, TensorSpec

FEATURES, UNITS = 3, 5
SHAPES = {"one": (1, 1), "small": (3, 7), "ragged, one row empty": (5, 13)}
ALL = {"return_sequences": True, "return_state": True}

# (layer, masked, with an initial state); one model holds them all, so that one conversion serves.
CASES = {
    "gru": (layers.GRU(UNITS, **ALL), False, False),
    "gru masked": (layers.GRU(UNITS, **ALL), True, False),
    "gru masked from a state": (layers.GRU(UNITS, **ALL), True, True),
    "gru backwards": (layers.GRU(UNITS, go_backwards=True, **ALL), False, False),
    "gru backwards masked": (layers.GRU(UNITS, go_backwards=True, **ALL), True, True),
    "gru last output": (layers.GRU(UNITS), True, False),
    "gru reset before": (layers.GRU(UNITS, reset_after=False, **ALL), True, True),
    "gru without bias": (layers.GRU(UNITS, use_bias=False, **ALL), True, False),
    "gru zero padding": (layers.GRU(UNITS, zero_output_for_mask=True, **ALL), True, True),
    "gru zero padding, last": (layers.GRU(UNITS, zero_output_for_mask=True), True, False),
    "gru zero padding, backwards": (
        layers.GRU(UNITS, zero_output_for_mask=True, go_backwards=True, **ALL),
        True,
        False,
    ),
    "gru hard sigmoid, softsign": (
        layers.GRU(UNITS, "softsign", "hard_sigmoid", **ALL),
        True,
        False,
    ),
    "lstm": (layers.LSTM(UNITS, **ALL), False, False),
    "lstm masked": (layers.LSTM(UNITS, **ALL), True, False),
    "lstm masked from a state": (layers.LSTM(UNITS, **ALL), True, True),
    "lstm backwards masked": (layers.LSTM(UNITS, go_backwards=True, **ALL), True, True),
    "lstm last output": (layers.LSTM(UNITS), True, False),
    "lstm without bias": (layers.LSTM(UNITS, use_bias=False, **ALL), True, False),
    "lstm zero padding": (layers.LSTM(UNITS, zero_output_for_mask=True, **ALL), True, True),
    "lstm elu, hard sigmoid": (layers.LSTM(UNITS, "elu", "hard_sigmoid", **ALL), True, False),
    "lstm linear": (layers.LSTM(UNITS, "linear", **ALL), True, False),
    "rnn": (layers.SimpleRNN(UNITS, **ALL), False, False),
    "rnn masked from a state": (layers.SimpleRNN(UNITS, **ALL), True, True),
    "rnn backwards masked": (layers.SimpleRNN(UNITS, go_backwards=True, **ALL), True, True),
    "rnn relu": (layers.SimpleRNN(UNITS, "relu", **ALL), True, False),
    "rnn leaky relu": (layers.SimpleRNN(UNITS, "leaky_relu", **ALL), True, False),
    "rnn softplus": (layers.SimpleRNN(UNITS, "softplus", **ALL), True, False),
    "rnn zero padding": (layers.SimpleRNN(UNITS, zero_output_for_mask=True), True, False),
    "bidirectional gru": (layers.Bidirectional(layers.GRU(UNITS, **ALL)), True, False),
    "bidirectional gru unmasked": (layers.Bidirectional(layers.GRU(UNITS, **ALL)), False, False),
    "bidirectional lstm, last": (layers.Bidirectional(layers.LSTM(UNITS)), True, False),
    "bidirectional lstm, sum": (
        layers.Bidirectional(layers.LSTM(UNITS, return_sequences=True), merge_mode="sum"),
        True,
        False,
    ),
}
NATIVE = {"GRU", "LSTM", "RNN"}


def every_case(sequences, lengths, start):
    """All outputs of all cases as one dict; states start from `start`."""
    mask = ops.arange(ops.shape(sequences)[1])[None, :] < lengths[:, None]
    outputs = {}
    for name, (layer, masked, stateful) in CASES.items():
        options = {"mask": mask} if masked else {}
        if stateful:
            states = [start, 0.5 * start] if isinstance(layer, layers.LSTM) else [start]
            options["initial_state"] = states
        for index, value in enumerate(keras.tree.flatten(layer(sequences, **options))):
            outputs[f"{name}/{index}"] = value
    return outputs


def batch(shape, seed=0):
    rows, time = shape
    random = np.random.default_rng(seed)
    lengths = random.integers(1, time + 1, rows)
    lengths[0] = time
    lengths[-1] = 0 if rows > 3 else lengths[-1]
    return {
        "sequences": random.normal(size=(rows, time, FEATURES)).astype("float32"),
        "lengths": lengths.astype("int32"),
        "start": random.normal(size=(rows, UNITS)).astype("float32"),
    }


INPUTS = (
    TensorSpec("sequences", "float32", ("batch", "time", FEATURES)),
    TensorSpec("lengths", "int32", ("batch",)),
    TensorSpec("start", "float32", ("batch", UNITS)),
)


@pytest.fixture(scope="module")
def exported():
    names, random = [], np.random.default_rng(7)
    for name, value in every_case(**batch((2, 3))).items():
        middle = ("time",) if len(value.shape) == 3 else ()
        names.append(TensorSpec(name, "float32", ("batch", *middle, value.shape[-1])))
    # All weights are drawn here: a bias of zero hides a wrong order, and initializers choose their seeds when this
    # module is imported, before anything is seeded. A few such draws amplify float32's rounding to more than 2e-6.
    for layer, *_ in CASES.values():
        layer.set_weights([random.normal(scale=0.4, size=w.shape) for w in layer.get_weights()])
    return convert(every_case, Signature("every_case", INPUTS, tuple(names)))


@pytest.fixture(scope="module")
def results(exported):
    session = load(exported)
    names = [value.name for value in session.get_outputs()]
    found = {}
    for shape in SHAPES.values():
        expected = {name: np.asarray(v) for name, v in every_case(**batch(shape)).items()}
        received = dict(zip(names, session.run(None, batch(shape)), strict=True))
        found[shape] = expected, received
    return found


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("case", CASES)
def test_equals_keras(results, case, shape):
    expected, received = results[shape]
    chosen = [name for name in expected if name.rpartition("/")[0] == case]
    assert chosen
    for name in chosen:
        np.testing.assert_allclose(received[name], expected[name], rtol=1e-5, atol=2e-6, err_msg=name)


@pytest.mark.slow
def test_every_case_is_one_native_operator_per_direction_and_no_loop(exported):
    kinds = Counter(node.op_type for graph in walk(exported.graph) for node in graph.node)
    two_way = sum(isinstance(layer, layers.Bidirectional) for layer, *_ in CASES.values())
    assert sum(kinds[kind] for kind in NATIVE) == len(CASES) + two_way
    assert not kinds.keys() & {"Loop", "Scan", "If"}


@pytest.mark.slow
def test_weights_are_constants(exported):
    constants = {tensor.name for tensor in exported.graph.initializer}
    for node in exported.graph.node:
        if node.op_type in NATIVE:
            assert set(node.input[1:4]) <= constants


@pytest.mark.slow
def test_empty_row_keeps_its_state_and_gives_zeros(results):
    data = batch(SHAPES["ragged, one row empty"])
    _, received = results[SHAPES["ragged, one row empty"]]
    np.testing.assert_array_equal(received["gru masked from a state/1"][-1], data["start"][-1])
    np.testing.assert_array_equal(received["gru masked from a state/0"][-1], 0)


def one_layer(layer, **call):
    """The layer as a function of the sequences alone, with its signature."""

    def function(sequences):
        return {"outputs": layer(sequences, **call)}

    output = TensorSpec("outputs", "float32", ("batch", layer.units))
    return function, Signature("one_layer", INPUTS[:1], (output,))


@pytest.mark.parametrize(
    "layer",
    [
        layers.GRU(UNITS, activation=lambda x: 0.5 * x),
        layers.GRU(UNITS, activation="swish"),
        layers.LSTM(UNITS, activation="selu"),
    ],
    ids=["lambda", "swish", "selu"],
)
def test_unknown_activation_warns_and_keeps_the_loop_of_keras(layer):
    sequences = batch((3, 7))["sequences"]
    expected = np.asarray(layer(sequences))
    with pytest.warns(UserWarning, match="exported as a loop, not natively: activation"):
        model = convert(*one_layer(layer))
    assert "Loop" in {node.op_type for node in model.graph.node}
    (received,) = load(model).run(None, {"sequences": sequences})
    np.testing.assert_allclose(received, expected, atol=2e-6)


def test_stateful_layer_is_refused():
    layer = layers.GRU(UNITS, stateful=True)
    layer(np.zeros((2, 3, FEATURES), "float32"))
    function, signature = one_layer(layer)
    fixed = TensorSpec("sequences", "float32", (2, "time", FEATURES))
    with pytest.raises(ValueError, match="stateful: an exported graph keeps nothing"):
        convert(function, Signature("fixed", (fixed,), signature.outputs))


@pytest.mark.parametrize("dropout", ["dropout", "recurrent_dropout"])
def test_active_dropout_is_refused(dropout):
    function, signature = one_layer(layers.LSTM(UNITS, **{dropout: 0.5}), training=True)
    with pytest.raises(ValueError, match="training=True and dropout"):
        convert(function, signature)


def test_hook_is_gone_afterwards():
    before = {kind: kind.inner_loop for kind in (layers.GRU, layers.LSTM, layers.SimpleRNN)}
    with pytest.raises(RuntimeError), native_recurrent():
        assert all(kind.inner_loop is not method for kind, method in before.items())
        raise RuntimeError
    assert all(kind.inner_loop is method for kind, method in before.items())
    assert "inner_loop" not in vars(layers.SimpleRNN)


def test_visible_gpu_changes_nothing(monkeypatch):
    backend = sys.modules["keras.src.backend.tensorflow.rnn"]
    monkeypatch.setattr(backend, "_is_gpu_available", lambda: True)
    model = convert(*one_layer(layers.GRU(UNITS)))
    kinds = {node.op_type for node in model.graph.node}
    assert "GRU" in kinds and "CudnnRNNV3" not in kinds
