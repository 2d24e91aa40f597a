"""WordPiece and byte-level BPE in a graph, beside the same in Python."""

import numpy as np
import pytest
import tensorflow as tf

from serving.export.graph_tokenizers import GraphTokenizer
from tests.text.odd import CHOSEN, drawn
from tests.text.samples import NASTY
from tests.text.test_tokenizer_files import MAKERS
from zoo.text import BytePairs, WordPiece

TEXTS = [*CHOSEN, *NASTY, *drawn(120, seed=1), "a" * 2001 + "b"]


def made(name):
    """A tokenizer, changed so that every branch is there."""
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


@pytest.fixture(scope="module", params=["wordpiece", "plain wordpiece", "byte pairs", "byte pairs behind a space"])
def pair(request):
    tokenizer = made(request.param)
    return tokenizer, GraphTokenizer(tokenizer.model_bytes)


def test_encodes_as_python_does(pair):
    tokenizer, graph = pair
    token_ids, lengths = (part.numpy() for part in graph.encode(tf.constant(TEXTS)))
    assert token_ids.dtype == lengths.dtype == "int32"
    found = [row[:length].tolist() for row, length in zip(token_ids, lengths, strict=True)]
    expected = [tokenizer.around.put(ids) for ids in tokenizer.encode(TEXTS)]
    assert not [text for text, one, other in zip(TEXTS, found, expected, strict=True) if one != other]
    assert all((row[length:] == 0).all() for row, length in zip(token_ids, lengths, strict=True))


def test_encodes_words_as_python_does(pair):
    tokenizer, graph = pair
    words = ["the", "zoo's", "\u200b", "\u0378", "a.b", "caf\u00e9"]
    pieces_read, found = graph.word_pieces(tf.constant([" ".join(words), ""]))
    pieces = tokenizer.encode_words(words)
    assert pieces_read.to_list() == [sum(pieces, []), []]
    firsts = [sum(map(len, pieces[:index])) for index in range(len(words))]
    assert found["first"][0].numpy().tolist() == firsts and not found["first"][1].numpy().any()


def test_decodes_as_python_does(pair):
    tokenizer, graph = pair
    rng = np.random.default_rng(0)
    rows = rng.integers(0, tokenizer.vocab_size, (300, 9)).astype("int32")
    lengths = rng.integers(0, 10, 300)
    texts = [text.decode() for text in graph.decode(rows, lengths).numpy()]
    assert texts == tokenizer.decode([row[:length].tolist() for row, length in zip(rows, lengths, strict=True)])


def test_what_is_written_keeps_its_leading_space(pair):
    tokenizer, graph = pair
    prompt, more = tokenizer.encode(["the zoo", " keeps"])
    (received,) = graph.decode_after([prompt], [len(prompt)], [more], [len(more)]).numpy()
    before, whole = tokenizer.decode([prompt, prompt + more])
    assert before + received.decode() == whole


def test_no_text_at_all(pair):
    tokenizer, graph = pair
    assert graph.pieces(tf.constant([], tf.string)).shape[0] == 0
    assert graph.pieces(tf.constant(["", ""])).to_list() == [[], []]


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


@pytest.mark.slow
def test_a_saved_model_needs_no_other_file(pair, tmp_path):
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
