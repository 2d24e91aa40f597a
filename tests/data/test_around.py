"""What stands around every text stands in every batch."""

import numpy as np

from zoo.data import Batches, LabelledBatches, PairBatches, TaggedBatches
from zoo.text import Around

AROUND = Around((2, 9), (3,))
WORDS = [[[4, 5], [6]], [[7]]]
PLAN = {"batch_size": 3, "num_buckets": 1, "shuffle": False}


def whole(batch, name="token_ids", lengths="lengths"):
    """The rows of a batch without their padding."""
    return [row[:length].tolist() for row, length in zip(batch[name], batch[lengths], strict=True)]


def test_of_a_label():
    batch = LabelledBatches(WORDS, [1, 0], around=AROUND, **PLAN).batch(0)
    assert whole(batch) == [[2, 9, 4, 5, 6, 3], [2, 9, 7, 3], []]


def test_a_tag_stands_at_the_first_piece_behind_it():
    batch = TaggedBatches(WORDS, [[8, 7], [6]], around=AROUND, **PLAN).batch(0)
    assert whole(batch, "labels") == [[0, 0, 8, 0, 7, 0], [0, 0, 6, 0], []]
    assert (np.flatnonzero(batch["weights"][0]) == [2, 4]).all()


def test_of_both_texts_of_a_pair():
    batch = PairBatches([(WORDS[0], WORDS[1])], [1], around=AROUND, **PLAN).batch(0)
    assert whole(batch, "first_ids", "first_lengths")[0] == [2, 9, 4, 5, 6, 3]
    assert whole(batch, "second_ids", "second_lengths")[0] == [2, 9, 7, 3]


def test_of_a_source_and_a_target():
    """What stands before a target is written, and is no first input of the decoder."""
    batch = Batches([[4, 5]], [[6]], around=(Around((), (3, 8)), AROUND), **PLAN).batch(0)
    assert batch["source_ids"][0].tolist() == [4, 5, 3, 8] and batch["source_lengths"][0] == 4
    assert batch["target_ids"][0].tolist() == [2, 2, 9, 6]
    assert batch["labels"][0].tolist() == [2, 9, 6, 3]
    assert batch["weights"][0].tolist() == [1, 1, 1, 1]
    bare = Batches([[4]], [[6, 7]], around=(Around(), Around((), ())), **PLAN).batch(0)
    assert bare["target_ids"][0, :2].tolist() == [2, 6] and bare["labels"][0, :2].tolist() == [6, 7]
    assert bare["weights"][0].sum() == 2


def test_noise_leaves_it_alone():
    def hidden(sentence, room, random):
        assert room >= 3
        return [[1] * len(word) for word in sentence]

    hidden.growth = 1.0
    batch = LabelledBatches(WORDS[:1], [1], noise=hidden, around=AROUND, **PLAN).batch(0)
    assert whole(batch) == [[2, 9, 1, 1, 1, 3], [], []]
