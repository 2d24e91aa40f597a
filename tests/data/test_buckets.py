from itertools import combinations

import numpy as np
import pytest

from zoo.data.epochs import assign, bucket_shapes


@pytest.fixture(params=[1, 2])
def lengths(request):
    """(examples, sides): of texts, and of pairs."""
    random = np.random.default_rng(5)
    sources = 1 + random.poisson(11, 997)
    targets = np.maximum(1, sources + random.integers(-3, 4, 997))
    sources[13] = 71  # an outlier
    return np.stack([sources, targets], axis=1)[:, : request.param]


def padded(shapes, lengths):
    """Positions the shapes cost when each example goes to the first that holds it."""
    return sum(next(sum(shape) for shape in shapes if all(example <= np.array(shape))) for example in lengths)


@pytest.mark.parametrize("num_buckets", [1, 2, 3, 5, 40])
def test_shapes_are_few_ascending_and_hold_everything(lengths, num_buckets):
    shapes = bucket_shapes(lengths, num_buckets)
    assert 1 <= len(shapes) <= num_buckets
    assert len(set(shapes)) == len(shapes)
    assert np.all(np.diff(shapes, axis=0) >= 0)
    assert np.all(np.array(shapes) % 4 == 0)
    assert np.all(np.array(shapes)[assign(lengths, shapes)] >= lengths)


def test_an_example_goes_to_the_smallest_shape_that_holds_it():
    shapes = [(4, 8), (8, 8), (8, 12)]
    buckets = assign(np.array([(4, 8), (1, 9), (5, 1), (8, 8), (2, 8)]), shapes)
    assert buckets.tolist() == [0, 2, 1, 1, 0]
    assert assign(np.array([(4,), (5,), (1,)]), [(4,), (8,)]).tolist() == [0, 1, 0]


@pytest.mark.parametrize("num_buckets", [1, 2, 3])
def test_no_other_choice_wastes_less(lengths, num_buckets):
    lengths = lengths[:300]
    candidates = bucket_shapes(lengths, 1000)
    costs = [padded([*shapes, candidates[-1]], lengths) for shapes in combinations(candidates[:-1], num_buckets - 1)]
    assert padded(bucket_shapes(lengths, num_buckets), lengths) == min(costs)


def test_one_example():
    assert bucket_shapes(np.array([(5, 1)]), 6) == [(8, 4)]
    assert bucket_shapes(np.array([(5,)]), 6) == [(8,)]
