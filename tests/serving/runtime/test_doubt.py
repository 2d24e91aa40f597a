"""Circles, unknown pieces and the bound of length, by their definitions, and the same in a TensorFlow graph."""

import numpy as np
import pytest
import tensorflow as tf

from serving.export import gate as graph
from serving.kinds.rules import length_bound
from serving.runtime import doubt
from serving.runtime.reading import Bound


def blocks(ids):
    """The smallest n of which a block stands three times in a row, with what follows of it 5 pieces or more."""
    for size in range(1, len(ids)):
        for start in range(len(ids)):
            most = next((end for end in range(start + size, len(ids)) if ids[end] != ids[end - size]), len(ids))
            if most - start >= max(3 * size, 5):
                return size
    return None


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    drawn = [rng.integers(4, 4 + rng.integers(1, 4), rng.integers(0, 25)).tolist() for _ in range(300)]
    laid = [[9, 8, *times * block, 7] for block in ([5], [5, 6], [5, 6, 7], [4, 5, 6, 7]) for times in range(1, 10)]
    return drawn + laid


def test_a_circle_is_found_where_there_is_one(rows):
    found = [doubt.circle_size(ids) for ids in rows]
    assert found == [blocks(ids) for ids in rows]
    assert 30 < sum(size is not None for size in found) < 330


def test_a_graph_finds_the_same(rows):
    width = max(map(len, rows)) + 2
    ids = np.array([row + [5] * (width - len(row)) for row in rows], "int32")  # padding is not looked at
    said = graph.circle_warning(tf.constant(ids), tf.constant([len(row) for row in rows]))
    expected = [doubt.circle_size(row) and doubt.circle_warning(doubt.circle_size(row)) or "" for row in rows]
    assert [each.decode() for each in said.numpy()] == expected


@pytest.mark.parametrize("ids", [[7] * 5, [7, 8] * 3, [5, 6, 7] * 3, [1, 2, 3, 4] * 3])
def test_five_pieces_and_three_times_are_enough(ids):
    assert doubt.circle_size(ids) and doubt.circle_size([9, *ids, 9]) and doubt.circle_size(ids[:-1]) is None


def test_bounds_of_length_agree():
    lengths = np.arange(1, 60, dtype="int32")
    for rules in (
        {},
        {"max_length": 9},
        {"length_ratio": 1.3, "length_extra": 2},
        {"length_ratio": 0.1, "min_length": 4},
    ):
        found = graph.length_bounds(rules, 50, tf.constant(lengths)).numpy()
        assert found.tolist() == [length_bound(rules, 50, length) for length in lengths]


def test_unknown_pieces_are_counted():
    encode = {"known": [5, 6], "half": [5, 1, 1], "long": [1] * 9}.__getitem__
    bound = Bound(8, "truncate")
    known, half, long = bound.read(["known", "half", "long"], lambda texts: list(map(encode, texts)), ((), (3,)))
    assert known.warning is None
    assert half.warning == "2 of 3 pieces of the text are unknown to the model"
    assert long.warning == (
        "only the first 8 tokens are read, of 10 tokens; 7 of 7 pieces of the text are unknown to the model"
    )
    ids = tf.constant([[5, 6, 3, 0], [5, 1, 1, 3], [1, 3, 1, 1]])
    said = graph.unknown_warning(ids, tf.constant([3, 4, 2]), 1).numpy()
    assert [each.decode() for each in said] == ["", half.warning, "1 of 1 pieces of the text are unknown to the model"]
