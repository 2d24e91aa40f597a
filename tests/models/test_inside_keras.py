"""compile, fit, evaluate, save and export as Keras users know them; our own steps are the oracle of fit."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.models.fitted import MODELS, ROWS, as_batch, data, make, optimizer
from tests.shared import once_more_on_jax, python
from tests.weights import of_policy
from zoo.core.protocols import Weight
from zoo.training import ChunkedCrossEntropy, RowAdam, SmoothedCrossEntropy, make_steps
from zoo.training.steps.optimizers import RowGradient

QUICK = ("classifier",)
KINDS = [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in MODELS]


def weights(model):
    return [ops.convert_to_numpy(variable) for variable in model.trainable_variables]


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("name", KINDS)
def test_fit_takes_the_steps_of_our_own_loop(name):
    """Two epochs of two batches, under XLA, with weights of the samples; losses that layers add count in both."""
    inputs, labels, sample_weights = data(name)
    fitted, loss = make(name)
    fitted.compile(optimizer(name), loss, jit_compile=True)
    history = fitted.fit(
        inputs, labels, batch_size=ROWS // 2, epochs=2, shuffle=False, verbose=0, sample_weight=sample_weights
    )
    model, loss = make(name)
    steps = make_steps(model, optimizer(name), loss)
    halves = slice(0, ROWS // 2), slice(ROWS // 2, None)
    losses = [float(steps.train(as_batch(inputs, labels, sample_weights, rows))) for _ in range(2) for rows in halves]
    steps.sync()
    found = history.history["loss"]
    np.testing.assert_allclose(found, [np.mean(losses[:2]), np.mean(losses[2:])], rtol=1e-4)
    assert found[1] < found[0]
    start = weights(make(name)[0])
    atol = 1e-3 if name == "product_key" else 2e-5  # Adam divides by gradients, however small, and takes steps of 0.05
    for variable, one, other in zip(model.trainable_variables, weights(fitted), weights(model), strict=True):
        if name != "product_key" or not variable.path.endswith("key/bias"):  # whose gradient is rounding, and zero
            np.testing.assert_allclose(one, other, atol=atol, err_msg=variable.path)
    assert any(np.abs(one - before).max() > 1e-3 for one, before in zip(weights(fitted), start, strict=True))


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("name", ["tagger", pytest.param("depth_adaptive", marks=pytest.mark.slow)])
def test_weighted_metrics_of_a_data_set(name):
    """evaluate and fit of a tf.data.Dataset count what NumPy counts in the logits of predict."""
    import tensorflow as tf

    inputs, labels, sample_weights = data(name)
    model, loss = make(name)
    metric = keras.metrics.SparseCategoricalAccuracy(name="accuracy")
    model.compile(optimizer(name), loss, weighted_metrics=[metric])
    batches = tf.data.Dataset.from_tensor_slices((inputs, labels, sample_weights)).batch(ROWS // 2)
    model.fit(batches, validation_data=batches, shuffle=False, verbose=0)
    found = model.evaluate(batches, verbose=0, return_dict=True)
    logits = model.predict(inputs, batch_size=ROWS // 2, verbose=0)
    right = (logits.argmax(-1) == labels) * sample_weights
    assert found["accuracy"] == pytest.approx(right.sum() / sample_weights.sum(), abs=1e-6)
    shifted = logits.astype("float64") - logits.max(-1, keepdims=True)
    nll = np.log(np.exp(shifted).sum(-1)) - np.take_along_axis(shifted, labels[..., None], -1)[..., 0]
    smoothing = loss.smoothing
    uniform = np.log(np.exp(shifted).sum(-1)) - shifted.mean(-1)
    each = (1 - smoothing) * nll + smoothing * uniform
    halves = [slice(0, ROWS // 2), slice(ROWS // 2, None)]
    expected = np.mean([(each * sample_weights)[rows].sum() / sample_weights[rows].sum() for rows in halves])
    assert found["loss"] == pytest.approx(expected, rel=1e-4)


@pytest.mark.slow
def test_callbacks_of_keras_and_a_backup(tmp_path):
    """A fit that dies in its third epoch and is called again ends where an undisturbed one does."""

    def run(folder, dies):
        def die(epoch, logs):
            if dies and epoch == 2:
                raise KeyboardInterrupt

        inputs, labels, sample_weights = data("classifier")
        model, loss = make("classifier")
        model.compile(keras.optimizers.Adam(0.01), loss)
        callbacks = [
            keras.callbacks.BackupAndRestore(folder / "backup"),
            keras.callbacks.LambdaCallback(on_epoch_begin=die),
            keras.callbacks.ModelCheckpoint(folder / "last.keras"),
        ]
        settings = {"batch_size": ROWS // 2, "epochs": 4, "shuffle": False, "verbose": 0}
        model.fit(inputs, labels, sample_weight=sample_weights, callbacks=callbacks, **settings)
        return model

    whole = run(tmp_path / "whole", dies=False)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "parts", dies=True)
    parts = run(tmp_path / "parts", dies=False)
    for one, other in zip(weights(whole), weights(parts), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)
    loaded = keras.models.load_model(tmp_path / "parts" / "last.keras")
    inputs, labels, sample_weights = data("classifier")
    found = [model.evaluate(inputs, labels, sample_weight=sample_weights, verbose=0) for model in (loaded, parts)]
    assert found[0] == pytest.approx(found[1], rel=1e-6)


@pytest.mark.release(but=1)
@pytest.mark.slow
@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
def test_mixed_precision(policy):
    inputs, labels, sample_weights = data("language_model")
    with of_policy(policy):
        model, loss = make("language_model")
    model.compile(keras.optimizers.Adam(0.02), loss)
    history = model.fit(inputs, labels, sample_weight=sample_weights, epochs=5, verbose=0).history["loss"]
    assert np.isfinite(history).all() and history[-1] < history[0]
    assert {str(variable.dtype) for variable in model.trainable_variables} == {"float32"}
    assert model.compute_dtype == policy.removeprefix("mixed_")


def test_a_chunked_loss_is_a_loss_of_keras():
    loss = ChunkedCrossEntropy(3, smoothing=0.1)
    assert isinstance(loss, keras.losses.Loss)
    config = keras.saving.serialize_keras_object(loss)
    again = keras.saving.deserialize_keras_object(config)
    assert (again.chunks, again.smoothing) == (3, 0.1)
    draw = np.random.default_rng(3)
    states, matrix = draw.normal(size=(2, 5, 4)).astype("float32"), draw.normal(size=(7, 4)).astype("float32")
    labels, sample_weights = draw.integers(0, 7, (2, 5)), draw.random((2, 5)).astype("float32")
    whole = SmoothedCrossEntropy(0.1)
    for given in (sample_weights, None):
        expected = float(whole(labels, states @ matrix.T, sample_weight=given))
        assert float(again(labels, (states, matrix), sample_weight=given)) == pytest.approx(expected, rel=1e-5)
        assert float(again(labels, states @ matrix.T, sample_weight=given)) == pytest.approx(expected, rel=1e-5)


def test_a_table_is_updated_by_the_rows_whose_gradient_is_not_zero():
    """What fit gives RowAdam on JAX, a gradient as large as the table, moves the rows that a list of rows would."""
    draw, found = np.random.default_rng(5), []
    indices, mixed = np.array([[4, 1], [1, 6]], "int32"), draw.normal(size=(2, 2)).astype("float32")
    upstream = draw.normal(size=(2, 3)).astype("float32")
    dense = np.zeros((8, 3), "float32")
    for position in range(2):
        for place, row in enumerate(indices[position]):
            dense[row] += mixed[position, place] * upstream[position]
    for gradient in (
        ops.convert_to_tensor(dense),
        RowGradient(*map(ops.convert_to_tensor, (indices, mixed, upstream))),
    ):
        table = keras.Variable(np.arange(24, dtype="float32").reshape(8, 3))
        table.traits = Weight(row_updates=True)
        adam = RowAdam(1e-3, row_learning_rate=0.1)
        adam.build([table])
        for _ in range(2):
            adam.apply([gradient], [table])
        found.append(ops.convert_to_numpy(table))
    np.testing.assert_allclose(found[0], found[1], atol=1e-6)
    moved = np.abs(found[0] - np.arange(24).reshape(8, 3)).max(axis=1) > 1e-3
    np.testing.assert_array_equal(np.flatnonzero(moved), [1, 4, 6])


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("name", ["classifier", "seq2seq", "language_model", "transformer"])
@pytest.mark.parametrize("format", ["tf_saved_model", "onnx"])
def test_export_says_what_exports(name, format, tmp_path):
    model, _ = make(name)
    model(data(name)[0])
    with pytest.raises(ValueError, match=rf"{type(model).__name__}.export\(format='{format}'\).*serving.export.export"):
        model.export(tmp_path / "there", format=format)
    assert not list(tmp_path.iterdir())


LOADS = """
import sys, keras, zoo
model = keras.models.load_model(sys.argv[1])
print(type(model.loss).__name__, model.loss.get_config())
"""


@pytest.mark.slow
def test_a_compiled_model_loads_after_import_zoo_alone(tmp_path):
    model, loss = make("chunked")
    model.compile(optimizer("chunked"), loss)
    inputs, labels, sample_weights = data("chunked")
    model.fit(inputs, labels, sample_weight=sample_weights, verbose=0)
    model.save(tmp_path / "model.keras")
    done = python("-c", LOADS, tmp_path / "model.keras")
    assert done.stdout.strip() == f"ChunkedCrossEntropy {loss.get_config()}"


@pytest.mark.release
def test_all_of_this_on_jax():
    once_more_on_jax(__file__)
