"""The rules that a caller may give a search, as values."""

import pytest

from serving.kinds.rules import checked


def test_bad_words_are_bounded_by_the_table_that_a_graph_makes_of_them():
    """A row for each word, as wide as the longest: a few kilobytes of words would fill gigabytes."""
    assert checked({"bad_words": ["a" * 100] + ["b"] * 999})["bad_words"][0] == "a" * 100
    with pytest.raises(ValueError, match=r"100,000 characters .* received 1,000 texts, the longest of 101\."):
        checked({"bad_words": ["a" * 101] + ["b"] * 999})
    assert checked({"bad_words": []}) == {"bad_words": ()}
