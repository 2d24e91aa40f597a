import pytest

from zoo.data import duplication, reversal


def test_targets_are_the_sources_reversed():
    sources, targets = reversal(200, 2, 7, "abcde", seed=3)
    assert [source[::-1] for source in sources] == targets
    assert {len(source.split(" ")) for source in sources} == {2, 3, 4, 5, 6, 7}
    assert set("".join(sources)) == set("abcde ")


def test_a_duplication_says_its_word_twice():
    prompts, words = duplication(50, length=5, alphabet="abc", seed=2)
    assert prompts == [f"0{word}0" for word in words]
    assert {len(word) for word in words} == {5} and set("".join(words)) == set("abc")
    assert duplication(50, length=5, alphabet="abc", seed=2) == (prompts, words)
    with pytest.raises(ValueError, match="must not hold 0"):
        duplication(1, alphabet="01")


def test_the_seed_decides():
    assert reversal(30, seed=1) == reversal(30, seed=1)
    assert reversal(30, seed=1) != reversal(30, seed=2)


def test_refuses_misuse():
    with pytest.raises(ValueError, match="received 5 and 4"):
        reversal(3, 5, 4)
    with pytest.raises(ValueError, match="not spaces"):
        reversal(3, 2, 4, "a b")
