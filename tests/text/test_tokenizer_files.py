"""Tokenizers of every kind from files; WordPiece and byte-level BPE beside the answers of Hugging Face's library."""

import gzip
import json
import shutil
from pathlib import Path

import pytest

from tests.text.samples import CORPUS, NASTY
from tests.text.tokenizer_files.make import rows_to_decode
from zoo.text import BOS, EOS, Around, BytePairs, Tokenizer, WordPiece, load_tokenizer
from zoo.text.json_tokenizers import byte_signs
from zoo.text.protobuf import field
from zoo.text.tokenizer_files import read_byte_pairs, read_wordpiece

HOME = Path(__file__).with_name("tokenizer_files")
ANSWERS = json.loads(gzip.decompress((HOME / "answers.json.gz").read_bytes()))
READERS = {"wordpiece": read_wordpiece, "byte_pairs": read_byte_pairs}
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<s>", "</s>", "<pad>", "<unk>", "<mask>")
MAKERS = {
    Tokenizer: lambda: Tokenizer.train(CORPUS, 80),
    WordPiece: lambda: read_wordpiece(HOME / "wordpiece")[0],
    BytePairs: lambda: read_byte_pairs(HOME / "byte_pairs")[0],
}


def received(tokenizer, ids):
    """The ids of all texts, as their source has them."""
    return [[ids[token] for token in tokenizer.around.put(row)] for row in tokenizer.encode(ANSWERS["texts"])]


def check(found, name):
    differ = {
        text
        for text, one, other in zip(ANSWERS["texts"], found, ANSWERS[name], strict=True)
        if one != other and not any(piece in text for piece in SPECIAL)
    }
    assert not differ


@pytest.fixture(params=["tokenizer.json", "the files before it"])
def folder(request, tmp_path):
    """The files of both, with or without tokenizer.json."""
    shutil.copytree(HOME, tmp_path / "files")
    if request.param != "tokenizer.json":
        for path in (tmp_path / "files").rglob("tokenizer.json"):
            path.unlink()
    return tmp_path / "files"


@pytest.mark.parametrize("name", READERS)
def test_gives_the_ids_of_its_source(name, folder):
    tokenizer, ids = READERS[name](folder / name)
    check(received(tokenizer, ids), name)
    assert sorted(ids) == list(range(tokenizer.vocab_size))
    assert (tokenizer.before, tokenizer.after) == ((BOS,), (EOS,))


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("cased", {"do_lower_case": False}),
        ("lower", {"strip_accents": False}),
        ("plain", {"tokenize_chinese_chars": False}),
    ],
)
def test_wordpiece_obeys_its_settings(name, changes, folder):
    """Those of tokenizer_config.json count before those of tokenizer.json, as they do there."""
    (folder / "wordpiece/tokenizer_config.json").write_text(json.dumps(changes))
    tokenizer, ids = read_wordpiece(folder / "wordpiece")
    check(received(tokenizer, ids), name)


@pytest.mark.parametrize(("kind", "obeyed"), [("BertTokenizer", True), ("PreTrainedTokenizerFast", False)])
def test_a_class_that_only_reads_tokenizer_json_has_no_settings_beside_it(kind, obeyed, tmp_path):
    shutil.copytree(HOME / "wordpiece", tmp_path / "x")
    (tmp_path / "x/tokenizer_config.json").write_text(json.dumps({"do_lower_case": False, "tokenizer_class": kind}))
    tokenizer, ids = read_wordpiece(tmp_path / "x")
    check(received(tokenizer, ids), "cased" if obeyed else "wordpiece")


def test_texts_that_are_not_cleaned(tmp_path):
    (tmp_path / "tokenizer.json").write_text(
        (HOME / "wordpiece/tokenizer.json").read_text().replace('"clean_text": true', '"clean_text": false')
    )
    tokenizer, ids = read_wordpiece(tmp_path)
    check(received(tokenizer, ids), "unclean")


def test_a_space_before_every_text(folder):
    settings = json.loads((folder / "byte_pairs/tokenizer_config.json").read_text()) | {"add_prefix_space": True}
    (folder / "byte_pairs/tokenizer_config.json").write_text(json.dumps(settings))
    tokenizer, ids = read_byte_pairs(folder / "byte_pairs")
    check(received(tokenizer, ids), "prefix_space")


def test_bytes_that_are_no_text_are_shown_as_the_source_shows_them():
    tokenizer, ids = read_byte_pairs(HOME / "byte_pairs")
    ours = {source: own for own, source in enumerate(ids)}
    rows = [[ours[token] for token in row] for row in rows_to_decode(tokenizer.vocab_size)]
    assert [text.replace("\u2047", "") for text in tokenizer.decode(rows)] == ANSWERS["decoded"]
    assert any("\ufffd" in text for text in ANSWERS["decoded"])


@pytest.mark.parametrize("name", READERS)
def test_a_special_piece_inside_a_text_stays_text(name):
    tokenizer, _ = READERS[name](HOME / name)
    for row in tokenizer.encode([f"the {piece} zoo" for piece in SPECIAL]):
        assert not {0, 2, 3, *tokenizer.settings["special"]} & set(row)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("wordpiece", '"type": "BertNormalizer"', '"type": "NFC"', "type = 'NFC'; expected 'BertNormalizer'"),
        ("wordpiece", '"##"', '"@@"', "continuing_subword_prefix = '@@'"),
        ("wordpiece", '"special": true', '"special": false', "looks for the piece '.unused0.' in texts"),
        ("wordpiece", '"[PAD]": 1', '"[PAD]": 0', "no piece, or two, for the id"),
        ("byte_pairs", '"ignore_merges": false', '"ignore_merges": true', "ignore_merges = True; expected False"),
        ("byte_pairs", '"use_regex": true', '"use_regex": false', "use_regex = False"),
        ("byte_pairs", '"normalizer": null', '"normalizer": {"type": "NFC"}', "normalizer = "),
        ("byte_pairs", '"merges": [', '"merges": [["q", "q"],', r"\('q', 'q'\) needs pieces"),
        ("byte_pairs", '"version"', "version", "is no JSON"),
    ],
)
def test_what_is_not_understood_is_refused_by_name(name, old, new, message, tmp_path):
    whole = (HOME / name / "tokenizer.json").read_text()
    assert old in whole
    (tmp_path / "tokenizer.json").write_text(whole.replace(old, new))
    shutil.copy(HOME / name / "tokenizer_config.json", tmp_path)
    with pytest.raises(ValueError, match=message):
        READERS[name](tmp_path)


@pytest.mark.parametrize("name", READERS)
def test_a_folder_without_a_tokenizer_is_refused(name, tmp_path):
    with pytest.raises(ValueError, match="has no tokenizer: expected tokenizer.json, or vocab"):
        READERS[name](tmp_path)


def test_a_source_with_one_special_piece_for_all(tmp_path):
    """As GPT-2, whose only one is the end of a text."""
    shutil.copy(HOME / "byte_pairs/merges.txt", tmp_path)
    shutil.copy(HOME / "byte_pairs/vocab.json", tmp_path)
    names = {f"{name}_token": "</s>" for name in ("bos", "eos", "unk")}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(names))
    tokenizer, ids = read_byte_pairs(tmp_path)
    end = json.loads((tmp_path / "vocab.json").read_text())["</s>"]
    assert ids[:4] == [-1, -1, end, end] and ids.count(end) == 2
    assert (tokenizer.before, tokenizer.after) == ((), ())
    assert isinstance(tokenizer, BytePairs) and tokenizer.decode([[0, 2, 3]]) == [""]


def test_a_tokenizer_that_says_of_nothing_behind_it_has_nothing_around_a_text(tmp_path):
    whole = json.loads((HOME / "byte_pairs/tokenizer.json").read_text()) | {"post_processor": None}
    (tmp_path / "tokenizer.json").write_text(json.dumps(whole))
    tokenizer, _ = read_byte_pairs(tmp_path)
    assert (tokenizer.before, tokenizer.after) == ((), ())


def test_merges_that_were_not_learnt_in_their_order_are_refused():
    """A graph merges all pairs of one rank at once, which is the same for lists that were learnt."""
    pieces = ["<pad>", "<unk>", "<s>", "</s>", *byte_signs(), "ab", "abc"]
    BytePairs.make(pieces, [("a", "b"), ("ab", "c")])
    with pytest.raises(ValueError, match="merge of 'a' and 'b' comes behind one that needs its result"):
        BytePairs.make(pieces, [("ab", "c"), ("a", "b")])


def test_words_that_are_too_long_are_unknown():
    tokenizer = WordPiece.make(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "##a"], longest=3)
    assert tokenizer.encode(["aaa aaaa"]) == [[4, 5, 5, 1]]


@pytest.mark.parametrize(("special", "around"), [("<|endoftext|>", ((), ())), ("</s>", ((2,), (3,)))])
def test_files_that_name_no_special_piece_have_the_usual_ones(special, around, tmp_path):
    """As the first folders of GPT-2 and RoBERTa."""
    pieces = [special] if special == "<|endoftext|>" else ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    places = {piece: token for token, piece in enumerate([*pieces, *byte_signs()])}
    (tmp_path / "vocab.json").write_text(json.dumps(places))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    (tmp_path / "tokenizer_config.json").write_text('{"model_max_length": 1024}')
    tokenizer, ids = read_byte_pairs(tmp_path)
    assert ids[EOS] == places[special] and (tokenizer.before, tokenizer.after) == around
    assert ids.count(places[special]) == (2 if len(pieces) == 1 else 1)


def test_the_ids_of_a_network_may_begin_with_another_row_and_be_fewer(tmp_path):
    """As of bart-large-cnn, which knows no <mask>; what its decoder starts with comes last, <s> is another one."""
    signs = byte_signs()
    places = {piece: token for token, piece in enumerate(["<s>", "<pad>", "</s>", "<unk>", *signs, "<mask>"])}
    (tmp_path / "vocab.json").write_text(json.dumps(places))
    (tmp_path / "merges.txt").write_text("#version: 0.2\n")
    (tmp_path / "tokenizer_config.json").write_text("{}")
    size = len(places) - 1
    ids = [1, 3, size, 2, 0, *range(4, size)]
    tokenizer, found = read_byte_pairs(tmp_path, ids)
    assert found == ids and tokenizer.pieces[4:6] == ["<s>", signs[0]] and "<mask>" not in tokenizer.pieces
    assert (tokenizer.before, tokenizer.after, tokenizer.decode([[4, 5, 3]])) == ((4,), (EOS,), ["\0"])
    with pytest.raises(ValueError, match=r"has PAD, UNK and EOS at \[0, 3, 2\], and the tokenizer at \[1, 3, 2\]"):
        read_byte_pairs(tmp_path, [0, 3, size, 2, 1, *range(4, size)])
    with pytest.raises(ValueError, match="has pieces that the network does not know: "):
        read_byte_pairs(tmp_path, [1, 3, size - 9, 2, 0, *range(4, size - 9)])


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
