import math
import unicodedata

import pytest
import sentencepiece

from tests.shared import python
from tests.text.samples import CORPUS, NASTY
from zoo.text import BOS, EOS, PAD, UNK, Tokenizer

TEXTS = ["a cat sat on the mat", "the hat of the cat", "ein Haus am See"] * 30


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(CORPUS, 80)


@pytest.mark.parametrize("model_type", ["unigram", "bpe", "char", "word"])
def test_round_trip(model_type):
    tokenizer = Tokenizer.train(CORPUS, 200, model_type=model_type)
    encoded = tokenizer.encode(CORPUS)
    assert tokenizer.decode(encoded) == CORPUS
    assert all(4 <= token < tokenizer.vocab_size for row in encoded for token in row)


def test_byte_fallback_spells_every_character():
    tokenizer = Tokenizer.train(CORPUS, 400, normalization="identity", byte_fallback=True)
    texts = ["ж 👩‍👩‍👧", "שלום"]
    assert tokenizer.decode(tokenizer.encode(texts)) == texts


def test_nfd_takes_characters_apart():
    """As Python's own tables do, accents and Hangul syllables alike; the same bytes every time."""
    words = ["café", "naïve", "한국", "가나다", "Ångström", "plain"]
    tokenizer = Tokenizer.train(words, 80, model_type="char", normalization="nfd")
    for word, ids in zip(words, tokenizer.encode(words), strict=True):
        expected = ["\u2581", *unicodedata.normalize("NFD", word)]
        assert [tokenizer.pieces[token] for token in ids] == expected
    assert Tokenizer.train(words, 80, model_type="char", normalization="nfd").model_bytes == tokenizer.model_bytes


def test_normalization_is_a_choice():
    texts = ["你好，ＡＢＣ？"]
    plain = Tokenizer.train(texts, 50, normalization="identity")
    folded = Tokenizer.train(texts, 50, normalization="nmt_nfkc_cf")
    assert plain.decode(plain.encode(texts)) == texts
    assert folded.decode(folded.encode(texts)) == ["你好,abc?"]


def test_digits_stand_alone():
    tokenizer = Tokenizer.train(["in 1999 and 1999", "in 2024"] * 20, 100)
    (row,) = tokenizer.encode(["1999"])
    assert [text for text in tokenizer.decode([[token] for token in row]) if text] == list("1999")


def test_training_is_deterministic_and_takes_any_iterable(tokenizer):
    assert Tokenizer.train(iter(CORPUS), 80).model_bytes == tokenizer.model_bytes


def test_a_small_corpus_gives_fewer_pieces():
    assert Tokenizer.train(["ab"], 1000).vocab_size < 20


def test_decoding_drops_the_special_ids_and_shows_unknowns(tokenizer):
    (row,) = tokenizer.encode(["small days"])
    assert tokenizer.decode([[BOS, *row, EOS, PAD, PAD], [], [PAD]]) == ["small days", "", ""]
    assert UNK in tokenizer.encode(["ж"])[0]
    assert "⁇" in tokenizer.decode([[UNK]])[0]


def test_nasty_strings_encode_without_special_ids(tokenizer):
    for row in tokenizer.encode(NASTY):
        assert not {PAD, BOS, EOS} & set(row)
    assert tokenizer.encode(["", "  "]) == [[], []]


def test_saves_and_loads(tokenizer, tmp_path):
    path = tmp_path / "source.spm"
    path.write_bytes(b"an older file")
    tokenizer.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["source.spm"]
    loaded = Tokenizer.load(path)
    assert loaded.encode(CORPUS) == tokenizer.encode(CORPUS)
    assert loaded.vocab_size == tokenizer.vocab_size


@pytest.mark.parametrize("content", [b"", b"no model", b"\x00" * 64])
def test_refuses_what_is_no_model(content, tmp_path):
    path = tmp_path / "x.spm"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"x\.spm: .*not a SentencePiece model"):
        Tokenizer.load(path)


def test_refuses_other_special_ids(tmp_path):
    text = tmp_path / "corpus.txt"
    text.write_text("\n".join(CORPUS), encoding="utf-8")
    sentencepiece.SentencePieceTrainer.train(
        input=str(text), model_prefix=str(tmp_path / "other"), vocab_size=45, minloglevel=2
    )
    with pytest.raises(ValueError, match="special ids .*'unk': 0.* expects .*'unk': 1"):
        Tokenizer.load(tmp_path / "other.model")


def test_names_a_missing_file(tmp_path):
    with pytest.raises(ValueError, match=r"missing\.spm: there is no such file"):
        Tokenizer.load(tmp_path / "missing.spm")


@pytest.mark.parametrize("sentences", [[], ["", "  "]])
def test_refuses_an_empty_corpus(sentences):
    with pytest.raises(ValueError, match="empty corpus"):
        Tokenizer.train(sentences, 50)


def test_refuses_impossible_settings():
    with pytest.raises(ValueError, match="raise vocab_size"):
        Tokenizer.train(CORPUS, 5)
    with pytest.raises(ValueError, match="model_type must be one of .*'wordpiece'"):
        Tokenizer.train(CORPUS, 50, model_type="wordpiece")
    with pytest.raises(ValueError, match="normalization must be one of .*'nfdc'"):
        Tokenizer.train(CORPUS, 50, normalization="nfdc")
    with pytest.raises(TypeError, match="received one string"):
        Tokenizer.train("a corpus", 50)


def test_refuses_misuse(tokenizer):
    with pytest.raises(TypeError, match="list of strings"):
        tokenizer.encode("one string")
    with pytest.raises(ValueError, match=r"lie in \[0, \d+\).* received -1"):
        tokenizer.decode([[5], [5, -1]])
    with pytest.raises(ValueError, match=f"received {tokenizer.vocab_size}"):
        tokenizer.decode([[tokenizer.vocab_size]])


def test_does_not_import_tensorflow_text():
    code = "import sys, zoo.text, zoo.data; assert 'tensorflow_text' not in sys.modules"
    python("-c", code)


@pytest.mark.parametrize("model_type", ["char", "unigram", "bpe"])
def test_verbatim_text_comes_back_as_it_is(model_type):
    text = "First Citizen:\n\n  Speak,  speak. \n \n\tthe 2nd\n" + "speak all the citizens\n" * 9
    tokenizer = Tokenizer.train([text], 60, model_type=model_type, verbatim=True)
    samples = [text, "\n", " a\n\n  l ", "", "  ", "the citizens"]
    assert tokenizer.decode(tokenizer.encode(samples)) == samples
    lines = [line + "\n" for line in text.split("\n")[:-1]]
    assert sum(tokenizer.encode(lines), []) == tokenizer.encode([text])[0]  # a text can be encoded by lines
    if model_type == "char":
        assert len(tokenizer.encode([text])[0]) == len(text)


def test_whole_words_keep_joiners_and_digits():
    texts = ["zwei viel@@ er 1999 &apos;s", "bü@@ sche , 20 x@@ 7"]
    tokenizer = Tokenizer.train(texts, 100, model_type="word", normalization="identity")
    assert tokenizer.vocab_size == 4 + len(set(" ".join(texts).split()))
    assert [len(row) for row in tokenizer.encode(texts)] == [5, 6]
    assert tokenizer.decode(tokenizer.encode(texts)) == texts


def test_words_are_encoded_each_by_itself(tokenizer):
    words = ["small", "days", "\u200b", "ж"]
    ids = tokenizer.encode_words(words)
    assert ids[:2] == tokenizer.encode(words[:2])
    assert sum(ids[:2], []) == tokenizer.encode(["small days"])[0]
    assert ids[2] == [UNK] and UNK in ids[3]


@pytest.fixture(params=["unigram", "char", "word"])
def learnt(request):
    return Tokenizer.train(TEXTS, vocab_size=40, model_type=request.param)


def test_those_of_words_and_characters_are_their_shares(learnt):
    """SentencePiece's own probabilities: of whole words and characters the shares among all of them."""
    found = learnt.log_probabilities
    assert len(found) == learnt.vocab_size
    if learnt.pieces[4] == "\u2581the":  # 3 of 14 words, to which SentencePiece adds nothing
        assert found[4] == pytest.approx(math.log(3 / 15), abs=0.1)
    assert sum(math.exp(each) for each in found[4:]) == pytest.approx(1, abs=0.35)
    assert found[UNK] == min(found[4:]) - 10


def test_merges_have_the_probabilities_of_their_ranks():
    found = Tokenizer.train(TEXTS, vocab_size=40, model_type="bpe").log_probabilities
    assert found[4:8] == [-math.log(rank) for rank in (1, 2, 3, 4)]


def test_a_byte_is_as_rare_as_the_rarest_piece():
    tokenizer = Tokenizer.train(TEXTS, vocab_size=300, byte_fallback=True)
    found, pieces = tokenizer.log_probabilities, tokenizer.pieces
    assert found[pieces.index("<0x41>")] == min(
        each for each, piece in zip(found, pieces, strict=True) if piece[0] != "<"
    )
