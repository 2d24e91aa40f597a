"""Batches of labelled texts and words."""

import numpy as np
import pytest

from zoo.data import LabelledBatches, TaggedBatches, first_pieces
from zoo.text import EOS, PAD

SENTENCES = [[[100 * i + j] * (1 + (i + j) % 3) for j in range(1 + i % 7)] for i in range(1, 40)]
LABELS = [i % 5 for i in range(1, 40)]
TAGS = [[(i + j) % 4 for j in range(len(sentence))] for i, sentence in enumerate(SENTENCES, 1)]


def joined(sentence):
    return [token for word in sentence for token in word]


class OneMore:
    """A noise that puts a random token before the first word's, and may need twice the room."""

    growth = 2.0

    def __call__(self, sentence, room, random):
        assert room >= 2 * len(joined(sentence))
        return [[int(random.integers(1000)), *sentence[0]], *sentence[1:]]


def same(one, other):
    return all(np.array_equal(one[name], other[name]) for name in one)


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


def test_refuses_misuse():
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
