"""A pool of keys that the beams of a sentence share; and that static pools stay out of what is exported."""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests.models.cases import stack
from zoo.attention import cache as pool


def numbers(batch, beams, start):
    """`(batch, heads, beams, head_dim)` in which every entry says where it came from."""
    content = start + np.arange(batch * beams).reshape(batch, 1, beams, 1)
    return np.broadcast_to(content, (batch, 3, beams, 5)).astype("float32")


def grown(steps=3, entries=0, static=False):
    keys = {name: np.zeros((2, 3, entries, 5), "float32") for name in ("keys", "values")}
    keys = pool.add_room(keys, 2 * steps) if static else keys
    for step in range(steps):
        write_index = entries + 2 * step if static else None
        keys = pool.append(keys, numbers(2, 2, 10 * step), numbers(2, 2, 100 * step), write_index)
    return {name: ops.convert_to_numpy(leaf) for name, leaf in keys.items()}


@pytest.mark.parametrize("entries", [0, 3])
def test_static_and_growing_pools_hold_the_same(entries):
    growing, static = grown(entries=entries), grown(entries=entries, static=True)
    for name, factor in (("keys", 10), ("values", 100)):
        np.testing.assert_array_equal(growing[name], static[name])
        assert growing[name].shape == (2, 3, entries + 6, 5)
        np.testing.assert_array_equal(
            growing[name][1, 2, entries:, 4], np.add.outer(factor * np.arange(3), [2, 3]).ravel()
        )


def test_a_beam_sees_its_own_new_slot():
    seen = np.array([[[True, False]], [[False, True]]]).repeat(3, axis=1)
    expected = np.concatenate([seen, np.broadcast_to(np.eye(3, dtype=bool), (2, 3, 3))], axis=2)
    np.testing.assert_array_equal(ops.convert_to_numpy(pool.extend_seen(seen, 3)), expected)
    room = np.pad(seen, ((0, 0), (0, 0), (0, 3)))
    np.testing.assert_array_equal(ops.convert_to_numpy(pool.extend_seen(room, 3, write_index=2)), expected)


def operations(max_length):
    """The names of the operations of one step of a stack."""
    decoder = stack("pre_norm", 1)
    decoder.build((None, None, 6))

    @tf.function
    def step(x):
        return decoder.step(x, decoder.start(2, 2, max_length))[0]

    return {one.type for one in step.get_concrete_function(np.ones((2, 2, 6), "float32")).graph.get_operations()}


@pytest.mark.slow
def test_caches_that_grow_are_not_written_in_place():
    """`slice_update` is lost in ONNX: house_rules.py allows it for static caches alone."""
    updates = {"XlaDynamicUpdateSlice", "TensorScatterUpdate", "TensorStridedSliceUpdate"}
    assert not operations(None) & updates
    assert operations(3) & updates
