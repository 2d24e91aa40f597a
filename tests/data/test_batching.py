"""Padding, and the batches of pairs and of labels, with what stands around every text."""

import numpy as np
import pytest

from zoo.data import Batches, LabelledBatches, PairBatches, TaggedBatches, first_pieces, pad
from zoo.text import BOS, EOS, PAD, Around

PAIRS = 101
SENTENCES = [[[100 * i + j] * (1 + (i + j) % 3) for j in range(1 + i % 7)] for i in range(1, 40)]
LABELS = [i % 5 for i in range(1, 40)]
TAGS = [[(i + j) % 4 for j in range(len(sentence))] for i, sentence in enumerate(SENTENCES, 1)]
AROUND = Around((2, 9), (3,))
WORDS = [[[4, 5], [6]], [[7]]]
PLAN = {"batch_size": 3, "num_buckets": 1, "shuffle": False}


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


def joined(sentence):
    return [token for word in sentence for token in word]


class OneMore:
    """A noise that puts a random token before the first word's, and may need twice the room."""

    growth = 2.0

    def __call__(self, sentence, room, random):
        assert room >= 2 * len(joined(sentence))
        return [[int(random.integers(1000)), *sentence[0]], *sentence[1:]]


def test_a_text_has_one_label():
    batches = LabelledBatches(SENTENCES, LABELS, batch_size=4, num_buckets=2, seed=3)
    assert len(batches.shapes) == 2
    seen = []
    for step, batch in enumerate(batches):
        rows = batches.examples(step)
        seen += list(rows)
        assert batch["token_ids"].shape[0] == batch["labels"].size == batch["weights"].size == 4
        assert batch["token_ids"].shape[1:] in batches.shapes
        for i, row in enumerate(rows):
            ids = joined(SENTENCES[row]) + [EOS]
            assert batch["token_ids"][i].tolist() == ids + [PAD] * (batch["token_ids"].shape[1] - len(ids))
            assert (batch["lengths"][i], batch["labels"][i], batch["weights"][i]) == (len(ids), LABELS[row], 1)
        assert not any(batch[name][len(rows) :].any() for name in batch)
    assert sorted(seen) == list(range(len(SENTENCES)))
    assert {name: array.dtype.name for name, array in batch.items()} == {
        "token_ids": "int32",
        "lengths": "int32",
        "labels": "int32",
        "weights": "float32",
    }


def test_a_tag_stands_at_the_first_piece_of_its_word():
    batches = TaggedBatches(SENTENCES, TAGS, batch_size=4, num_buckets=2, seed=3)
    for step, batch in enumerate(batches):
        rows = batches.examples(step)
        for i, row in enumerate(rows):
            expected = [
                (tag if place == 0 else 0, float(place == 0))
                for word, tag in zip(SENTENCES[row], TAGS[row], strict=True)
                for place in range(len(word))
            ]
            expected += [(0, 0.0)] * (batch["labels"].shape[1] - len(expected))
            assert list(zip(batch["labels"][i], batch["weights"][i], strict=True)) == expected
        assert not any(batch[name][len(rows) :].any() for name in batch)
    assert first_pieces([[5], [6, 6, 6], [7]]).tolist() == [0, 1, 4]


@pytest.mark.parametrize(("kind", "labels"), [(LabelledBatches, LABELS), (TaggedBatches, TAGS)])
def test_noise_is_a_pure_function_of_seed_and_step(kind, labels):
    def make(seed=3):
        return kind(SENTENCES, labels, batch_size=4, seed=seed, noise=OneMore())

    one, other = make(), make()
    for step in (5, 0, 40, 5):
        assert same(one.batch(step), other.batch(step))
    assert not same(make(4).batch(0), one.batch(0))
    row, step = one.examples(2)[0], 2
    assert joined(SENTENCES[row]) == one.batch(step)["token_ids"][0, 1 : 1 + len(joined(SENTENCES[row]))].tolist()
    if kind is TaggedBatches:
        assert one.batch(step)["weights"][0].sum() == len(SENTENCES[row])
        assert one.batch(step)["weights"][0, 1] == 0  # the first word has one piece more now


def test_batches_of_labels_refuse_misuse():
    with pytest.raises(ValueError, match="received 39 sentences and 1 labels"):
        LabelledBatches(SENTENCES, [1], batch_size=2)
    with pytest.raises(ValueError, match="Sentence 1 has 2 words, 1 of them without tokens, and 2 labels"):
        TaggedBatches([[[5]], [[6], []]], [[0], [1, 2]], batch_size=2)
    with pytest.raises(ValueError, match="Sentence 0 has 1 words, 0 of them without tokens, and 2 labels"):
        TaggedBatches([[[5]]], [[0, 1]], batch_size=2)
    assert LabelledBatches(SENTENCES, LABELS, batch_size=2, max_length=4).dropped > 0


@pytest.mark.parametrize("numbers", [[1, 2.5], np.array([1.0, 2.5], "float32"), [1.0, 2.5]])
def test_a_number_keeps_its_fraction(numbers):
    batch = LabelledBatches([[[5]], [[6]]], numbers, batch_size=2, shuffle=False).batch(0)
    assert batch["labels"].dtype == "float32" and batch["labels"].tolist() == [1, 2.5]


def whole(batch, name="token_ids", lengths="lengths"):
    """The rows of a batch without their padding."""
    return [row[:length].tolist() for row, length in zip(batch[name], batch[lengths], strict=True)]


def test_around_a_text_of_a_label():
    batch = LabelledBatches(WORDS, [1, 0], around=AROUND, **PLAN).batch(0)
    assert whole(batch) == [[2, 9, 4, 5, 6, 3], [2, 9, 7, 3], []]


def test_around_tagged_words():
    batch = TaggedBatches(WORDS, [[8, 7], [6]], around=AROUND, **PLAN).batch(0)
    assert whole(batch, "labels") == [[0, 0, 8, 0, 7, 0], [0, 0, 6, 0], []]
    assert (np.flatnonzero(batch["weights"][0]) == [2, 4]).all()


def test_around_both_texts_of_a_pair():
    batch = PairBatches([(WORDS[0], WORDS[1])], [1], around=AROUND, **PLAN).batch(0)
    assert whole(batch, "first_ids", "first_lengths")[0] == [2, 9, 4, 5, 6, 3]
    assert whole(batch, "second_ids", "second_lengths")[0] == [2, 9, 7, 3]


def test_around_a_source_and_a_target():
    """What stands before a target is written, and is no first input of the decoder."""
    batch = Batches([[4, 5]], [[6]], around=(Around((), (3, 8)), AROUND), **PLAN).batch(0)
    assert batch["source_ids"][0].tolist() == [4, 5, 3, 8] and batch["source_lengths"][0] == 4
    assert batch["target_ids"][0].tolist() == [2, 2, 9, 6]
    assert batch["labels"][0].tolist() == [2, 9, 6, 3]
    assert batch["weights"][0].tolist() == [1, 1, 1, 1]
    bare = Batches([[4]], [[6, 7]], around=(Around(), Around((), ())), **PLAN).batch(0)
    assert bare["target_ids"][0, :2].tolist() == [2, 6] and bare["labels"][0, :2].tolist() == [6, 7]
    assert bare["weights"][0].sum() == 2


def test_noise_leaves_alone_what_stands_around():
    def hidden(sentence, room, random):
        assert room >= 3
        return [[1] * len(word) for word in sentence]

    hidden.growth = 1.0
    batch = LabelledBatches(WORDS[:1], [1], noise=hidden, around=AROUND, **PLAN).batch(0)
    assert whole(batch) == [[2, 9, 1, 1, 1, 3], [], []]
