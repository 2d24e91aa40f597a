"""Folders as Firefox and Bergamot have them, and their shortlists, against the engine and a reader of the test."""

import gzip
import shutil
import struct

import numpy as np
import pytest

from serving.export import export_run
from tests.pretrained.make_marian import BEST, FIRST, binary_shortlist, likeliest
from tests.pretrained.test_marian_files import STUDENT, held, written
from tests.pretrained.tiny import opened, said
from zoo.data import pad
from zoo.decoding.rules import Rules
from zoo.decoding.shortlist import Shortlisted, search
from zoo.pretrained import import_network
from zoo.pretrained.marian_formats import read_shortlist
from zoo.pretrained.source import open_address
from zoo.pretrained.vocabulary import pieces_of
from zoo.tasks.parts.answering import rules_of
from zoo.text.base import BOS, EOS, PAD, UNK

MODEL, VOCAB, LEX = "model.ende.intgemm.alphas.bin", "vocab.ende.spm", "lex.50.50.ende.s2t.bin"
NAMES = [piece for piece, _, _ in pieces_of((STUDENT / "vocab.spm").read_bytes())]
SIZE = len(NAMES)
THEIRS = {UNK: NAMES.index("<unk>"), EOS: NAMES.index("</s>"), PAD: SIZE, BOS: SIZE}
IDS = np.array([THEIRS[each] for each in range(4)] + [each for each in range(SIZE) if each not in THEIRS.values()])
LISTS = likeliest(STUDENT / "lex.s2t", NAMES, BEST)
BINARY = binary_shortlist(LISTS, FIRST, BEST)


def publish(folder, packed=True):
    """The three files, as they are published."""
    folder.mkdir()
    files = {MODEL: written(held()), VOCAB: (STUDENT / "vocab.spm").read_bytes(), LEX: BINARY}
    for name, content in files.items():
        (folder / f"{name}{'.gz' * packed}").write_bytes(gzip.compress(content, mtime=0) if packed else content)
    return folder


@pytest.fixture
def folder(tmp_path):
    return publish(tmp_path / "ende", packed=False)


def network(folder):
    return opened(folder, tokenizers=False).network


def may(shortlist, source):
    """The ids of the vocabulary that a shortlist allows for one of its ids."""
    row = shortlist["table"][[*IDS].index(source)]
    return {int(IDS[each]) for each in row if each != EOS} | {int(IDS[each]) for each in shortlist["always"]}


def test_files_that_are_called_as_firefox_calls_them(tmp_path, monkeypatch):
    """As they are published, compressed: searched as Firefox asks its engine, and exported with the shortlist."""
    record = import_network(publish(tmp_path / "ende"), tmp_path / "run")
    assert {*record["files"]} == {MODEL, VOCAB, LEX} and LEX in record["notes"][0]
    found = network(tmp_path / "ende")
    search = found.recipe["search"]
    assert (search["beam"], search["alpha"], search["length_ratio"]) == (1, 1.0, 2.0)
    monkeypatch.setattr("serving.export.runs.export", lambda model, tokenizers, out, settings, *_, **__: settings)
    kept = export_run(tmp_path / "run").shortlist
    assert export_run(tmp_path / "run", shortlist=None).shortlist is None
    np.testing.assert_array_equal(kept.table, found.shortlist["table"])
    for source in range(SIZE):
        expected = {*LISTS[source], *range(FIRST), source}  # of a vocabulary that is shared, the piece itself as well
        assert may({"table": kept.table, "always": kept.always}, source) == expected


@pytest.mark.slow
def test_it_writes_what_the_engine_writes_over_its_shortlist():
    """The engine fills a batch's shortlist up to a multiple of eight; here these ids may be written as well."""
    told, made = said(STUDENT), opened(STUDENT)
    reads, writes = made.tokenizers
    encoded = [reads.around.put(ids) for ids in reads.encode(told["texts"])]
    vocabularies, ids = (NAMES, NAMES), (IDS, IDS)
    found = read_shortlist(STUDENT / "lex.s2t", [FIRST, BEST], vocabularies, ids, shared=True)
    filled = np.full((len(encoded), 7), -1)
    for row, text in enumerate(encoded):
        allowed = set().union(*(may(found, IDS[each]) for each in text))
        others = [each for each in range(FIRST, SIZE) if each not in allowed][: -len(allowed) % 8]
        filled[row, : len(others)] = [[*IDS].index(each) for each in others]

    class Filled(Shortlisted):
        def encode(self, *sources):
            return super().encode(*sources[:2], filled.astype("int32"))

    token_ids, lengths = pad(encoded)
    rules = Rules(lengths, fixed=made.recipe.search.fixed, **rules_of(made.recipe.search, 1))
    found = search(Filled(made.model, **found), token_ids, lengths, 64, beams=1, rules=rules)
    outputs, sizes = (np.asarray(each)[:, 0] for each in found[:2])
    texts = writes.decode([row[:size].tolist() for row, size in zip(outputs, sizes, strict=True)])
    assert texts == told["shortlist_texts"]
    assert sum(one != other for one, other in zip(texts, told["greedy_texts"], strict=True)) > 3


SETTINGS = """
relative-paths: true
models: [model.intgemm.alphas.bin]
vocabs: [../vocab.spm, vocab.spm]
shortlist: [lex.s2t.bin, false]
beam-size: 2
normalize: 0.5
max-length-factor: 2.5
word-penalty: 0
gemm-precision: int8shiftAlphaAll
bergamot-mode: native
"""


def test_the_settings_that_bergamot_publishes(tmp_path):
    """Of several, the first that names weights which are there."""
    folder = shutil.copytree(STUDENT, tmp_path / "student")
    (folder / "catalog-entry.yml").write_text('name: "a/b"\nlicense: "CC-BY-SA-4.0"\n')
    with open_address(folder) as source:
        assert source.licence() == "CC-BY-SA-4.0"
    (folder / "decoder.yml").rename(folder / "config.yml")
    (folder / "config.intgemm8bitalpha.yml").write_text(SETTINGS)
    assert network(folder).shortlist == {} and network(folder).recipe["search"]["beam"] == 4
    (folder / "model.npz").unlink()
    (folder / "model.intgemm.alphas.bin").write_bytes(written(held()))
    (folder / "lex.s2t.bin").write_bytes(BINARY)
    found = network(folder)
    search = found.recipe["search"]
    assert (search["beam"], search["alpha"], search["length_ratio"]) == (2, 0.5, 2.5)
    assert may(found.shortlist, 7) == {*LISTS[7], *range(FIRST), 7}
    (folder / "model.intgemm.alphas.bin").unlink()
    with pytest.raises(ValueError, match=r"lacks model\.npz"):
        network(folder)


def refusal(folder, *changes):
    text = SETTINGS.replace("model.intgemm.alphas.bin", MODEL).replace("lex.s2t.bin", LEX)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (folder / "vocab.spm").write_bytes((folder / VOCAB).read_bytes())
    (folder / "config.x.yml").write_text(text)
    with pytest.raises(ValueError) as error:
        network(folder)
    return str(error.value)


def test_settings_that_cannot_be_carried_are_told_by_name(folder):
    told = refusal(folder, ("word-penalty: 0", "word-penalty: 1"), ("bergamot-mode", "bergamotmode"))
    assert "config.x.yml asks for what cannot be carried" in told
    assert "word-penalty is 1; here it can only be 0" in told and 'bergamotmode = "native" is a setting that' in told
    assert "asks for 2 models that translate together" in refusal(folder, (MODEL, f"{MODEL}, {MODEL}"))
    assert "lacks lex.other" in refusal(folder, (LEX, "lex.other"))


def lexicon(tmp_path, text, given=(), shared=False):
    """The lists and the first ids of a text."""
    (tmp_path / "lex.s2t").write_text(text, encoding="utf-8")
    return read_shortlist(tmp_path / "lex.s2t", list(given), (NAMES, NAMES), (IDS, IDS), shared)


def test_text_and_binary_are_one_shortlist(tmp_path):
    """That of the text is what a reader of the test makes of it, which ranks and cuts by itself."""
    text = lexicon(tmp_path, (STUDENT / "lex.s2t").read_text(encoding="utf-8"), [FIRST, BEST])
    (tmp_path / "lex.bin").write_bytes(BINARY)
    binary = read_shortlist(tmp_path / "lex.bin", [False], (NAMES, NAMES), (IDS, IDS), shared=False)
    for source in range(SIZE):
        assert may(text, source) == may(binary, source) == {*LISTS[source], *range(FIRST)}


def test_a_text_is_read_as_marian_reads_it(tmp_path):
    """The target stands first; the last line of a pair counts; of equal ones the larger id; a threshold is exceeded."""
    lines = ["he he .9", "he he .1", "s e .5", "l e .5", "n e .25", "NULL e .9", "strange u .3"]
    found = lexicon(tmp_path, "\n".join(lines), [0, 1, 0.2])
    at = NAMES.index
    assert may(found, at("e")) == {at("l")} and may(found, at("he")) == may(found, at("s")) == set()
    assert may(found, at("u")) == {at("<unk>")}
    assert len(lexicon(tmp_path, "")["always"]) == SIZE, "100 by default, and there are fewer"


@pytest.mark.parametrize(
    ("text", "given", "told"),
    [
        ("he he\n", [], r"line 1 is not `target source probability`: 'he he"),
        ("he he .5\nhe he x", [], "line 2 is not"),
        ("he he nan", [], "line 1 has nan for a probability"),
        ("he he -1", [], "line 1 has -1.0 for a probability"),
        ("he he .5", [False], r"are \[False\]; of a text expected are FIRST, BEST, LEAST"),
        ("he he .5", [5, 5, 0, "dump"], "of a text expected are"),
    ],
)
def test_a_text_that_is_none_is_refused(text, given, told, tmp_path):
    with pytest.raises(ValueError, match=told):
        lexicon(tmp_path, text, given)


def damaged(place, kind, value, sums=True):
    """The file with a number in another one's place; its checksum is right again."""
    content = bytearray(BINARY)
    struct.pack_into(kind, content, place, value)
    if sums:
        again = 0
        for (word,) in struct.iter_unpack("<Q", content[16 : 16 + (len(content) - 16) // 8 * 8]):
            again ^= (word + 0x9E3779B9 + (again << 6) + (again >> 2)) % 2**64
        struct.pack_into("<Q", content, 8, again)
    return bytes(content)


LIST = 48 + 8 * (SIZE + 1)  # where the ids begin
DAMAGED = {
    "cut off": (BINARY[:-4], "its header claims"),
    "a header alone": (BINARY[:20], "its header alone 48"),
    "more than any machine holds": (damaged(32, "<Q", 2**61), "its header claims"),
    "many ids": (damaged(40, "<Q", 2**63), "its header claims"),
    "another content": (damaged(LIST, "<I", 9, sums=False), "its checksum is 0x"),
    "a list that goes back": (damaged(56, "<Q", 2**40), "the places of its lists do not follow each other"),
    "a list that begins later": (damaged(48, "<Q", 1), "the places of its lists"),
    "an id of no piece": (damaged(LIST, "<I", SIZE), f"allows the target id {SIZE}, and the vocabulary has {SIZE}"),
    "another vocabulary": (binary_shortlist(LISTS[1:], FIRST, BEST), f"is for {SIZE - 1} source pieces"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_file_is_refused(name, folder):
    content, told = DAMAGED[name]
    (folder / LEX).write_bytes(content)
    with pytest.raises(ValueError, match=f"{LEX} is no shortlist of this network: .*{told}"):
        network(folder)


def test_a_table_that_is_too_large_is_refused(folder, monkeypatch):
    monkeypatch.setattr("zoo.pretrained.marian_formats.MOST", 2 * SIZE)
    with pytest.raises(ValueError, match="one piece allows 4 others, a table of"):
        network(folder)


@pytest.mark.parametrize(("content", "told"), [(b"\x1f\x8b\x08", "may be cut off"), (bytes(2**22), "more than")])
def test_a_compressed_file_is_bounded(content, told, tmp_path):
    folder = publish(tmp_path / "ende")
    (folder / f"{LEX}.gz").write_bytes(gzip.compress(content) if len(content) > 3 else content)
    with pytest.raises(ValueError, match=told):
        network(folder)
