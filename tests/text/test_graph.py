import subprocess
import sys

import numpy as np
import pytest

tf = pytest.importorskip("tensorflow")
pytest.importorskip("tensorflow_text")

from tests.text.samples import CORPUS, NASTY  # noqa: E402
from zoo.text import BOS, EOS, PAD, Tokenizer  # noqa: E402
from zoo.text.graph import GraphTokenizer  # noqa: E402

SETTINGS = {
    "unigram": {},
    "bytes": {"byte_fallback": True},
    "bpe": {"model_type": "bpe"},
    "identity": {"normalization": "identity", "model_type": "char"},
}


@pytest.fixture(params=SETTINGS)
def pair(request):
    tokenizer = Tokenizer.train(CORPUS, 330, **SETTINGS[request.param])
    return tokenizer, GraphTokenizer(tokenizer.model_bytes)


def test_encodes_as_the_tokenizer_does(pair):
    tokenizer, graph = pair
    token_ids, lengths = graph.encode(tf.constant(NASTY + CORPUS))
    assert token_ids.dtype == lengths.dtype == tf.int32
    for row, length, expected in zip(token_ids.numpy(), lengths.numpy(), tokenizer.encode(NASTY + CORPUS), strict=True):
        assert row[:length].tolist() == [*expected, EOS]
        assert (row[length:] == PAD).all()
    assert token_ids.shape[1] == lengths.numpy().max()


def test_decodes_as_the_tokenizer_does(pair):
    tokenizer, graph = pair
    token_ids, lengths = (tensor.numpy() for tensor in graph.encode(tf.constant(NASTY)))
    texts = [text.decode() for text in graph.decode(token_ids, lengths).numpy()]
    rows = [row[:length].tolist() for row, length in zip(token_ids, lengths, strict=True)]
    assert texts == tokenizer.decode(rows)


def test_decoding_ends_at_the_length():
    tokenizer = Tokenizer.train(CORPUS, 80)
    (days,) = tokenizer.encode(["days"])
    token_ids = np.array([[BOS, *days, *days], [*days, *days, PAD]], "int32")
    texts = GraphTokenizer(tokenizer.model_bytes).decode(token_ids, [1 + len(days), 0])
    assert texts.numpy().tolist() == [b"days", b""]


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
    result = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "moved"], check=True, capture_output=True, text=True
    )
    assert result.stdout.splitlines() == ["[b'small days', b'']", "(0,)"]
