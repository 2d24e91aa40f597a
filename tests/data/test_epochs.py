"""The order of examples in buckets of few shapes and in windows of a text; and prompts with their completions."""

from itertools import combinations

import numpy as np
import pytest

from zoo.data import Completions, Windows
from zoo.data.epochs import assign, bucket_shapes
from zoo.text import BOS, PAD

TEXT = list(range(100, 193))  # 93 tokens, each once
PROMPTS, COMPLETIONS = [[5], [6, 7, 8], []], [[9, 10], [11], [12, 13, 14]]


def test_random_windows_are_cut_from_the_text():
    windows = Windows(TEXT, context=8, batch_size=3, seed=5)
    assert windows.steps_per_epoch == len(windows) == 4 and windows.shapes == [(8,)] and windows.dropped == 0
    starts = set()
    for step in range(200):
        batch = windows.batch(step)
        assert batch["token_ids"].shape == batch["labels"].shape == (3, 8)
        assert (batch["token_ids"][:, 0] == BOS).all() and (batch["weights"] == 1).all()
        np.testing.assert_array_equal(batch["token_ids"][:, 1:], batch["labels"][:, :-1])
        assert (np.diff(batch["labels"], axis=1) == 1).all()
        starts |= set(batch["labels"][:, 0].tolist())
    assert starts == set(range(100, 193 - 7))  # every place, and none beyond


def test_a_batch_depends_on_seed_and_step_alone():
    one, other = (Windows(TEXT, context=8, batch_size=3, seed=5) for _ in range(2))
    for step in (7, 0, 1000, 7):
        np.testing.assert_array_equal(one.batch(step)["labels"], other.batch(step)["labels"])
    third = Windows(TEXT, context=8, batch_size=3, seed=6)
    assert not np.array_equal(one.batch(0)["labels"], third.batch(0)["labels"])


@pytest.mark.parametrize("count", [88, 93, 96])
def test_consecutive_windows_predict_every_token_once(count):
    text = list(range(100, 100 + count))
    windows = Windows(text, context=8, batch_size=5, shuffle=False)
    labels, weights = (np.concatenate([batch[name] for batch in windows]) for name in ("labels", "weights"))
    assert labels[weights > 0].tolist() == text
    assert (labels[weights == 0] == PAD).all()
    assert {batch["token_ids"].shape for batch in windows} == {(5, 8)}
    np.testing.assert_array_equal(windows.batch(1)["labels"], windows.batch(1 + len(windows))["labels"])


def test_refuses_misuse():
    with pytest.raises(ValueError, match="93 tokens and is shorter than a window of context=94"):
        Windows(TEXT, context=94, batch_size=1)
    with pytest.raises(ValueError, match="must be positive; received 0 and 1"):
        Windows(TEXT, context=0, batch_size=1)
    with pytest.raises(ValueError, match="at least 0; received -1"):
        Windows(TEXT, context=8, batch_size=1).batch(-1)


def test_only_completions_count():
    batches = Completions(PROMPTS, COMPLETIONS, batch_size=2, num_buckets=1, shuffle=False)
    first, second = batches
    assert batches.shapes == [(4,)] and batches.dropped == 0
    np.testing.assert_array_equal(first["token_ids"], [[BOS, 5, 9, PAD], [BOS, 6, 7, 8]])
    np.testing.assert_array_equal(first["labels"], [[5, 9, 10, PAD], [6, 7, 8, 11]])
    np.testing.assert_array_equal(first["weights"], [[0, 1, 1, 0], [0, 0, 0, 1]])
    np.testing.assert_array_equal(second["labels"], [[12, 13, 14, PAD], [PAD] * 4])
    np.testing.assert_array_equal(second["weights"], [[1, 1, 1, 0], [0] * 4])


def test_completions_refuse_misuse():
    with pytest.raises(ValueError, match="1 prompts, 2 completions and 0 empty"):
        Completions([[5]], [[6], [7]], batch_size=1)
    with pytest.raises(ValueError, match="1 empty ones"):
        Completions([[5]], [[]], batch_size=1)


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
