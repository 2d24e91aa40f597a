"""Marian's own files against Marian's own engine, whose answers `make_marian.py` kept.

Binary weights are written here by the layout of its sources: float32, and intgemm's int8.
"""

import json
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

import zoo
from tests.pretrained.tiny import DATA, opened, said
from zoo.data import pad
from zoo.pretrained import import_network
from zoo.pretrained.families.marian_files import SETTINGS
from zoo.pretrained.files import read_tensors
from zoo.pretrained.marian_formats import parse_yaml, read_yaml
from zoo.tasks.parts.answering import Searcher
from zoo.training import named_weights

NAMES = "marian_files", "marian_files_apart", "marian_student"


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("name", NAMES)
def test_it_writes_what_marian_writes(name):
    told, made = said(DATA / name), opened(DATA / name)
    search, (reads, writes) = made.recipe.search, made.tokenizers
    batch = pad([reads.around.put(ids) for ids in reads.encode(told["texts"])])
    for beams, answers in ((1, "greedy_texts"), (4, "beam_texts")):
        assert len({*told[answers]}) > 5
        searcher = Searcher(made.model, beams, search.alpha, 80, search)
        searcher.compile(jit_compile=False)
        token_ids, lengths, _ = searcher.predict_on_batch(batch)
        found = [ids[:length].tolist() for ids, length in zip(token_ids, lengths, strict=True)]
        assert writes.decode(found) == told[answers]


def test_it_becomes_a_run(tmp_path):
    record = import_network(DATA / NAMES[1], tmp_path / "run")
    assert record["family"] == "marian-nmt" and "scaled by 1.702" in record["folds"] and record["parity"] is None
    assert {*record["files"]} == {
        "decoder.yml", "model.npz", "source.spm", "src.vocab.yml", "target.spm", "trg.vocab.yml"
    }  # fmt: skip
    run = zoo.open(tmp_path / "run")
    assert [each.vocab_size for each in run.tokenizers] == [run.model.source_vocab_size, run.model.target_vocab_size]


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(DATA / "marian_files", tmp_path / "marian")


def changed(folder, **settings):
    """Other settings in the network's own."""
    with np.load(folder / "model.npz") as arrays:
        held = dict(arrays)
    text = held[SETTINGS].astype("uint8").tobytes().rstrip(b"\0").decode()
    own = parse_yaml(text, "it") | {name.replace("_", "-"): value for name, value in settings.items()}
    held[SETTINGS] = np.frombuffer(json.dumps(own).encode() + b"\0", "int8")
    np.savez(folder / "model.npz", **held)


def refusal(folder):
    with pytest.raises(ValueError) as error:
        opened(folder)
    return str(error.value)


def test_all_that_is_not_known_is_told_at_once_before_weights_are_read(folder):
    changed(folder, transformer_decoder_autoreg="average-attention", transformer_preprocess="n", a_new_one=[1])
    with open(folder / "decoder.yml", "a") as file:
        file.write("n-best: true\nnormalise: 1\n")
    told = refusal(folder)
    assert 'transformer-decoder-autoreg is "average-attention"; here it can only be "self-attention" or "rnn"' in told
    assert "transformer-preprocess has n" in told and "a-new-one = [1] is a setting that is not known here" in told
    assert "n-best is true" in told and "normalise = 1" in told


def test_settings_of_newer_programs_are_known(folder):
    """Those that Mozilla's students of 2024 state (firefox-translations-models, metadata.json), all of them off."""
    newer = dict.fromkeys(("transformer_no_bias", "transformer_no_affine", "transformer_rnn_projection"), False)
    changed(folder, **newer, transformer_decoder_ffn_depth=0, lemma_dim_emb=0)
    assert opened(folder).family.name == "marian-nmt"
    changed(folder, transformer_no_bias=True)
    assert "transformer-no-bias is true; here it can only be false" in refusal(folder)


def test_of_decoders_that_recur_those_of_ssru_are_known(folder):
    changed(folder, transformer_decoder_autoreg="rnn")
    assert "dec-cell is gru; of decoders that recur only those of ssru are known" in refusal(folder)


def test_the_search_is_that_of_its_settings(folder):
    (folder / "decoder.yml").write_text(
        "vocabs: [../../vocab.spm, /elsewhere/vocab.spm]\nbeam-size: 6\nnormalize: 0.6\nallow-unk: true\n"
    )
    search = opened(folder).recipe.search
    assert (search.beam, search.alpha, search.penalty, search.bad_words) == (6, 0.6, "length", [])
    assert (search.ends, search.longest, search.stop, search.length_ratio) == ("places", "count", "full", 3.0)
    (folder / "decoder.yml").unlink()
    search = opened(folder).recipe.search
    assert (search.beam, search.alpha, search.bad_words) == (12, 0.0, [[1]]), "as marian-decoder has it"


VOCABULARIES = {
    "none": ("- vocab.yml\n- vocab.yml", None, "lacks vocab.yml"),
    "one": ("- vocab.spm", None, "expected two of each"),
    "a hole": ("- vocab.yml\n- vocab.yml", '"</s>": 0\n"<unk>": 2\n', "no piece has the id 1"),
    "two with one id": ("- vocab.yml\n- vocab.yml", '"</s>": 0\n"<unk>": 0\n', "have one id, 0"),
    "a piece twice": ("- vocab.yml\n- vocab.yml", '"a": 0\n"a": 1\n', "it has 'a' twice"),
    "an alias": ("- vocab.yml\n- vocab.yml", '"a": &x 0\n"b": *x\n', "it has an anchor or a tag"),
    "a tag": ("- vocab.yml\n- vocab.yml", "a: !!python/object/apply:os.system [x]", "it has an anchor or a tag"),
    "a list": ("- vocab.yml\n- vocab.yml", "- a\n- b", "it holds no settings by name"),
    "too deep": ("- vocab.yml\n- vocab.yml", "a: " + "[" * 100_000, "cannot be read as YAML"),
    "infinity": ("- vocab.yml\n- vocab.yml", "a: 1e999", "1e999, which is no number"),
}  # fmt: skip


@pytest.mark.parametrize("name", VOCABULARIES)
def test_vocabularies_are_refused_in_words(name, folder):
    named, content, message = VOCABULARIES[name]
    (folder / "decoder.yml").write_text(f"vocabs:\n{named}\n")
    if content:
        (folder / "vocab.yml").write_text(content)
    assert message in refusal(folder)


@pytest.mark.parametrize(("name", "vocabulary"), [("marian", "vocab.json"), ("marian_files_apart", "src.vocab.yml")])
def test_the_language_is_chosen_where_there_are_many(name, vocabulary, tmp_path):
    """Its name stands before each text, as MarianTokenizer and OPUS-MT's preprocess.sh put it there."""
    folder = shutil.copytree(DATA / name, tmp_path / name)
    pieces = read_yaml(folder / vocabulary)  # JSON is YAML
    chosen = max(pieces.values()) - 1
    renamed = {">>fra<<" if at == chosen else piece: at for piece, at in pieces.items()}
    (folder / vocabulary).write_text(json.dumps(renamed), encoding="utf-8")
    made = opened(folder, "", "fra")
    assert made.recipe.languages == ("en" if name == "marian" else "und", "fr")
    plain = opened(DATA / name).tokenizers[0]
    reader, ids = made.tokenizers[0], made.network.ids_of("source")
    assert [int(ids[each]) for each in reader.before] == [chosen] and reader.after == plain.after
    assert reader.encode(["where is the old house"]) == plain.encode(["where is the old house"])
    assert "is for many languages. It reads any, and writes one that --target-language" in refusal(folder)
    with pytest.raises(ValueError, match="no language 'deu' to choose.* fra"):
        opened(folder, "", "deu")
    with pytest.raises(ValueError, match="no languages to choose from"):
        opened(DATA / name, "", "fra")


def test_a_vocabulary_may_have_pieces_that_are_called_as_ours(tmp_path):
    """SentencePiece makes `<s>` unless it is told not to, and Marian leaves it where it is."""
    folder = shutil.copytree(DATA / "marian_files_apart", tmp_path / "marian")
    for side in ("src", "trg"):
        path = folder / f"{side}.vocab.yml"
        pieces = read_yaml(path)
        renamed = {"<s>" if at == len(pieces) - 2 else piece: at for piece, at in pieces.items()}
        path.write_text(json.dumps(renamed), encoding="utf-8")
    own, plain = opened(folder).tokenizers[0], opened(DATA / "marian_files_apart").tokenizers[0]
    assert own.encode(["where is the old house"]) == plain.encode(["where is the old house"])


STUDENT = Path(__file__).with_name("data") / "marian_student"
TYPES = {"int8": 0x101, "float32": 0x404}
INTGEMM8 = 0x4101


def held():
    with np.load(STUDENT / "model.npz") as arrays:
        return dict(arrays)


def written(arrays, quantised=()):
    """The bytes of a file: every array is padded to 256 bytes, as Marian's allocator does."""
    headers, names, shapes, data = [], b"", b"", b""
    for name, array in arrays.items():
        numbers, kind = array.tobytes(), TYPES[str(array.dtype)]
        if name in quantised:
            multiplier = 127 / np.abs(array).max()
            whole = np.rint(array * multiplier).astype("int8")
            numbers, kind = (whole if "Wemb" in name else whole.T).tobytes() + struct.pack("<f", multiplier), INTGEMM8
        numbers += bytes(-len(numbers) % 256)
        headers.append(struct.pack("<4Q", len(name) + 1, kind, array.ndim, len(numbers)))
        names, data = names + name.encode() + b"\0", data + numbers
        shapes += struct.pack(f"<{array.ndim}i", *array.shape)
    head = struct.pack("<2Q", 1, len(arrays)) + b"".join(headers) + names + shapes
    padding = 256 - (len(head) + 8) % 256
    return head + struct.pack("<Q", padding) + bytes(padding) + data


@pytest.fixture
def student(tmp_path):
    """The student, whose weights a test writes."""
    made = shutil.copytree(STUDENT, tmp_path / "student")
    (made / "model.npz").unlink()
    (made / "decoder.yml").unlink()
    return made


def weights(student):
    return {name: np.asarray(weight) for name, weight in named_weights(opened(student).model).items()}


def test_float32_is_what_npz_has(student):
    (student / "model.ende.bin").write_bytes(written(held()))
    (student / "lex.s2t.bin").write_bytes(b"\xf5\x17\x34\x01\xd5\x48\x1a\xf1")  # a shortlist, and no weights
    found, right = weights(student), weights(STUDENT)
    assert found.keys() == right.keys()
    for name, each in right.items():
        np.testing.assert_array_equal(found[name], each)


def test_int8_is_within_half_a_step_of_npz(student):
    """Matrices lie the other way round, and embeddings do not; how inputs are quantised is not needed."""
    arrays = held()
    quantised = [name for name in arrays if "_W" in name and "_ln_" not in name or name == "Wemb"]
    scales = {f"{name}_QuantMultA": np.ones((1, 1), "float32") for name in quantised}
    (student / "model.bin").write_bytes(written(arrays | scales, quantised))
    found, right = read_tensors([student / "model.bin"]), read_tensors([STUDENT / "model.npz"])
    for name in quantised:
        largest = np.abs(right[name].read()).max()
        np.testing.assert_allclose(found[name].read(), right[name].read(), atol=largest / 254 * 1.001)
        assert found[name].shape == right[name].shape
    assert {*weights(student)} == {*weights(STUDENT)}


def test_what_only_one_processor_reads_is_refused(student):
    packed = written({"a": np.ones((2, 2), "float32")}).replace(struct.pack("<Q", 0x404), struct.pack("<Q", 0x2801))
    (student / "model.bin").write_bytes(packed)
    with pytest.raises(ValueError, match="'a' has the type 0x2801. Expected float16"):
        read_tensors([student / "model.bin"])


@pytest.mark.parametrize("share", [0.001, 0.01, 0.02, 0.05, 0.5, 0.99])
def test_a_file_that_is_cut_off_is_refused(share, student):
    whole = written(held())
    (student / "model.bin").write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match="cut off"):
        read_tensors([student / "model.bin"])


def test_changed_bytes_do_nothing_else_than_refuse(student):
    """Whatever a byte of the header becomes, the file is read or refused in words."""
    arrays = {"a_W": np.ones((2, 3), "float32"), "b": np.ones((1, 2), "float32"), "c": np.ones(5, "int8")}
    whole, generator = written(arrays, ["a_W"]), np.random.default_rng(4)
    for place in range(8, 256):  # of another version it is a file of torch
        changed = bytearray(whole)
        changed[place] = generator.integers(256)
        (student / "model.bin").write_bytes(changed)
        try:
            found = [each.read() for each in read_tensors([student / "model.bin"]).values()]
        except ValueError:
            continue
        assert len(found) <= len(arrays)
