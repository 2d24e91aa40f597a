import numpy as np
import pytest

from zoo.data import Batches, pad
from zoo.text import BOS, EOS, PAD

PAIRS = 101


@pytest.fixture
def corpus():
    """Pairs whose tokens tell them apart."""
    random = np.random.default_rng(3)
    sources = [[1000 + i] * random.integers(0, 19) for i in range(PAIRS)]
    targets = [[2000 + i] * random.integers(0, 23) for i in range(PAIRS)]
    return sources, targets


@pytest.fixture
def batches(corpus):
    return Batches(*corpus, batch_size=7, num_buckets=3, seed=11)


def same(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[k], other[k]) for k in one)


def test_a_batch_spells_its_pairs(corpus, batches):
    sources, targets = corpus
    for step in range(batches.steps_per_epoch):
        batch, rows = batches.batch(step), batches.examples(step)
        for i, row in enumerate(rows):
            source, target = sources[row] + [EOS], targets[row]
            n, m = len(source), len(target) + 1
            assert batch["source_lengths"][i] == n
            assert batch["source_ids"][i, :n].tolist() == source
            assert (batch["source_ids"][i, n:] == PAD).all()
            assert batch["target_ids"][i, :m].tolist() == [BOS, *target]
            assert batch["labels"][i, :m].tolist() == [*target, EOS]
            assert (batch["target_ids"][i, m:] == PAD).all() and (batch["labels"][i, m:] == PAD).all()
            assert batch["weights"][i].tolist() == [1.0] * m + [0.0] * (batch["weights"][i].size - m)
        for name in batch:  # the rows that fill a short batch
            assert not batch[name][len(rows) :].any()


def test_shapes_and_types_are_static(batches):
    assert len(batches.shapes) <= 3
    seen = set()
    for batch in batches:
        (b, s), t = batch["source_ids"].shape, batch["labels"].shape[1]
        seen.add((s, t))
        assert b == 7 and batch["source_lengths"].shape == (7,)
        assert batch["target_ids"].shape == batch["labels"].shape == batch["weights"].shape == (7, t)
        assert {name: array.dtype.name for name, array in batch.items()} == {
            "source_ids": "int32",
            "source_lengths": "int32",
            "target_ids": "int32",
            "labels": "int32",
            "weights": "float32",
        }
    assert seen == set(batches.shapes)


def test_every_pair_once_an_epoch(batches):
    steps = batches.steps_per_epoch
    assert len(list(batches)) == len(batches) == steps
    for epoch in (0, 1, 5):
        rows = np.concatenate([batches.examples(epoch * steps + i) for i in range(steps)])
        assert sorted(rows) == list(range(PAIRS))


def test_a_batch_depends_on_seed_and_step_alone(corpus, batches):
    steps = [40, 3, 0, 1000, 3, 41]
    for step in steps:
        fresh = Batches(*corpus, batch_size=7, num_buckets=3, seed=11)
        assert same(batches.batch(step), fresh.batch(step))
    other = Batches(*corpus, batch_size=7, num_buckets=3, seed=12)
    assert not all(same(batches.batch(step), other.batch(step)) for step in range(5))
    assert not all(same(batches.batch(step), batches.batch(step + batches.steps_per_epoch)) for step in range(5))


def test_without_shuffling_every_epoch_keeps_the_order(corpus):
    batches = Batches(*corpus, batch_size=7, num_buckets=1, shuffle=False)
    rows = np.concatenate([batches.examples(step) for step in range(len(batches))])
    assert rows.tolist() == list(range(PAIRS))
    assert same(batches.batch(2), batches.batch(2 + 3 * len(batches)))


def test_long_pairs_are_dropped_and_counted():
    sources, targets = [[5] * 3, [5] * 4, [5], [5]], [[6], [6], [6] * 3, [6] * 4]
    batches = Batches(sources, targets, batch_size=4, max_length=4)
    assert batches.dropped == 2
    assert sorted(batches.examples(0)) == [0, 2]
    with pytest.raises(ValueError, match="4 are longer than max_length=1"):
        Batches(sources, targets, batch_size=4, max_length=1)


def test_refuses_misuse(batches):
    with pytest.raises(ValueError, match="2 sources and 1 targets"):
        Batches([[5], [5]], [[6]], batch_size=2)
    with pytest.raises(ValueError, match="No example is left of 0"):
        Batches([], [], batch_size=2)
    with pytest.raises(ValueError, match="must be positive; received 0 and 6"):
        Batches([[5]], [[6]], batch_size=0)
    with pytest.raises(ValueError, match="at least 0; received -1"):
        batches.batch(-1)


def test_pad():
    token_ids, lengths = pad([[7, 8, 9], [], [5]])
    assert token_ids.tolist() == [[7, 8, 9], [0, 0, 0], [5, 0, 0]]
    assert lengths.tolist() == [3, 0, 1]
    assert token_ids.dtype == lengths.dtype == np.int32
    assert pad([[7]], 5)[0].tolist() == [[7, 0, 0, 0, 0]]
    assert pad([])[0].shape == (0, 0)
    with pytest.raises(ValueError, match="3 tokens does not fit a length of 2"):
        pad([[1, 2, 3]], 2)
