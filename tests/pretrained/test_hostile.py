"""Broken and hostile sources: each has a message that says what is wrong, nothing is written and nothing executed."""

import functools
import io
import json
import os
import pickle
import shutil
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from zoo.pretrained import import_network, load, vocabulary as words
from zoo.pretrained.files import read_tensors
from zoo.pretrained.vocabulary import CHARSMAP, NORMALIZER
from zoo.text.protobuf import field
from zoo.text.tokenizer_files import read_byte_pairs

MARIAN = Path(__file__).with_name("data") / "marian"
WEIGHTS = "model.safetensors"
KINDS = {"float32": "F32", "float16": "F16", "uint16": "BF16", "int8": "I8", "float64": "F64"}


def tensors(folder):
    return {name: np.array(each.read()) for name, each in read_tensors([folder / WEIGHTS]).items()}


def safetensors(arrays):
    """The bytes of a file of safetensors."""
    header, content = {}, b""
    for name, each in arrays.items():
        place = [len(content), len(content) + each.nbytes]
        header[name] = {"dtype": KINDS[each.dtype.name], "shape": list(each.shape), "data_offsets": place}
        content += each.tobytes()
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + content


def weights(change):
    """A change of the tensors, a dict, in the folder."""

    def apply(folder):
        arrays = tensors(folder)
        (folder / WEIGHTS).write_bytes(safetensors(change(arrays) or arrays))

    return apply


def renamed(name, other):
    return lambda arrays: {other if key == name else key: each for key, each in arrays.items()}


def settings(file="config.json", **changes):
    """A change of a file of settings."""

    def apply(folder):
        (folder / file).write_text(json.dumps(json.loads((folder / file).read_text()) | changes))

    return apply


def vocabulary(change):
    def apply(folder):
        pieces = json.loads((folder / "vocab.json").read_text())
        (folder / "vocab.json").write_text(json.dumps(change(pieces)))

    return apply


def content(name, change):
    """A change of a file's bytes."""
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


# As the key of a dict a tuple of two tuples of two tuples: 2^60 of them, each of which Python would ask for its hash.
ENDLESS = b"\x80\x02)q\x00" + b"".join(b"h%ch%c\x86q%c" % (n, n, n + 1) for n in range(60)) + b"}h\x3cK\x01s."


class Evil:
    def __reduce__(self):
        return os.system, ("touch executed",)


def torch_zip(value, members=()):
    """`pytorch_model.bin` with a pickle, instead of the safetensors."""

    def apply(folder):
        (folder / WEIGHTS).unlink()
        with zipfile.ZipFile(folder / "pytorch_model.bin", "w") as archive:
            archive.writestr("archive/data.pkl", value)
            for name, each in members:
                archive.writestr(name, each)

    return apply


def npz(**arrays):
    def apply(folder):
        (folder / WEIGHTS).unlink()
        np.savez_compressed(folder / "model.npz", **arrays)

    return apply


def answers(**changes):
    def apply(folder):
        with np.load(folder / "answers.npz") as kept:
            np.savez(folder / "answers.npz", **dict(kept) | changes)

    return apply


def index(files):
    def apply(folder):
        (folder / WEIGHTS).unlink()
        (folder / f"{WEIGHTS}.index.json").write_text(json.dumps({"weight_map": files}))

    return apply


def header(**entry):
    """A safetensors file whose header says something else of one tensor."""

    def apply(folder):
        said = {"x": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]} | entry}
        text = json.dumps(said).encode()
        (folder / WEIGHTS).write_bytes(struct.pack("<Q", len(text)) + text + bytes(8))

    return apply


POINTER = b"version https://git-lfs.example/spec/v1\noid sha256:0\nsize 7\n"
NAN = np.array([np.nan] * 16, "float32")
NORM = "model.encoder.layers.0.final_layer_norm.weight"
FC1 = "model.decoder.layers.1.fc1.weight"
CASES = {
    "a tensor is missing": (weights(lambda all: {k: v for k, v in all.items() if k != FC1}), "no tensor gives"),
    "one too many": (weights(lambda all: all | {"surprise": NAN * 0 + 1}), "nothing here takes surprise"),
    "one under another name": (weights(renamed(FC1, "fc1")), "nothing here takes fc1"),
    "a wrong shape": (weights(lambda all: all | {FC1: np.ones((3, 16), "float32")}), f"{FC1} has the shape (3, 16)"),
    "too few rows": (weights(lambda all: all | {"model.shared.weight": np.ones((3, 16), "float32")}), "does not fit"),
    "a layer too many": (
        weights(lambda all: all | {FC1.replace("layers.1", "layers.7"): all[FC1]}),
        "which this model does not have",
    ),
    "NaN among weights": (weights(lambda all: all | {NORM: NAN}), f"{NORM} holds NaN"),
    "whole numbers": (weights(lambda all: all | {NORM: np.ones(16, "int8")}), f"{NORM} holds int8; expected floating"),
    "too large for float32": (weights(lambda all: all | {NORM: np.full(16, 1e300)}), f"{NORM} holds NaN or infinity"),
    "tied twice, differently": (
        weights(lambda all: all | {"lm_head.weight": all["model.shared.weight"] + 1}),
        "lm_head.weight differs from model.shared.weight",
    ),
    "an unknown activation": (settings(activation_function="mish"), 'activation_function is "mish"; expected gelu or'),
    "another architecture": (settings(normalize_before=True), "normalize_before is true; here it can only be false"),
    "an unknown setting": (settings(rotary=7), "rotary = 7 is a setting that is not known here"),
    "sizes that are no numbers": (settings(d_model="16"), 'd_model is "16"; expected a number from 1'),
    "another network's sizes": (settings(d_model=32), "has the shape"),
    "no settings": (lambda folder: (folder / "config.json").unlink(), "source holds no config.json, which no family"),
    "a run of ours": (
        lambda folder: (folder / "config.json").rename(folder / "recipe.toml"),
        "is a run or an artefact of seqzoo, which needs no import",
    ),
    "settings that say nothing": (
        lambda folder: (folder / "config.json").write_text('{"model_type": "bert"}'),
        "vocab_size",
    ),
    "an unknown family": (settings(model_type="mystery"), "the type 'mystery', which no family knows"),
    "no such id": (settings(pad_token_id=10**9), "do not lie in a vocabulary"),
    "a setting twice": (content("config.json", lambda text: b'{"d_model": 1, "d_model": 2}'), "'d_model' occurs twice"),
    "a setting that steers the terminal": (settings(**{"\x1b[2J\n": 7}), "\ufffd[2J\ufffd = 7 is a setting"),
    "NaN among settings": (content("config.json", lambda text: text.replace(b"0.1", b"NaN")), "NaN is not a number"),
    "infinity among settings": (content("config.json", lambda text: text.replace(b"0.1", b"1e999")), "out of range"),
    "no JSON": (content("config.json", lambda text: text[:100]), "cannot be read as JSON"),
    "a configuration that is a list": (content("config.json", lambda text: b"[1]"), "must be an object; received [1]"),
    "a deep JSON": (content("config.json", lambda text: b"[" * 10**6), "cannot be read as JSON"),
    "a hole in the vocabulary": (vocabulary(lambda all: {k: v for k, v in all.items() if v != 7}), "no piece has"),
    "two pieces with one id": (vocabulary(lambda all: all | {"zzz": 7}), "have one id, 7"),
    "an id too large": (vocabulary(lambda all: all | {"zzz": 700}), "has the id 700"),
    "no SentencePiece model": (content("source.spm", lambda text: b"\x0f\xff" * 9), "is no SentencePiece model"),
    "an empty SentencePiece model": (content("source.spm", lambda text: b""), "source.spm is no SentencePiece model"),
    "a SentencePiece model of 2^26 zeros": (content("source.spm", lambda text: bytes(2**26)), "up to 33,554,432"),
    "a SentencePiece model of 2^25 zeros": (content("source.spm", lambda text: bytes(2**25)), "are no protocol buffer"),
    "a SentencePiece model cut off": (content("target.spm", lambda text: text[:-3]), "is no SentencePiece model"),
    "safetensors cut off": (content(WEIGHTS, lambda text: text[:-100]), "the file is cut off"),
    "a header without an end": (content(WEIGHTS, lambda text: b"\xff" * 8 + text), "it is cut off, or damaged"),
    "a pointer in the place of weights": (content(WEIGHTS, lambda text: POINTER), "with `git lfs pull` in"),
    "a pointer in the place of a tokenizer": (content("target.spm", lambda text: POINTER), "target.spm is a pointer"),
    "an empty file": (content(WEIGHTS, lambda text: b""), "it may be cut off"),
    "a tensor twice": (
        content(WEIGHTS, lambda text: struct.pack("<Q", 14) + b'{"a":1,"a":2} '),
        "the key 'a' occurs twice",
    ),
    "bytes and shape differ": (header(shape=[3]), "which do not fit"),
    "a negative place": (header(data_offsets=[-8, 0]), "its header.x.data_offsets[0] must be a whole number from 0"),
    "an unknown type": (header(dtype="F8_E4M3"), "its header.x.dtype must be 'F64' or 'F32'"),
    "a pickle that calls os.system": (torch_zip(pickle.dumps({"x": Evil()}, 2)), "asks for posix.system"),
    "a pickle of protocol 4": (torch_zip(pickle.dumps({"x": Evil()}, 4)), "asks for posix.system"),
    "a pickle without an end": (torch_zip(pickle.dumps({"x": 1}, 2)[:-3]), "its pickle"),
    "a pickle of other things": (torch_zip(pickle.dumps({"x": [1, 2]}, 2)), "something else than named tensors"),
    "an npz of objects": (npz(x=np.array([{}], object)), "holds Python's objects"),
    "an npz that is a bomb": (npz(x=np.zeros(10**7, "float32")), "bytes would become"),
    "an index that leads outside": (index({"x": "../../secret.safetensors"}), "Nothing else is read"),
    "an index without its file": (index({"x": "model-00001.safetensors"}), "which is missing"),
    "no weights": (lambda folder: (folder / WEIGHTS).unlink(), "has no weights that can be read"),
    "settings that are too large": (settings(vocab_size=10**12, decoder_vocab_size=10**12), "from 1 to 2,000,000"),
    "layers without an end": (settings(encoder_layers=10**6), "So they are not of one network"),
    "units without an end": (settings(d_model=10**6), "So they are not of one network"),
    "a vocabulary that is a list": (content("vocab.json", lambda text: b"[1]"), "vocab.json must be an object"),
    "a list of architectures that is none": (settings(model_type="bert", architectures=7), "architectures is 7"),
    "a search that is a list": (content("generation_config.json", lambda text: b"[1]"), "must be an object"),
    "more beams than any search": (settings("generation_config.json", num_beams=10**9), "a number from 1 to 1,000"),
    "answers of another form": (answers(source_ids=np.full((1, 2), 10**6)), "are no answers of this network"),
    "answers of objects": (answers(logits=np.array([{}], object)), "holds Python's objects"),
    "answers that are no archive": (content("answers.npz", lambda text: text[:99]), "it may be cut off"),
    "a pickle of endless tuples": (torch_zip(ENDLESS), "a dict whose keys are no names"),
    "an index of another file": (index({"x": "config.json"}), "is no file of weights in its folder"),
    "an index without an end": (index(functools.reduce(lambda deep, _: [deep], range(99))), "nested"),
    "no tokenizer": (lambda folder: (folder / "source.spm").unlink(), "lacks source.spm"),
    "other answers": (weights(lambda all: all | {NORM: all[NORM] + 0.01}), "So it is not the same network"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_in_words(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder, (change, message) = tmp_path / "source", CASES[name]
    shutil.copytree(MARIAN, folder)
    change(folder)
    refused(folder, message, tmp_path)


@pytest.mark.parametrize("changes", [{f"k{n}": n for n in range(10**4)}, {"odd": "x" * 10**6}], ids=["many", "long"])
def test_what_is_refused_is_told_in_few_words(changes, tmp_path):
    """Whoever writes a configuration does not choose how much a terminal and a log are given."""
    folder = shutil.copytree(MARIAN, tmp_path / "source")
    settings(**changes)(folder)
    with pytest.raises(ValueError, match="is a setting that is not known here|odd = ") as error:
        import_network(folder, tmp_path / "run")
    assert len(str(error.value)) < 3000


def test_a_sentencepiece_model_of_very_many_parts_is_refused(monkeypatch):
    monkeypatch.setattr(words, "MOST", 9)
    for part in (field(words.PIECES, b""), field(words.TRAINER, b"")):
        assert len(words.pieces_of(field(words.PIECES, b"") * 9)) == 9
        with pytest.raises(ValueError, match="is no SentencePiece model: it has more than 9 parts"):
            words.pieces_of(part * 10)


@pytest.mark.parametrize("longest", [0.5, "many", -1])
def test_the_longest_text_of_a_tokenizer_is_a_number(longest, tmp_path):
    """Half a token, and the like, would have cut every text to its first piece."""
    folder = shutil.copytree(MARIAN.with_name("minilm"), tmp_path / "source")
    settings("tokenizer_config.json", model_max_length=longest)(folder)
    refused(folder, f"model_max_length is {json.dumps(longest)}; expected a number from 1", tmp_path)


@pytest.mark.parametrize("merge", ["the", "t h e", [1, 2, 3]], ids=str)
def test_a_merge_is_of_two_pieces(merge, tmp_path):
    folder = shutil.copytree(MARIAN.with_name("gpt2"), tmp_path / "source")
    document = json.loads((folder / "tokenizer.json").read_text())
    document["model"]["merges"].append(merge)
    (folder / "tokenizer.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match="The merge '.*' is not of two pieces"):
        read_byte_pairs(folder)


def test_a_table_of_characters_that_is_none_is_refused(tmp_path):
    folder = shutil.copytree(MARIAN.with_name("albert"), tmp_path / "source")
    (folder / "tokenizer.json").unlink(missing_ok=True)
    model = (folder / "spiece.model").read_bytes()
    (folder / "spiece.model").write_bytes(model + field(NORMALIZER, field(CHARSMAP, b"\xff" * 20)))
    refused(folder, "one of its files has another form", tmp_path)


def refused(source, message, tmp_path):
    there = sorted(tmp_path.iterdir())
    with pytest.raises(ValueError) as error:
        import_network(source, tmp_path / "run")
    assert message in str(error.value)
    assert sorted(tmp_path.iterdir()) == there  # no run, no part of one, and nothing that a pickle has made


def tarred(path, *members):
    with tarfile.open(path, "w:gz") as archive:
        for name, kind, data in members:
            member = tarfile.TarInfo(name)
            member.type, member.size, member.linkname = kind, len(data), "/etc/passwd"
            archive.addfile(member, io.BytesIO(data))
    return path


ARCHIVES = {
    "a path outside": ((("../evil.txt", tarfile.REGTYPE, b"x"),), "leads out of its folder"),
    "an absolute path": ((("/tmp/evil.txt", tarfile.REGTYPE, b"x"),), "leads out of its folder"),
    "a link": ((("config.json", tarfile.SYMTYPE, b""),), "is a link or another special file"),
    "a file twice": ((("a", tarfile.REGTYPE, b"x"), ("./a", tarfile.REGTYPE, b"y")), "holds two files of one name"),
    "a bomb": ((("model.npz", tarfile.REGTYPE, bytes(2**24)),), "which is too many"),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_archives_are_refused_in_words(name, tmp_path):
    members, message = ARCHIVES[name]
    refused(tarred(tmp_path / "source.tar.gz", *members), message, tmp_path)


def test_a_zip_may_not_lead_outside_or_be_cut_off(tmp_path):
    path = tmp_path / "source.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/../../evil.txt", "x")
    refused(path, "leads out of its folder", tmp_path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a\\..\\..\\evil.txt", "x")
    refused(path, "leads out of its folder", tmp_path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x" * 5000, "x")
    refused(path, f"holds {'x' * 100}…, a name of 5,000 characters", tmp_path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("inside.zip", "x")
    refused(path, f"{path} has no weights that can be read", tmp_path)  # and not where it was unpacked for a while
    path.write_bytes(b"no archive at all")
    refused(path, "neither a zip nor a tar", tmp_path)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_halves_are_read(kind, tmp_path):
    """They are rounded, which the kept answers notice; so those are taken away."""

    def half(each):
        return each.astype("float16") if kind == "float16" else (each.view("uint32") >> 16).astype("uint16")

    folder = tmp_path / "source"
    shutil.copytree(MARIAN, folder)
    weights(lambda all: {name: half(each) for name, each in all.items()})(folder)
    (folder / "answers.npz").unlink()
    assert import_network(folder, tmp_path / "run")["parity"] is None
    assert "Not compared" in (tmp_path / "run" / "card.md").read_text()


@pytest.mark.parametrize("name", ["bart", "m2m100"])
def test_the_version_of_fairseqs_format_is_no_weight(name, tmp_path):
    """A number that old files have beside the weights of each side; `transformers` passes over it."""
    folder = shutil.copytree(MARIAN.with_name(name), tmp_path / "source")
    version = np.array([3], "float32")
    weights(lambda all: all | {"model.encoder.version": version, "model.decoder.version": version})(folder)
    assert load(folder)[0].built


def test_a_zip_is_imported_as_its_folder(tmp_path):
    shutil.make_archive(str(tmp_path / "opus"), "zip", MARIAN)
    record = import_network(tmp_path / "opus.zip", tmp_path / "run")
    assert record["licence"] == "apache-2.0" and record["parity"]["largest"] < 2e-6
    with pytest.raises(
        ValueError, match="run is an imported run already. Choose another --out, or write over it with --fo"
    ):
        import_network(MARIAN, tmp_path / "run")
    assert import_network(MARIAN, tmp_path / "run", force=True)["family"] == "marian"
    for place in (MARIAN, MARIAN / "config.json"):
        with pytest.raises(
            ValueError, match="is there already, and .* alone are written over with --force. Choose ano"
        ):
            import_network(MARIAN, place, force=True)


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("owner/name", "If you mean a repository of Hugging Face, it is hf://owner/name."),
        ("https://example.org/owner/name", "If you mean a repository of Hugging Face, it is hf://owner/name."),
        ("owner/name/more", "There is no owner/name/more. Expected a folder"),
        (MARIAN / WEIGHTS, f"is one file of a network. Import the folder that holds all of them: {MARIAN}"),
        (MARIAN / "config.json", f"is one file of a network. Import the folder that holds all of them: {MARIAN}"),
    ],
    ids=["a name", "its page", "a path", "weights", "settings"],
)
def test_an_address_that_is_nearly_right_is_mended(address, message, tmp_path):
    refused(address, message, tmp_path)


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_what_a_mac_puts_beside_the_files_is_left_out(kind, tmp_path):
    """A shadow of every file, as Finder's "Compress" and its tar write, and what Finder remembers of a folder."""
    path, files = tmp_path / f"opus.{kind}", {f"opus/{each.name}": each.read_bytes() for each in MARIAN.iterdir()}
    shadows = ["opus/._config.json", "opus/.DS_Store", ".DS_Store"]
    shadows += ["__MACOSX/._opus", "__MACOSX/opus/._model.npz"] if kind == "zip" else ["._opus", "opus/._model.npz"]
    files |= dict.fromkeys(shadows, b"\0\5\x16\7")
    if kind == "tar":
        tarred(path, *((name, tarfile.REGTYPE, data) for name, data in files.items()))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
    record = import_network(path, tmp_path / "run")
    assert {"config.json", "model.safetensors"} <= {*record["files"]} <= {each.name for each in MARIAN.iterdir()}
