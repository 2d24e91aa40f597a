"""How much of a text is read, in Python and in TensorFlow: the same parts, and the same words about them."""

import numpy as np
import pytest

from serving.runtime.loaded import bound
from serving.runtime.reading import Bound, is_blank, unicode_error
from zoo.text import Around
from zoo.text.words import find_words as words

END = (), (3,)
TEXTS = [
    "",
    "a",
    "a cat",
    "cat " * 9,
    "a" * 144,
    "a" * 145,
    "mat " * 41,
    " " * 500,
    "\u3000" * 100,
    "日" * 145,
    "👍🏽" * 73,
    "a\0b\0 c",
    "\u2028cat\u0085",
    "cat" + " " * 200,
]


def letters(texts):
    """One id for each character that is no space."""
    return [[4 + ord(sign) % 50 for sign in text if sign != " "] for text in texts]


def test_a_text_within_the_bound_is_read_whole():
    (reading,) = Bound(5).read(["abc "], letters, END)
    assert reading.ids == (*letters(["abc"])[0], 3) and reading.text == "abc "
    assert reading.error is None and reading.warning is None


@pytest.mark.parametrize("side", ["first", "last"])
def test_a_longer_text_is_refused_or_cut_and_its_neighbours_are_not(side):
    texts = ["ab", "abcdefgh", "", "gh", "x" * 100]
    refused = Bound(5, "refuse", side).read(texts, letters, END)
    assert [reading.error for reading in refused] == [
        None,
        "9 tokens, at most 5",
        None,
        None,
        "100 characters, at most 80",
    ]
    assert [len(reading.ids) for reading in refused] == [3, 0, 1, 3, 0]
    cut = Bound(5, "truncate", side).read(texts, letters, END)
    assert cut[1].ids == (*letters(["abcd" if side == "first" else "efgh"])[0], 3)
    assert cut[1].warning == f"only the {side} 5 tokens are read, of 9 tokens"
    assert cut[4].warning == f"only the {side} 5 tokens are read, of 100 characters"
    assert [reading.ids for reading in cut[::2][:2]] == [reading.ids for reading in refused[::2][:2]]
    prompt = Bound(3, "truncate", side).read(["abcd"], letters)[0]
    assert prompt.ids == tuple(letters(["abc" if side == "first" else "bcd"])[0])


def test_the_longest_text_that_fits_is_one_token_shorter_than_the_one_that_does_not():
    fits, not_ = Bound(5).read(["abcd", "abcde"], letters, END)
    assert len(fits.ids) == 5 and not_.error == "6 tokens, at most 5"
    (exact,) = Bound(200).read(["a" + " " * 3199], letters, END)
    assert exact.error is None, "3,200 characters are what 200 tokens may have"


def test_what_is_too_long_is_never_tokenised():
    seen = []

    def encode(texts):
        seen.extend(texts)
        return letters(texts)

    for overlong in ("refuse", "truncate"):
        Bound(10, overlong).read(["a" * 1_000_000, "b"], encode, END)
        Bound(10, overlong).read_words(["a " * 500_000, "b"], encode, END)
    assert max(map(len, seen)) <= 160 and len(seen) < 100


def test_words_are_read_whole_or_not_at_all():
    text = "ab cde f"
    (whole,) = Bound(7).read_words([text], letters, END)
    assert whole.places == tuple(words(text)) and whole.first == (0, 2, 5) and whole.warning is None
    (cut,) = Bound(6, "truncate").read_words([text], letters, END)
    assert cut.places == ((0, 2), (3, 6)) and cut.ids == (*letters(["abcde"])[0], 3)
    assert cut.warning == "only the first 6 tokens are read, of 7 tokens"
    (none,) = Bound(6, "truncate").read_words(["abcdefgh i"], letters, END)
    assert none.places == () and none.warning == "only the first 1 tokens are read, of 10 tokens"
    assert Bound(6).read_words([text], letters, END)[0].error == "7 tokens, at most 6"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\ud83d", "the lone surrogate U+D83D at character 2"),
        ("\udcffa", "the byte 0xff at character 1"),
        ("a\udfff", "the lone surrogate U+DFFF at character 2"),
    ],
)
def test_a_string_without_utf_8_is_refused(text, message):
    good, bad = Bound().read(["a", text], letters, END)
    assert good.error is None and bad.error == f"not UTF-8: {message}"
    assert Bound().read_words([text], letters, END)[0].error == bad.error
    assert unicode_error("👍🏽\0\ufffe\U0010ffff") is None


def test_blank_is_white_space_alone():
    for text in ("", " \t\u3000\u2028\x85\xa0", "\r\n\x0b\x0c"):
        assert is_blank(text)
    for text in ("\u200b", "\0", "a", "\x1c", "\ufeff"):
        assert not is_blank(text)


@pytest.mark.parametrize(
    "wrong", [{"max_input": 1}, {"max_input": 10**20}, {"max_input": 2.0}, {"max_input": True}, {"overlong": "cut"}]
)
def test_a_bound_that_is_none_is_refused(wrong):
    with pytest.raises(ValueError, match="max_input must be|overlong must be"):
        Bound(**wrong)


def test_an_artefact_says_its_bound():
    said = {"kind": "classify", "max_input": 99, "overlong": "truncate"}
    assert bound(said) == Bound(99, "truncate", "first")
    assert bound(said, "refuse") == Bound(99, "refuse", "first")
    assert bound(said | {"kind": "continue"}) == Bound(99, "truncate", "last")


AROUND = {
    "first": Around((), (3,)),
    "last": Around((), ()),
    "first ": Around((2, 5), (3, 6)),
    "last ": Around((2,), (5,)),
}


@pytest.fixture
def tokenizers():
    from serving.export.graph_tokenizers import GraphTokenizer
    from zoo.text import Tokenizer

    tokenizer = Tokenizer.train(["the cat sat on the mat", "a cat on a mat sat"], 40)
    return tokenizer, GraphTokenizer(tokenizer.model_bytes)


@pytest.mark.parametrize("side", AROUND)
@pytest.mark.parametrize("overlong", ["refuse", "truncate"])
def test_a_graph_reads_what_python_reads(tokenizers, overlong, side):
    import tensorflow as tf

    from serving.export import gate

    tokenizer, graph = tokenizers
    rule, around = Bound(9, overlong, side.strip()), AROUND[side]
    readings = rule.read(TEXTS, tokenizer.encode, around)

    def read(text):
        clipped = gate.clip(rule, text)
        ids, lengths, gated = gate.limit(rule, clipped, graph.pieces(clipped.text), around)
        return ids, lengths, gated.errors, gated.warnings

    ids, lengths, errors, warnings = (each.numpy() for each in read(tf.constant(TEXTS)))
    assert ids.shape[1] <= 9
    for row, reading in enumerate(readings):
        expected = reading.ids or around.before + around.after  # a text that is refused is a blank one to the graph
        assert tuple(ids[row, : lengths[row]]) == expected and not ids[row, lengths[row] :].any()
        assert errors[row].decode() == (reading.error or "")
        assert warnings[row].decode() == (reading.warning or "")
    for bad in (b"a\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\xf4\x90\x80\x80", b"cat\xe6\x97"):
        ids, lengths, errors, _ = (each.numpy() for each in read(tf.constant([b"a cat", bad, b"a cat"])))
        assert errors.tolist() == [b"", b"not UTF-8", b""] and lengths[1] == around.size
        assert (ids[0] == ids[2]).all() and lengths[0] == lengths[2] == len(readings[2].ids)
    assert [each.shape[0] for each in read(tf.constant([], tf.string))] == [0, 0, 0, 0]


@pytest.mark.parametrize("overlong", ["refuse", "truncate"])
@pytest.mark.parametrize("around", [*AROUND.values(), Around((2, 5), (3, 6))])
def test_a_graph_reads_the_words_that_python_reads(tokenizers, overlong, around):
    import tensorflow as tf

    from serving.export import gate

    tokenizer, graph = tokenizers
    rule = Bound(9, overlong)
    readings = rule.read_words(TEXTS, tokenizer.encode_words, around)

    def read(text):
        clipped = gate.clip(rule, text)
        ids, lengths, gated, found = gate.limit_words(rule, clipped, *graph.word_pieces(clipped.text), around)
        return ids, lengths, gated.errors, gated.warnings, found

    ids, lengths, errors, warnings, found = tf.nest.map_structure(lambda each: each.numpy(), read(tf.constant(TEXTS)))
    for row, reading in enumerate(readings):
        assert (
            tuple(ids[row, : lengths[row]]) == (reading.ids or (*around.before, *around.after))
            and not ids[row, lengths[row] :].any()
        )
        count = len(reading.places)
        assert found["word_counts"][row] == count
        for name, expected in (("starts", [a for a, _ in reading.places]), ("ends", [b for _, b in reading.places])):
            assert found[name][row, :count].tolist() == expected and not found[name][row, count:].any()
        assert found["first"][row, :count].tolist() == list(reading.first)
        assert errors[row].decode() == (reading.error or "")
        assert warnings[row].decode() == (reading.warning or "")
    assert np.sum([len(reading.places) for reading in readings]) > 5


def test_the_time_of_a_text_grows_with_its_words():
    """The ids of so many words were put together in a time that is quadratic, which would be minutes here."""
    (reading,) = Bound(max_input=400_000).read_words(["a " * 150_000], lambda words: [[5, 6]] * len(words))
    assert len(reading.places) == 150_000 and len(reading.ids) == 300_000
