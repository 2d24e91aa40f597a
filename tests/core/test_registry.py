"""Names in Keras' registry: found after `import zoo`, and never taken twice."""

import keras
import pytest

import zoo
from zoo.attention import LSHAttention, MultiHeadAttention
from zoo.attention.local import RingLSHAttention
from zoo.core.arrival import ROOMS
from zoo.core.registry import register, register_as


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
