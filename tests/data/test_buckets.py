from itertools import combinations

import numpy as np
import pytest

from zoo.data.buckets import assign, bucket_shapes


@pytest.fixture
def lengths():
    random = np.random.default_rng(5)
    sources = 1 + random.poisson(11, 997)
    targets = np.maximum(1, sources + random.integers(-3, 4, 997))
    sources[13] = 71  # an outlier
    return sources, targets


def padded(shapes, sources, targets):
    """Positions the shapes cost when each pair goes to the first that holds it."""
    return sum(
        next(s + t for s, t in shapes if source <= s and target <= t)
        for source, target in zip(sources, targets, strict=True)
    )


@pytest.mark.parametrize("num_buckets", [1, 2, 3, 5, 40])
def test_shapes_are_few_ascending_and_hold_everything(lengths, num_buckets):
    shapes = bucket_shapes(*lengths, num_buckets)
    assert 1 <= len(shapes) <= num_buckets
    assert len(set(shapes)) == len(shapes)
    assert np.all(np.diff(shapes, axis=0) >= 0)
    assert np.all(np.array(shapes) % 4 == 0)
    sources, targets = np.array(shapes)[assign(*lengths, shapes)].T
    assert np.all(sources >= lengths[0]) and np.all(targets >= lengths[1])


def test_a_pair_goes_to_the_smallest_shape_that_holds_it():
    shapes = [(4, 8), (8, 8), (8, 12)]
    buckets = assign(np.array([4, 1, 5, 8, 2]), np.array([8, 9, 1, 8, 8]), shapes)
    assert buckets.tolist() == [0, 2, 1, 1, 0]


@pytest.mark.parametrize("num_buckets", [1, 2, 3])
def test_no_other_choice_wastes_less(lengths, num_buckets):
    chosen = padded(bucket_shapes(*lengths, num_buckets), *lengths)
    candidates = bucket_shapes(*lengths, 1000)
    costs = [padded([*shapes, candidates[-1]], *lengths) for shapes in combinations(candidates[:-1], num_buckets - 1)]
    assert chosen == min(costs)


def test_one_pair():
    assert bucket_shapes(np.array([5]), np.array([1]), 6) == [(8, 4)]
