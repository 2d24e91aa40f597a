"""Tokenizers of every kind in a graph, beside the same in Python."""

import json
import re

import numpy as np
import pytest
import tensorflow as tf

from serving.export.graph_tokenizers import GraphTokenizer
from tests.shared import python
from tests.text.odd import CHOSEN, drawn
from tests.text.samples import CORPUS, NASTY
from tests.text.test_tokenizer_files import MAKERS
from tests.text.test_words import ASKED
from zoo.text import BOS, PAD, BytePairs, Tokenizer, WordPiece
from zoo.text.words import RULES, find_words

TEXTS = [*CHOSEN, *NASTY, *CORPUS, *drawn(120, seed=1), "a" * 2001 + "b"]
SPACED = [*NASTY, "  a\u3000👩‍👩‍👧 日本e\u0301\tß\x1c \u200b ", "a", "the zoo's \u200b \u0378 a.b caf\u00e9"]
SENTENCEPIECE = {
    "unigram": {},
    "bytes": {"byte_fallback": True},
    "bpe": {"model_type": "bpe"},
    "nfd": {"normalization": "nfd", "model_type": "char"},
    "identity": {"normalization": "identity", "model_type": "char"},
}
OTHERS = ["wordpiece", "plain wordpiece", "byte pairs", "byte pairs behind a space"]


def made(name):
    """A tokenizer, changed so that every branch is there."""
    if name in SENTENCEPIECE:
        return Tokenizer.train(CORPUS, 330, **SENTENCEPIECE[name])
    if name == "wordpiece":
        return MAKERS[WordPiece]()
    if name == "plain wordpiece":
        pieces = MAKERS[WordPiece]().pieces
        return WordPiece.make(pieces, lowercase=False, clean=False, ideographs=False, longest=3).with_around((7, 2), ())
    tokenizer = MAKERS[BytePairs]()
    if name == "byte pairs":
        return tokenizer
    settings = {key: value for key, value in tokenizer.settings.items() if key != "tokenizer"}
    return BytePairs.write(**settings | {"prefix_space": True})


@pytest.fixture(params=[*OTHERS, *SENTENCEPIECE])
def pair(request):
    tokenizer = made(request.param)
    return tokenizer, GraphTokenizer(tokenizer.model_bytes)


# What SentencePiece's own operations do need not be asked of them again.
only_others = pytest.mark.parametrize("pair", OTHERS, indirect=True)


@pytest.mark.release(but=8)
def test_encodes_as_python_does(pair):
    tokenizer, graph = pair
    token_ids, lengths = (part.numpy() for part in graph.encode(tf.constant(TEXTS)))
    assert token_ids.dtype == lengths.dtype == "int32" and token_ids.shape[1] == lengths.max()
    found = [row[:length].tolist() for row, length in zip(token_ids, lengths, strict=True)]
    expected = [tokenizer.around.put(ids) for ids in tokenizer.encode(TEXTS)]
    assert not [text for text, one, other in zip(TEXTS, found, expected, strict=True) if one != other]
    assert all((row[length:] == PAD).all() for row, length in zip(token_ids, lengths, strict=True))


@pytest.mark.release(but=8)
def test_decodes_as_python_does(pair):
    tokenizer, graph = pair
    token_ids, lengths = (tensor.numpy() for tensor in graph.encode(tf.constant(NASTY)))
    texts = [text.decode() for text in graph.decode(token_ids, lengths).numpy()]
    assert texts == tokenizer.decode([row[:length].tolist() for row, length in zip(token_ids, lengths, strict=True)])


@only_others
def test_decodes_any_ids_as_python_does(pair):
    tokenizer, graph = pair
    rng = np.random.default_rng(0)
    rows = rng.integers(0, tokenizer.vocab_size, (300, 9)).astype("int32")
    lengths = rng.integers(0, 10, 300)
    texts = [text.decode() for text in graph.decode(rows, lengths).numpy()]
    assert texts == tokenizer.decode([row[:length].tolist() for row, length in zip(rows, lengths, strict=True)])


def test_decoding_ends_at_the_length():
    tokenizer = Tokenizer.train(CORPUS, 80)
    (days,) = tokenizer.encode(["days"])
    token_ids = np.array([[BOS, *days, *days], [*days, *days, PAD]], "int32")
    texts = GraphTokenizer(tokenizer.model_bytes).decode(token_ids, [1 + len(days), 0])
    assert texts.numpy().tolist() == [b"days", b""]


@pytest.mark.release(but=6)
def test_words_are_encoded_by_themselves_and_know_their_places(pair):
    tokenizer, graph = pair
    pieces_read, found = graph.word_pieces(SPACED)
    pieces_read, found = pieces_read.to_list(), {name: each.numpy() for name, each in found.items()}
    for row, text in enumerate(SPACED):
        # In Python white space is what Unicode says, and four old control characters.
        words = [word for word in re.split(r"(?:(?![\x1c-\x1f])\s)+", text) if word]
        pieces = tokenizer.encode_words([word.replace("\0", "\1") for word in words])
        count = found["word_counts"][row]
        assert count == len(words)
        assert pieces_read[row] == sum(pieces, [])
        places = zip(found["starts"][row][:count], found["ends"][row][:count], strict=True)
        assert [text[start:end] for start, end in places] == words
        assert found["first"][row][:count].tolist() == [sum(map(len, pieces[:index])) for index in range(count)]
        assert not any(found[name][row][count:].any() for name in ("starts", "ends", "first"))


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_cuts_a_text_as_python_does(rule):
    graph = GraphTokenizer(Tokenizer.train(CORPUS, 80).model_bytes)
    texts = [*SPACED, *CHOSEN, *drawn(100, seed=4), *(json.loads(line)[0] for line in ASKED)]
    _, found = graph.word_pieces(tf.constant(texts), rule)
    starts, ends, counts = (found[name].numpy().tolist() for name in ("starts", "ends", "word_counts"))
    places = [list(zip(*own, strict=True))[:count] for *own, count in zip(starts, ends, counts, strict=True)]
    expected = [find_words(text, rule) for text in texts]
    assert not [each for each in zip(texts, places, expected, strict=True) if each[1] != each[2]]


def test_no_words_at_all():
    tokenizer = Tokenizer.train(CORPUS, 80)
    pieces, found = GraphTokenizer(tokenizer.model_bytes).word_pieces(tf.constant(["", " \n"]))
    assert pieces.to_list() == [[], []]
    assert found["word_counts"].numpy().tolist() == [0, 0] and found["starts"].shape == (2, 0)


def test_what_is_written_keeps_its_leading_space(pair):
    tokenizer, graph = pair
    prompts, added = ["a small", "", "1", "small", "the zoo"], ["days", "corpus", "2", "", " keeps"]
    ids = [tokenizer.encode(texts) for texts in (prompts, added)]
    padded = [tf.ragged.constant(rows, dtype=tf.int32, ragged_rank=1).to_tensor(9) for rows in ids]
    lengths = [[len(row) for row in rows] for rows in ids]
    received = graph.decode_after(padded[0], lengths[0], padded[1], lengths[1]).numpy()
    for prompt, more, text in zip(*ids, received, strict=True):
        before, whole = tokenizer.decode([prompt, prompt + more])
        assert before + text.decode() == whole


@pytest.mark.slow
def test_a_saved_model_needs_no_other_file(tmp_path):
    tokenizer = Tokenizer.train(CORPUS, 80)
    module = tf.Module()
    module.graph = graph = GraphTokenizer(tokenizer.model_bytes)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def there_and_back(text):
        return graph.decode(*graph.encode(text))

    module.there_and_back = there_and_back
    tf.saved_model.save(module, tmp_path / "first")
    (tmp_path / "first").rename(tmp_path / "moved")
    code = (
        "import sys, tensorflow as tf, tensorflow_text\n"
        "model = tf.saved_model.load(sys.argv[1])\n"
        "print(model.there_and_back(tf.constant(['small  days', ''])).numpy().tolist())\n"
        "print(model.there_and_back(tf.constant([], tf.string)).shape)"
    )
    assert python("-c", code, tmp_path / "moved").stdout.splitlines() == ["[b'small days', b'']", "(0,)"]


def test_no_text_at_all(pair):
    tokenizer, graph = pair
    assert graph.pieces(tf.constant([], tf.string)).shape[0] == 0
    assert graph.pieces(tf.constant(["", ""])).to_list() == [[], []]


@only_others
@pytest.mark.slow
@pytest.mark.release(but=1)
def test_every_code_point(pair):
    tokenizer, graph = pair
    codes = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    texts = ["".join(f"a{one}b {one}" for one in codes[start : start + 256]) for start in range(0, len(codes), 256)]
    encode = tf.function(graph.pieces, input_signature=[tf.TensorSpec([None], tf.string)])
    for start in range(0, len(texts), 64):
        part = texts[start : start + 64]
        assert encode(tf.constant(part)).to_list() == tokenizer.encode(part), start


@only_others
@pytest.mark.slow
def test_a_saved_model_does_the_same(pair, tmp_path):
    tokenizer, graph = pair
    module = tf.Module()
    module.graph = graph

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def there_and_back(text):
        token_ids, lengths = graph.encode(text)
        return token_ids, graph.decode(token_ids, lengths)

    module.there_and_back = there_and_back
    tf.saved_model.save(module, tmp_path / "saved")
    token_ids, texts = tf.saved_model.load(tmp_path / "saved").there_and_back(tf.constant(["the zoo's"]))
    (expected,) = tokenizer.encode(["the zoo's"])
    assert token_ids[0].numpy().tolist() == tokenizer.around.put(expected)
    assert texts.numpy()[0].decode() == tokenizer.decode([tokenizer.around.put(expected)])[0]
