"""What registered classes share: names that are found and never taken twice, arguments, and what Keras quantized."""

import itertools
import json

import keras
import numpy as np
import pytest
from keras import dtype_policies, layers, quantizers

import zoo
from tests.shared import python
from zoo.attention import LSHAttention, MultiHeadAttention
from zoo.attention.local import RingLSHAttention
from zoo.check.laws import lengths, token_ids
from zoo.check.of_keras import quantize
from zoo.core.arrival import ROOMS
from zoo.core.registry import ENTRY, made_inside, register, register_as
from zoo.depth import make_stack
from zoo.embeddings import ConcatenatedPositions
from zoo.models import Classifier, Seq2Seq


@pytest.fixture
def undone():
    """Leave the registry as it was."""
    objects = keras.saving.get_custom_objects()
    before = dict(objects)
    yield
    for name in objects.keys() - before.keys():
        del objects[name]


def test_a_registered_class_is_found(undone):
    class Fresh(keras.layers.Layer):
        pass

    assert register(Fresh) is Fresh
    assert keras.saving.get_registered_object("zoo>Fresh") is Fresh
    assert keras.saving.get_registered_name(Fresh) == "zoo>Fresh"


def test_a_name_is_taken_once(undone):
    class Seq2Seq(keras.Model):
        pass

    with pytest.raises(
        ValueError,
        match="'zoo>Seq2Seq' is already registered by zoo.models.seq2seq.Seq2Seq; "
        ".*test_a_name_is_taken_once.<locals>.Seq2Seq needs a name of its own",
    ):
        register(Seq2Seq)
    assert keras.saving.get_registered_object("zoo>Seq2Seq") is zoo.models.Seq2Seq


def test_a_reloaded_module_may_register_again(undone):
    def define():
        class Again(keras.layers.Layer):
            pass

        return Again

    register(define())
    second = register(define())
    assert keras.saving.get_registered_object("zoo>Again") is second


def test_every_public_class_is_registered():
    for room in (getattr(zoo, name) for name in ROOMS):
        for name in room.__all__:
            found = getattr(room, name)
            if isinstance(found, type) and hasattr(found, "get_config"):  # what goes into a file
                assert keras.saving.get_registered_object(f"zoo>{name}") is found


def again(layer):
    return type(layer).from_config(layer.get_config())


def test_arguments_that_go_to_the_base_class_by_keyword_are_kept():
    assert again(LSHAttention(8, 2, head_units=3)).head_units == 3
    ring = again(RingLSHAttention(8, 2, use_bias=True, seed=5))
    assert (ring.use_bias, ring.seed) == (True, 5)


def test_a_subclass_of_somebody_else_keeps_the_arguments_of_its_base(undone):
    """As every Keras layer does whose `get_config` adds to that of its base, or takes out what it decides itself."""

    class Wider(MultiHeadAttention):
        def __init__(self, units, num_heads, extra=1, **kwargs):
            super().__init__(units, num_heads, **kwargs)
            self.extra = extra

        def get_config(self):
            return {**super().get_config(), "extra": self.extra}

    class Plain(MultiHeadAttention):
        def __init__(self, units, num_heads, **kwargs):
            super().__init__(units, num_heads, use_bias=False, **kwargs)

        def get_config(self):
            return {name: value for name, value in super().get_config().items() if name != "use_bias"}

    wider = again(Wider(8, 2, extra=3, dropout=0.5, use_bias=True, seed=4))
    assert (wider.extra, wider.dropout, wider.use_bias, wider.seed) == (3, 0.5, True, 4)
    for kind in (Plain, register_as("tests", Plain)):
        plain = again(kind(8, 2, dropout=0.5))
        assert (plain.dropout, plain.use_bias) == (0.5, False)


X = np.random.default_rng(1).normal(size=(2, 5, 6)).astype("float32")


def register_mine(cls):
    return register_as("quantized_here", cls)


@register_mine
class Late(layers.Layer):
    """A layer of somebody else, whose layers have no names; one is made by `build`."""

    def __init__(self, inner, **kwargs):
        super().__init__(**kwargs)
        self.inner = inner
        self.first = layers.Dense(4, dtype=self.dtype_policy)

    def build(self, x_shape):
        self.first.build(x_shape)
        self.last = layers.Dense(x_shape[-1], dtype=self.dtype_policy)
        self.last.build((*x_shape[:-1], 4))
        if not self.inner.built:
            self.inner.build(x_shape)

    def call(self, x):
        return self.inner(self.last(self.first(x)))

    def get_config(self):
        return {**super().get_config(), "inner": keras.saving.serialize_keras_object(self.inner)}

    @classmethod
    def from_config(cls, config):
        return cls(**{**config, "inner": keras.saving.deserialize_keras_object(config["inner"])})


MAKERS = {
    "attention": lambda: MultiHeadAttention(6, 2),
    "made by build": lambda: ConcatenatedPositions(8, 3),
    "of others": lambda: Late(MultiHeadAttention(6, 2)),
    "of others inside": lambda: Late(Late(layers.Dense(6))),
}


def copied(layer):
    return keras.saving.deserialize_keras_object(json.loads(json.dumps(keras.saving.serialize_keras_object(layer))))


@pytest.mark.slow
@pytest.mark.release(but="int8")
@pytest.mark.parametrize(("name", "mode"), [*itertools.product(MAKERS, ("int8", "int4", "float8"))])
def test_a_copy_and_a_file_are_quantized_alike(name, mode, tmp_path):
    x = keras.Input((None, 6))
    layer = MAKERS[name]()
    model = keras.Model(x, layer(x))
    assert ENTRY not in layer.get_config()
    assert quantize(layer, mode) >= 1
    expected = np.asarray(model(X))
    model.save(tmp_path / "model.keras")
    np.testing.assert_array_equal(keras.models.load_model(tmp_path / "model.keras")(X), expected)
    model.save_weights(tmp_path / "model.weights.h5")
    unbuilt = type(layer).from_config(layer.get_config())  # without the shapes that a file has beside the config
    for twin in (copied(layer), unbuilt):
        assert json.dumps(twin.get_config()) == json.dumps(layer.get_config())
        other = keras.Model(x, twin(x))
        other.load_weights(tmp_path / "model.weights.h5")
        np.testing.assert_array_equal(other(X), expected)


@pytest.mark.slow
def test_quantizers_of_ones_own_are_kept(tmp_path):
    """Weights alone, in blocks: the policy does not say so, the configuration of the quantizers does."""
    x = keras.Input((None, 6))
    for config in (
        keras.quantizers.Int8QuantizationConfig(quantizers.AbsMaxQuantizer(axis=0), None),
        keras.quantizers.Int4QuantizationConfig(block_size=2),
    ):
        layer = MultiHeadAttention(6, 2)
        model = keras.Model(x, layer(x))
        for dense in made_inside(layer).values():
            if isinstance(dense, layers.Dense):
                dense.quantize(config=config)
        expected = np.asarray(model(X))
        model.save(tmp_path / "model.keras")
        np.testing.assert_array_equal(keras.models.load_model(tmp_path / "model.keras")(X), expected)


def test_some_layers_alone_may_be_quantized(tmp_path):
    model = Classifier(7, 3, make_stack(2, 6, 2, 8))
    inputs = {"token_ids": token_ids(((1, 5), (2, 3)), 5, 7), "lengths": lengths(((1, 5), (2, 3)))}
    model(inputs)
    model.quantize("int8", filters=lambda layer: layer.name in ("key", "readout"))
    found = {each.name for each in model._flatten_layers() if each.quantization_mode}
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert found == {each.name for each in loaded._flatten_layers() if each.quantization_mode} == {"key", "readout"}
    np.testing.assert_array_equal(loaded(inputs), model(inputs))


def test_a_map_of_policies_reaches_the_layers_inside():
    policies = dtype_policies.DTypePolicyMap("float32", {"attention/key": dtype_policies.get("int8_from_float32")})
    layer = MultiHeadAttention(6, 2, name="attention", dtype=policies)
    layer(X)
    assert layer.key_projection.quantization_mode == "int8" and layer.query_projection.quantization_mode is None
    twin = copied(layer)
    twin(X)
    twin.set_weights(layer.get_weights())
    np.testing.assert_array_equal(twin(X), layer(X))


@pytest.mark.slow
def test_a_shortlist_of_a_quantized_embedding():
    """The rows of an output matrix are numbers, and not the whole numbers that stand for them."""
    model = Seq2Seq(11, 13, units=6)
    inputs = {
        "source_ids": token_ids(((1, 4), (2, 2)), 4, 11),
        "source_lengths": lengths(((1, 4), (2, 2))),
        "target_ids": token_ids(((3, 1), (4, 1)), 1, 13),
    }
    model(inputs)
    ids = np.array([2, 5, 7], "int32")
    before = np.asarray(model.output_rows(ids)["columns"])
    assert quantize(model, "int8")
    np.testing.assert_allclose(model.output_rows(ids)["columns"], before, atol=0.02 * np.abs(before).max())


@pytest.mark.slow
def test_keras_own_layers_still_fail(tmp_path):
    """If this fails, Keras has mended what docs/inside-keras.md tells, and `zoo.core.registry` may go."""
    x = keras.Input((5, 6))
    model = keras.Model(x, layers.MultiHeadAttention(2, 3)(x, x))
    assert quantize(model, "int8")
    model.save(tmp_path / "model.keras")
    with pytest.raises(ValueError, match="could not be loaded"):
        keras.models.load_model(tmp_path / "model.keras")


REGISTERED = "assert any(name.startswith('zoo>') for name in keras.saving.get_custom_objects())"


@pytest.mark.release(but=1)
@pytest.mark.slow
@pytest.mark.parametrize(
    "before", ["import importlib.util as util; util.find_spec('keras')", "import zoo.hub", "import zoo.blocks.residual"]
)
def test_classes_arrive_with_keras(before):
    """To be asked where Keras is, as a check of what is installed does, is not its import."""
    python("-c", f"import zoo; {before}; import keras; {REGISTERED}")
