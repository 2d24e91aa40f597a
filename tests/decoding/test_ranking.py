"""Other rankings than ours, against the searches of transformers and Marian in NumPy, and all sequences there are."""

import functools
import itertools

import numpy as np
import pytest
import tensorflow as tf

from tests.decoding.table import EOS, Table, assert_same, log_prob, penalty, rows_of, search
from tests.decoding.transformers_search import transformers_search
from zoo.core.searching import Ranking
from zoo.decoding import beam_search
from zoo.decoding.beam import length_penalty
from zoo.decoding.rules import Rules

STOPS = {"never": "sure", False: "likely", True: "full"}
TABLE = Table(vocabulary=5, max_length=6)
ROWS, LONGEST = 60, 6


def memory(seed):
    """Tables in which EOS is likely, so that searches end at many lengths, by every rule."""
    found = TABLE.random(ROWS, seed, scale=2.0)
    found["logits"][:, :, EOS] += np.linspace(-2, 2, ROWS)[:, None]
    return found


def theirs(row, beams, alpha, early_stopping, forced_eos=False, longest=LONGEST):
    return transformers_search(
        lambda tokens: TABLE.log_probs(row, tokens), longest, beams, alpha, early_stopping, forced_eos
    )


@pytest.mark.slow(but="2-0.6")
@pytest.mark.parametrize("early_stopping", STOPS, ids=lambda value: f"early_stopping={value}")
@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("beams", [2, 4])
def test_it_is_the_search_of_transformers(beams, alpha, early_stopping):
    """All rows at once, so that rows that are over stay as they are while others go on."""
    given = memory(beams)
    for forced_eos in (False, True):
        ranking = Ranking("length", "first", "end" if forced_eos else "count", STOPS[early_stopping])
        own = LONGEST - forced_eos  # tokens besides the forced EOS
        found = rows_of(beam_search(TABLE, given, own, beams, alpha, ranking=ranking))
        reached = 0
        for row, received in zip(given["logits"], found, strict=True):
            expected = theirs(row, beams, alpha, early_stopping, forced_eos)
            assert_same([each for each in received if each[1] > -1e9], expected)
            reached += any(len(tokens) == own for tokens, _ in expected)
        assert 5 < reached, "some reach the longest length"


def marian_search(log_probs, longest, beams, alpha):
    """Marian's beam search, from its src/translator/beam_search.cpp and history.h: an end narrows its beam for good."""
    beam, ended = [(0.0, ())], []
    for length in range(1, longest + 1):
        grown = [
            (total + gain, (*tokens, token)) for total, tokens in beam for token, gain in enumerate(log_probs(tokens))
        ]
        grown = sorted(grown, key=lambda one: -one[0])[: beams - len(ended)]
        final = [one for one in grown if one[1][-1] == EOS or length == longest]
        ended += [(tokens, total / length**alpha) for total, tokens in final]
        beam = [one for one in grown if one not in final]
        if not beam:
            break
    found = sorted(ended, key=lambda one: -one[1])
    return [(tokens[:-1] if tokens[-1] == EOS else tokens, score) for tokens, score in found]


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("beams", [1, 2, 4])
def test_it_is_the_search_of_marian(beams, alpha):
    """Every other sentence is so short that it cuts off its translation."""
    given, lengths = memory(beams + 1), np.where(np.arange(ROWS) % 2, 9, 2).astype("int32")
    rules, ranking = Rules(lengths, length_ratio=1.5), Ranking("length", "places", "count", "full")
    found = rows_of(beam_search(TABLE, given, LONGEST, beams, alpha, rules=rules, ranking=ranking))
    reached = 0
    for row, length, received in zip(given["logits"], lengths, found, strict=True):
        longest = min(3 * length // 2, LONGEST)
        expected = marian_search(lambda tokens, row=row: TABLE.log_probs(row, tokens), longest, beams, alpha)
        assert len(expected) == beams
        assert_same(received, expected)
        reached += length == 2 and any(len(tokens) == longest for tokens, _ in expected)
    assert reached > 5


@pytest.mark.slow(but="0.6-")
@pytest.mark.parametrize("wanted", [0, 1, 2, 4])
@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
def test_next_is_over_where_no_end_of_the_next_token_is_good_enough(alpha, wanted):
    """Without a penalty nothing is missed."""
    given, early, missed = memory(5), 0, 0
    rules, wanted, ranking = Rules(n_best=wanted) if wanted else None, wanted or 1, Ranking(stop="next")
    found = rows_of(beam_search(TABLE, given, LONGEST, 4, alpha, rules=rules, ranking=ranking))
    for row, received in zip(given["logits"], found, strict=True):

        def over(length, alive, ended):
            nonlocal early
            bound = max(total for _, total in alive) / penalty(length + 1, alpha)
            stops = len(ended) >= wanted and bound <= ended[wanted - 1][1]
            early += stops
            return stops

        expected = search(TABLE, row, LONGEST, 4, alpha, over=over)[:wanted]
        assert_same(received[: len(expected)], expected)
        assert all(score == np.float32(-1e9) for _, score in received[len(expected) :])
        missed += expected != search(TABLE, row, LONGEST, 4, alpha)[:wanted]
    assert early > 5 or wanted == 4
    assert alpha or not missed


@pytest.mark.slow
def test_rows_on_their_own_leave_early_with_the_same_answers():
    ranking = Ranking("length", "first", "count", "likely")
    specs = [{"logits": tf.TensorSpec((1, TABLE.prefixes, 5), tf.float32)}]
    alone = tf.function(
        lambda memory: beam_search(TABLE, memory, LONGEST, 3, 1.0, ranking=ranking), input_signature=specs
    )
    given = memory(9)
    for row, received in zip(
        given["logits"], rows_of(beam_search(TABLE, given, LONGEST, 3, 1.0, ranking=ranking)), strict=True
    ):
        (own,) = rows_of(alone({"logits": row[None]}))
        assert_same(own, received)


@pytest.mark.parametrize(
    "choice",
    [
        {"penalty": "length"},
        {"ends": "first"},
        {"ends": "places"},
        {"longest": "count"},
        {"longest": "end"},
        {"stop": "next"},
        {"stop": "likely"},
        {"stop": "full"},
    ],
    ids=str,
)
def test_each_choice_changes_answers(choice):
    assert any(one[0][0] != other[0][0] for one, other in zip(answers_by(), answers_by(**choice), strict=True))


@functools.cache
def answers_by(**choice):
    return rows_of(beam_search(TABLE, memory(3), LONGEST, 2, 2.0, ranking=Ranking(**choice)))


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("longest", ["count", "end"])
def test_wide_enough_it_finds_the_best_of_all_sequences_by_length(alpha, longest):
    """A search that is over only when it is sure misses nothing."""
    small, words = Table(vocabulary=5, max_length=3), [0, 1, 2, 4]
    given = small.random(batch=3, seed=7)
    ranking = Ranking("length", "candidates", longest, "sure")
    for row, received in zip(
        given["logits"], rows_of(beam_search(small, given, 3, 64, alpha, ranking=ranking)), strict=True
    ):
        every = []
        for length in range(4):
            for tokens in itertools.product(words, repeat=length):
                whole = tokens if length == 3 else (*tokens, EOS)
                size = length + 1 if length < 3 or longest == "end" else 3
                every.append((tokens, log_prob(small, row, whole) / size**alpha))
        assert_same(received[:40], sorted(every, key=lambda one: -one[1])[:40])


def test_the_penalty_by_length():
    np.testing.assert_allclose(float(length_penalty(8, 2.0, "length")), 64.0)
    assert float(length_penalty(8, 0.0, "length")) == 1.0


def test_a_wrong_choice_is_named():
    with pytest.raises(ValueError, match="stop must be one of sure, next, likely, full. Received: 'never'"):
        Ranking(stop="never")
