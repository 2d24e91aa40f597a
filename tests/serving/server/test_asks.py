"""The parameters of a request."""

import pytest

from serving.server.asks import Parameters
from serving.server.faults import Fault


@pytest.mark.parametrize("words", [["red", "dark blue"], "red\ndark blue"])
def test_a_list_of_strings_and_its_lines_are_the_same(words):
    """As a tuple: requests whose options are equal share a batch, so options are keys, which a list cannot be."""
    taken = Parameters({"bad_words": words}).take("bad_words", list)
    assert taken == ("red", "dark blue") and isinstance(hash(taken), int)


@pytest.mark.parametrize("words", [3, ["red", 3], [["red"]], {"red": 1}, True])
def test_other_values_are_no_list_of_strings(words):
    with pytest.raises(Fault, match="bad_words must be a string or a list of strings; received"):
        Parameters({"bad_words": words}).take("bad_words", list)
