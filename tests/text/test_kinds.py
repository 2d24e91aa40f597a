import json
from pathlib import Path

import pytest

from tests.text.samples import CORPUS, NASTY
from zoo.text import BOS, EOS, Around, BytePairs, Tokenizer, WordPiece, load_tokenizer
from zoo.text.protobuf import field
from zoo.text.tokenizer_files import read_byte_pairs, read_wordpiece

HOME = Path(__file__).with_name("tokenizer_files")
MAKERS = {
    Tokenizer: lambda: Tokenizer.train(CORPUS, 80),
    WordPiece: lambda: read_wordpiece(HOME / "wordpiece")[0],
    BytePairs: lambda: read_byte_pairs(HOME / "byte_pairs")[0],
}


@pytest.fixture(params=MAKERS, ids=lambda kind: kind.__name__)
def tokenizer(request):
    return MAKERS[request.param]()


def test_the_content_decides_the_kind(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "source.spm")
    for loaded in (load_tokenizer(tmp_path / "source.spm"), load_tokenizer(tokenizer.model_bytes)):
        assert type(loaded) is type(tokenizer)
        assert loaded.model_bytes == tokenizer.model_bytes and loaded.around == tokenizer.around
        assert loaded.encode(NASTY) == tokenizer.encode(NASTY)


def test_what_stands_around_a_text_is_in_the_file(tokenizer):
    changed = tokenizer.with_around((7, BOS), (EOS, 5))
    loaded = load_tokenizer(changed.model_bytes)
    assert (loaded.before, loaded.after) == ((7, BOS), (EOS, 5))
    assert loaded.around.put([8]) == [7, BOS, 8, EOS, 5] and loaded.around.size == 4
    assert loaded.encode(NASTY) == tokenizer.encode(NASTY) and loaded.pieces == tokenizer.pieces
    again = loaded.with_around(tokenizer.before, tokenizer.after)
    assert again.model_bytes == tokenizer.model_bytes
    with pytest.raises(ValueError, match=r"ids in \[0, .*received \[99999\]"):
        tokenizer.with_around((99999,))


def test_sentencepiece_has_an_end_and_no_bytes_that_say_so():
    tokenizer = Tokenizer.train(CORPUS, 80)
    assert tokenizer.around == Around((), (EOS,)) == Around()
    assert tokenizer.with_around((4,)).with_around().model_bytes == tokenizer.model_bytes


def test_words_together_are_the_text(tokenizer):
    for text in NASTY:
        assert sum(tokenizer.words(text), []) == tokenizer.encode([text])[0]


def test_words_of_a_tagger_have_a_piece_each(tokenizer):
    words = ["small", "zoos", "\u200b", "\u0378", "a.b"]
    found = tokenizer.encode_words(words)
    assert all(found) and len(found) == len(words)
    assert found[0] == tokenizer.encode_words(["small"])[0]


def test_ids_out_of_range_are_refused(tokenizer):
    with pytest.raises(ValueError, match=r"must lie in \[0, .*received -1"):
        tokenizer.decode([[-1]])
    with pytest.raises(TypeError, match="list of strings"):
        tokenizer.encode("text")


def test_special_ids_show_nothing(tokenizer):
    (text,) = tokenizer.encode(["the zoo"])
    assert tokenizer.decode([[BOS, *text, EOS, 0], []]) == [tokenizer.decode([text])[0], ""]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a SentencePiece model"),
        (b"{", "no tokenizer: expected a JSON object"),
        (b'{"tokenizer": "wordpiece"}', "no tokenizer: expected a JSON object"),
        (b"{" * 100_000, "no tokenizer: expected a JSON object"),
        (b"\xc2\x0c", "not a SentencePiece model"),
    ],
)
def test_content_that_is_no_tokenizer_is_refused(content, message):
    with pytest.raises(ValueError, match=message):
        load_tokenizer(content)


@pytest.mark.parametrize("own", [b"[1]", b"[[2], [2.5]]", b"[[[2]], []]", b"nothing"])
def test_a_model_whose_own_field_is_wrong_is_refused(own):
    with pytest.raises(ValueError, match="holds the ids before and behind every text"):
        load_tokenizer(field(200, own) + Tokenizer.train(CORPUS, 80).model_bytes)


@pytest.mark.parametrize("kind", [WordPiece, BytePairs])
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokenizer": "mine"}, "knows no tokenizer of the kind 'mine'"),
        ({"more": 1}, "Expected a tokenizer of the kind"),
        ({"pieces": ["a"] * 5}, "each is there once"),
        ({"before": [2.5]}, "no tokenizer: expected a JSON object"),
        ({"before": [-1]}, r"received \[-1\]"),
    ],
)
def test_a_file_that_was_changed_is_refused(kind, changes, message):
    settings = MAKERS[kind]().settings | changes
    with pytest.raises(ValueError, match=message):
        load_tokenizer(json.dumps(settings).encode())


@pytest.mark.parametrize("kind", [WordPiece, BytePairs])
@pytest.mark.parametrize(
    "value", [None, 1, -1, 1 << 40, "x", [], [1], [[1]], ["x"], [-5, 9], [1 << 40] * 2, {}, {"xy": 1}]
)
def test_a_stranger_s_settings_are_refused_or_work(kind, value):
    settings = MAKERS[kind]().settings
    for key in settings:
        try:
            tokenizer = load_tokenizer(json.dumps(settings | {key: value}).encode())
            tokenizer.decode(tokenizer.encode(NASTY))
        except ValueError as error:
            assert str(error)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"missing\.spm: there is no such file"):
        load_tokenizer(tmp_path / "missing.spm")
    (tmp_path / "x.spm").write_bytes(b"nothing")
    with pytest.raises(ValueError, match=r"x\.spm: .*not a SentencePiece model"):
        load_tokenizer(tmp_path / "x.spm")
