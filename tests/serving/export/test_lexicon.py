"""IBM Model 1 against its sums written out in plain Python, and the tables that are made of it."""

from collections import defaultdict

import numpy as np
import pytest

from serving.export.shortlist import Shortlist, likeliest, links, model_1
from zoo.text.base import EOS

# das Haus / the house, das Buch / the book, ein Buch / a book
SOURCES = [[4, 5], [4, 6], [7, 6, 6]]
TARGETS = [[11, 12], [11, 13], [14, 13]]
RANDOM = np.random.default_rng(2)
SOME = [[RANDOM.integers(4, 17, RANDOM.integers(1, 8)).tolist() for _ in range(23)] for _ in range(2)]


def by_hand(sources, targets, rounds):
    """`{(s, t): p(t | s)}` by the loops of the paper, in Python's floats."""
    p = {(s, t): 1.0 for source, target in zip(sources, targets, strict=True) for s in source for t in target}
    for _ in range(rounds):
        counts, totals = defaultdict(float), defaultdict(float)
        for source, target in zip(sources, targets, strict=True):
            for t in target:
                whole = sum(p[s, t] for s in source)
                for s in source:
                    counts[s, t] += p[s, t] / whole
                    totals[s] += p[s, t] / whole
        p = {(s, t): count / totals[s] for (s, t), count in counts.items()}
    return p


@pytest.mark.parametrize(("sources", "targets"), [(SOURCES, TARGETS), SOME])
@pytest.mark.parametrize("rounds", [1, 5])
def test_probabilities_are_those_of_the_paper(sources, targets, rounds):
    found = model_1(links(sources, targets), 17, rounds)
    received = {(int(s), int(t)): p for s, t, p in zip(*found, strict=True)}
    expected = by_hand(sources, targets, rounds)
    assert received.keys() == expected.keys()
    np.testing.assert_allclose([received[key] for key in expected], list(expected.values()), rtol=1e-4, atol=1e-6)


def test_it_tells_which_word_is_which():
    table = likeliest(model_1(links(SOURCES, TARGETS), 17), 9, 2, EOS)
    assert table[[4, 5, 6, 7], 0].tolist() == [11, 12, 13, 14]
    assert table[0].tolist() == [EOS, EOS] and table.dtype == np.int32


def test_rows_hold_the_likeliest_first_and_of_equals_the_lower():
    lexicon = np.array([2, 0, 0, 0, 2]), np.array([9, 7, 6, 5, 8]), np.array([1.0, 0.2, 0.2, 0.6, 2.0])
    assert likeliest(lexicon, 3, 2, EOS).tolist() == [[5, 6], [EOS, EOS], [8, 9]]


def test_of_a_large_corpus_every_kth_pair_is_read():
    few = links(*SOME, most=sum(len(s) * len(t) for s, t in zip(*SOME, strict=True)) // 3)
    for one, other in zip(few, links(SOME[0][::4], SOME[1][::4]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_pairs_that_are_none_are_refused():
    for sources, targets in (([], []), (SOURCES, TARGETS[:2])):
        with pytest.raises(ValueError, match="expected as many targets as sources and at least one; received"):
            links(sources, targets)


def test_a_shortlist_has_the_frequent_ids_and_survives_its_file(tmp_path):
    found = Shortlist.from_pairs(SOURCES, TARGETS, (9, 17), width=3, frequent=2)
    assert found.always.tolist() == [11, 13] and found.table.shape == (9, 3)
    assert set(found.table[4].tolist()) <= {11, 12, 13, EOS} and found.table[EOS, 0] in (EOS, 11, 13)
    found.save(tmp_path / "a.npz")
    found.save(tmp_path / "b.npz")
    again = Shortlist.load(tmp_path / "a.npz")
    np.testing.assert_array_equal(again.table, found.table)
    np.testing.assert_array_equal(again.always, found.always)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(b"PK")
    with pytest.raises(ValueError, match="No shortlist: expected shortlist.npz with `table` and `always`"):
        Shortlist.load(tmp_path / "a.npz")


def test_a_width_of_nothing_is_refused():
    with pytest.raises(ValueError, match="a width of at least 1"):
        Shortlist.from_pairs(SOURCES, TARGETS, (9, 17), width=0)
