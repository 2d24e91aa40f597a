import pytest

from zoo.data import reversal


def test_targets_are_the_sources_reversed():
    sources, targets = reversal(200, 2, 7, "abcde", seed=3)
    assert [source[::-1] for source in sources] == targets
    assert {len(source.split(" ")) for source in sources} == {2, 3, 4, 5, 6, 7}
    assert set("".join(sources)) == set("abcde ")


def test_the_seed_decides():
    assert reversal(30, seed=1) == reversal(30, seed=1)
    assert reversal(30, seed=1) != reversal(30, seed=2)


def test_refuses_misuse():
    with pytest.raises(ValueError, match="received 5 and 4"):
        reversal(3, 5, 4)
    with pytest.raises(ValueError, match="not spaces"):
        reversal(3, 2, 4, "a b")
