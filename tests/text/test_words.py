"""Rules that cut texts into words, beside NLTK's answers, the words of examples, and laws that every rule keeps.

`treebank_words.jsonl` has what `TreebankWordTokenizer` of NLTK 3.10.4 makes of sentences, and of texts drawn from parts
that its rules look for; where it writes a quote in another way, the line has the quote of the text.
"""

import json
from pathlib import Path

import pytest

from tests.text.odd import CHOSEN, drawn
from tests.text.samples import NASTY
from zoo.text.words import RULES, choose_rule, find_words, write_words

TEXTS = [*CHOSEN, *NASTY, *drawn(200, seed=4)]
ASKED = Path(__file__).with_name("treebank_words.jsonl").read_text(encoding="utf-8").splitlines()


def cut(text, rule):
    return [text[start:end] for start, end in find_words(text, rule)]


def test_treebank_cuts_as_nltk_does():
    found = [(text, cut(text, "treebank"), words) for text, words in map(json.loads, ASKED)]
    assert len(found) > 300 and not [each for each in found if each[1] != each[2]]


@pytest.mark.parametrize(
    ("text", "rule", "words"),
    [
        ("Where is the zoo?", "spaces", "Where is the zoo?"),
        ("Where is the zoo?", "punctuation", "Where is the zoo ?"),
        ("Where is the zoo?", "treebank", "Where is the zoo ?"),
        ("don\u2019t \u201cgo\u201d\u2026", "treebank", "do n\u2019t \u201c go \u201d \u2026"),
        ("Don't pay $3,000.50 at 10:30...", "punctuation", "Don't pay $ 3,000.50 at 10:30 ..."),
        ("well-known?! a_b, l'\u00e9t\u00e9", "punctuation", "well - known ?! a_b , l'\u00e9t\u00e9"),
        ("(see http://a.b/c?d=e. @bob: me.x@y-z.org!) #tag", "punctuation",
         "( see http://a.b/c?d=e . @bob : me.x@y-z.org ! ) #tag"),
        ("\U0001f469\u200d\U0001f680\U0001f44d\U0001f3fd 5\u20ac", "punctuation",
         "\U0001f469\u200d\U0001f680 \U0001f44d\U0001f3fd 5 \u20ac"),
        ("\u4f60\u597d\u3002 \u00bfQu\u00e9?", "punctuation", "\u4f60\u597d \u3002 \u00bf Qu\u00e9 ?"),
        ("a\u3000b\tc\nd?", "treebank", "a b c d ?"),
    ],
)  # fmt: skip
def test_words_of_examples(text, rule, words):
    assert cut(text, rule) == words.split(" ")


@pytest.mark.parametrize("rule", RULES)
def test_words_are_all_of_a_text_but_its_white_space(rule):
    whole = {text: find_words(text) for text in TEXTS}
    for text, apart in whole.items():
        places = find_words(text, rule)
        assert all(start < end for start, end in places)
        assert all(one[1] <= other[0] for one, other in zip(places, places[1:], strict=False))
        covered = [at for start, end in places for at in range(start, end)]
        assert covered == [at for start, end in apart for at in range(start, end)]


@pytest.mark.parametrize("rule", RULES)
def test_words_that_are_cut_stay_cut(rule):
    for text in ("Where's the U.S. zoo (5%)?", "a-b ... c!"):
        words = cut(text, rule)
        assert cut(" ".join(words), rule) == words


def test_words_are_written_as_people_write_them():
    words = '" Do n\'t ( yet ) stop ! " she said ... well - known : 5 %'.split(" ")
    text, places = write_words(words)
    assert text == '"Don\'t (yet) stop!" she said... well-known: 5%'
    assert [text[start:end] for start, end in places] == words


@pytest.mark.parametrize(
    ("sentences", "rule"),
    [
        ([["Where", "is", "it", "?"], ["Do", "n't", "ask", "."]], "treebank"),
        ([["Where", "is", "it", "?"], ["Don't", "ask", "@bob", "."]], "punctuation"),
        ([["Where", "is", "it?"], ["Don't", "ask."]], "spaces"),
        ([["no", "marks"], ["at", "all"]], "spaces"),
        ([], "spaces"),
    ],
)
def test_the_rule_is_chosen_that_finds_the_words_again(sentences, rule):
    chosen, shares = choose_rule(sentences)
    assert chosen == rule and shares.keys() == RULES.keys()
    assert shares[rule] == (1 if sentences else 0)
