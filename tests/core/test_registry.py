"""Names in Keras' registry: found after `import zoo`, and never taken twice."""

import keras
import pytest

import zoo
from zoo.core.arrival import ROOMS
from zoo.core.registry import register


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


def test_arguments_that_go_to_the_base_class_by_keyword_are_kept():
    from zoo.attention.lsh import LSHAttention
    from zoo.attention.ring_lsh import RingLSHAttention

    assert LSHAttention.from_config(LSHAttention(8, 2, head_units=3).get_config()).head_units == 3
    again = RingLSHAttention.from_config(RingLSHAttention(8, 2, use_bias=True, seed=5).get_config())
    assert (again.use_bias, again.seed) == (True, 5)
