"""Files of weights that are damaged, or made to do harm: each is refused in words, within bounds of memory and time."""

import json
import os
import pickle
import re
import shutil
import struct
import time
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest

from zoo.pretrained.source import open_address

MARIAN = Path(__file__).with_name("data") / "marian"
SAFETENSORS, TORCH, NPZ, HDF5 = "model.safetensors", "pytorch_model.bin", "model.npz", "tf_model.h5"
INDEX = f"{SAFETENSORS}.index.json"
FOUR = np.arange(4, dtype="<f4").tobytes()
ONE = {"dtype": "F32", "shape": [4], "data_offsets": [0, 16]}


def safetensors(header, data=FOUR):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def npy(kind="<f4", shape="(4,)", data=FOUR, header=None, version=1):
    text = header or f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    return b"\x93NUMPY" + struct.pack("<BBH", version, 0, len(text)) + text.encode() + data


def zipped(*members, changes=()):
    """A change of a file into a zip, of whose headers some bytes are changed: {(its mark, the place): the byte}."""

    def write(path):
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members:
                archive.writestr(name, content)
        raw = bytearray(path.read_bytes())
        for mark, place, byte in changes:
            for found in re.finditer(re.escape(mark), bytes(raw)):
                raw[found.start() + place] = byte
        path.write_bytes(raw)

    return write


ENCRYPTED = (b"PK\1\2", 8, 1), (b"PK\3\4", 6, 1)


def text(word):
    return b"X" + struct.pack("<I", len(word)) + word.encode()


def number(value):
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8b" + struct.pack("<i", len(data)) + data


def numbers(*values):
    return b"(" + b"".join(map(number, values)) + b"t"


def storage(kind="FloatStorage", count=4):
    return (
        b"(" + text("storage") + b"ctorch\n" + kind.encode() + b"\n" + text("0") + text("cpu") + number(count) + b"tQ"
    )


def view(held=storage(), offset=0, shape=(4,), strides=(1,)):  # noqa: B008
    """A tensor of a pickle, as torch writes it."""
    shape, strides = (each if isinstance(each, bytes) else numbers(*each) for each in (shape, strides))
    return b"ctorch._utils\n_rebuild_tensor\n(" + held + number(offset) + shape + strides + b"tR"


def pickled(**tensors):
    return b"\x80\x02}(" + b"".join(text(name) + each for name, each in tensors.items()) + b"u."


def torch(program=None, *members, changes=(), **tensors):
    """A file of torch with a program, or with tensors over four numbers."""
    held = ("archive/data.pkl", program or pickled(**tensors)), ("archive/data/0", FOUR)
    return zipped(*held, *members, changes=changes)


MAGIC, NOTHING = b"\x80\x02" + number(0x1950A86A20F9469CFC6C) + b".", b"\x80\x02}."
KEYS = b"]" + text("0") + b"a."


def torch_of_old(about=NOTHING, keys=KEYS):
    return MAGIC + NOTHING + about + pickled(x=view()) + b"\x80\x02" + keys + struct.pack("<q", 4) + FOUR


def index(**shards):
    return json.dumps({"weight_map": shards}).encode()


def hdf5(change):
    def write(path):
        with h5py.File(path, "w") as file:
            change(file)

    return write


def linked(file):
    file["m/m/x/kernel:0"] = h5py.SoftLink("/m/m/y/kernel:0")


def linked_outside(file):
    file["m/m/x/kernel:0"] = h5py.ExternalLink("secret.h5", "x")


def deep(file):
    for _ in range(100):
        file = file.create_group("group")
    file["x"] = np.ones(2)


def of_odd_bytes(file):
    h5py.h5d.create(file.id, b"\xff\xfe", h5py.h5t.IEEE_F32LE, h5py.h5s.create_simple((2,)))


class Evil:
    def __reduce__(self):
        return os.system, ("touch executed",)


NO_ARRAY, NO_PICKLE, NO_SIZES = (
    "is no array of numbers as NumPy writes it",
    "makes no sense",
    "sizes are none of a tensor",
)
PAIRS = b"\x80\x02(]q\x00(" + text("x") + view() + b"\x86e" + 2 * b"ccollections\nOrderedDict\nh\x00\x85R" + b"t."
GIANT = 1 << 8000
CASES = {  # what the file is called and holds, and what is said of it
    "bytes behind the last tensor": (SAFETENSORS, safetensors({"x": ONE}, FOUR + b"more"), "20 bytes of numbers"),
    "a gap between tensors": (
        SAFETENSORS,
        safetensors({"x": ONE, "y": ONE | {"data_offsets": [20, 36]}}, FOUR * 2 + b"more"),
        "y begins at byte 20, and what is before it ends at 16",
    ),
    "two tensors in the same bytes": (SAFETENSORS, safetensors({"x": ONE, "y": ONE}), "y begins at byte 0"),
    "sizes beyond any array": (
        SAFETENSORS,
        safetensors({"x": ONE | {"shape": [2**53, 2**53, 0], "data_offsets": [0, 0]}}, b""),
        "'x' has the shape (9007199254740992, 9007199254740992, 0), which no tensor has",
    ),
    "a hundred axes": (SAFETENSORS, safetensors({"x": ONE | {"shape": [1] * 99 + [4]}}), "'x' has 100 axes"),
    "a header of 9 MB": (SAFETENSORS, safetensors(b'{"x":[' + b"[]," * 3 * 2**20 + b"1]}"), "cut off, or damaged"),
    "a name without an end": (SAFETENSORS, safetensors({"x" * 10**5: ONE}), "has 100,000 characters"),
    "a name twice in a zip": (NPZ, zipped(("x.npy", npy()), ("x.npy", npy())), "two of its arrays are called 'x'"),
    "a name twice, once with an ending": (NPZ, zipped(("x", npy()), ("x.npy", npy())), "two of its arrays are called"),
    "texts": (NPZ, zipped(("x.npy", npy("<U1"))), "'x' holds <U1, and no numbers"),
    "complex numbers": (NPZ, zipped(("x.npy", npy("<c8", "(2,)"))), "'x' holds complex64, and no numbers"),
    "numbers of no bytes": (NPZ, zipped(("x.npy", npy("|V0", "(99,)", b""))), "'x' holds |V0, and no numbers"),
    "objects": (NPZ, zipped(("x.npy", npy("|O", data=pickle.dumps([Evil()])))), "holds Python's objects"),
    "a program in a header": (NPZ, zipped(("x.npy", npy(header="__import__('os').system('touch x')"))), NO_ARRAY),
    "a header of signs": (NPZ, zipped(("x.npy", npy(header="-" * 9000 + "1"))), NO_ARRAY),
    "a header of parentheses": (NPZ, zipped(("x.npy", npy(header="(" * 9000))), NO_ARRAY),
    "a header with an open text": (NPZ, zipped(("x.npy", npy(header="{'''"))), NO_ARRAY),
    "a size that is true": (NPZ, zipped(("x.npy", npy(shape="(True, 4)"))), NO_ARRAY),
    "a size of 8,000 digits": (NPZ, zipped(("x.npy", npy(shape=f"({'9' * 8000},)"))), "'x' has the shape"),
    "a version that NumPy will have": (NPZ, zipped(("x.npy", npy(version=9))), NO_ARRAY),
    "a file of another kind": (NPZ, zipped(("readme.txt", b"hello")), NO_ARRAY),
    "an array under a password": (NPZ, zipped(("x.npy", npy()), changes=ENCRYPTED), "is encrypted"),
    "deflated data that is none": (
        NPZ,
        zipped(("x.npy", b"\xff" * 200), changes=[(b"PK\1\2", 10, 8), (b"PK\3\4", 8, 8)]),
        "cut off or damaged",
    ),
    "an array of nothing": (HDF5, hdf5(lambda file: file.create_dataset("x", data=h5py.Empty("f4"))), "holds nothing"),
    "a name of an ending alone": (HDF5, hdf5(lambda file: file.create_dataset(":0", (2,), "c8")), "holds complex64"),
    "a link within": (HDF5, hdf5(linked), "'m/m/x/kernel:0' is a link"),
    "a link outside": (HDF5, hdf5(linked_outside), "'m/m/x/kernel:0' is a link"),
    "groups without an end": (HDF5, hdf5(deep), "groups lie in each other"),
    "a name of odd bytes": (HDF5, hdf5(of_odd_bytes), "cut off or damaged"),
    "a pickle under a password": (TORCH, torch(x=view(), changes=ENCRYPTED), "is encrypted"),
    "a pickle twice": (TORCH, zipped(("a/data.pkl", NOTHING), ("a/data.pkl", NOTHING)), "holds a name twice"),
    "two pickles": (TORCH, torch(None, ("other/data.pkl", NOTHING), x=view()), "is a zip with 2 files data.pkl"),
    "a zip of other things": (TORCH, zipped(("readme.txt", b"hello")), "is a zip with 0 files data.pkl"),
    "numbers read as two kinds": (TORCH, torch(x=view(), y=view(storage("IntStorage"))), "in two ways"),
    "a stride beyond any memory": (TORCH, torch(x=view(shape=(1, 4), strides=(2**70, 1))), NO_SIZES),
    "no numbers, of a size beyond any": (TORCH, torch(x=view(shape=(0, 2**70), strides=(1, 1))), NO_SIZES),
    "sizes of 2,000 digits": (TORCH, torch(x=view(shape=(GIANT, 0), strides=(1, 1))), NO_SIZES),
    "a count of 2,000 digits": (TORCH, torch(x=view(storage(count=GIANT))), "without a name or a count"),
    "more sizes than strides": (TORCH, torch(x=view(shape=(2, 2))), NO_SIZES),
    "more axes than an array has": (TORCH, torch(x=view(shape=(1,) * 65, strides=(1,) * 65)), NO_SIZES),
    "sizes in a list, for copies of it": (TORCH, torch(x=view(shape=b"]K\x04a")), NO_SIZES),
    "a size made of a list, for copies of it": (TORCH, torch(b"\x80\x02(ctorch\nSize\n]\x85Rt."), NO_PICKLE),
    "a list of pairs that is taken twice": (TORCH, torch(PAIRS), "something else than"),
    "an end without a beginning": (TORCH, torch(b"\x80\x02t."), NO_PICKLE),
    "a pickle of 9 MB": (TORCH, torch(b"\x80\x02" + b")" * 9 * 2**20 + b"."), "has 9,437,187 bytes"),
    "a text without an end": (TORCH, b"\x80\x04\x8d" + struct.pack("<Q", 2**62) + b"x.", "no file of `torch.save`"),
    "keys that are no list": (TORCH, torch_of_old(keys=b"N."), "does not say where its numbers lie"),
    "keys that are lists": (TORCH, torch_of_old(keys=b"]]a."), "does not say where its numbers lie"),
    "the highest byte first": (TORCH, torch_of_old(b"\x80\x02}" + text("little_endian") + b"\x89s."), "big-endian"),
    "a page in its place": (TORCH, b"<html>404</html>", "no file of `torch.save`"),
    "shards in an index that is none": (INDEX, index(x=1), "must be a string"),
    "a shard with a long name": (INDEX, index(x="x" * 5000 + ".npz"), "is no file of weights"),
    "40 shards that are missing": (INDEX, index(**{str(n): f"{n}.npz" for n in range(40)}), "and 34 more, which"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", CASES)
def test_it_is_refused_in_words(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = shutil.copytree(MARIAN, tmp_path / "source")
    (folder / SAFETENSORS).unlink()
    file, content, message = CASES[name]
    content(folder / file) if callable(content) else (folder / file).write_bytes(content)
    with pytest.raises(ValueError) as error:
        read(folder)
    assert message in str(error.value) and file in str(error.value)
    assert len(str(error.value)) < 1000 and " object at 0x" not in str(error.value)
    assert [each.name for each in tmp_path.iterdir()] == ["source"]


def read(folder):
    with open_address(folder) as source:
        return {name: each.read() for name, each in source.tensors.items()}


def test_many_marks_of_a_pickle_take_no_time_of_their_own(tmp_path):
    folder = shutil.copytree(MARIAN, tmp_path / "source")
    (folder / SAFETENSORS).unlink()
    torch(b"\x80\x02" + b"N" * 100_000 + b"(t" * 100_000 + b".")(folder / TORCH)
    begun = time.process_time()
    with pytest.raises(ValueError, match="something else than named tensors"):
        read(folder)
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    ("file", "content", "values"),
    [
        (NPZ, zipped(("x.npy", npy(">f4", data=np.arange(4, dtype=">f4").tobytes()))), [0, 1, 2, 3]),
        (NPZ, zipped(("x.npy", npy(shape="(2, 2)").replace(b"False", b"True "))), [[0, 2], [1, 3]]),
        (NPZ, zipped(("x.npy", npy(shape="(2L, 2L)"))), [[0, 1], [2, 3]]),
        (TORCH, torch(x=view(), y=view(offset=1, shape=(3,))), [0, 1, 2, 3]),
        (TORCH, torch(x=view(shape=(0,), offset=4)), []),
        (TORCH, torch_of_old(), [0, 1, 2, 3]),
        (HDF5, hdf5(lambda file: file.create_dataset("x", data=np.arange(4.0))), [0, 1, 2, 3]),
    ],
    ids=["highest byte first", "Fortran's order", "Python 2", "views", "nothing at the end", "old", "doubles"],
)  # fmt: skip
def test_it_is_read_however_it_lies(file, content, values, tmp_path):
    folder = shutil.copytree(MARIAN, tmp_path / "source")
    (folder / SAFETENSORS).unlink()
    content(folder / file) if callable(content) else (folder / file).write_bytes(content)
    np.testing.assert_array_equal(read(folder)["x"], np.array(values, "float32"))


def test_an_array_under_two_names_is_both(tmp_path):
    folder = shutil.copytree(MARIAN, tmp_path / "source")
    (folder / SAFETENSORS).unlink()
    with h5py.File(folder / HDF5, "w") as file:
        file["m/m/x/kernel:0"] = np.ones((2, 3), "f4")
        file["m/m/y/kernel:0"] = file["m/m/x/kernel:0"]
    assert read(folder).keys() == {"x.weight", "y.weight"}


@pytest.mark.parametrize("name", ["config.json", SAFETENSORS, "source.spm"])
def test_a_link_out_of_the_folder_is_refused(name, tmp_path):
    folder = shutil.copytree(MARIAN, tmp_path / "source")
    (folder / name).rename(tmp_path / "elsewhere")
    (folder / name).symlink_to(tmp_path / "elsewhere")
    with (
        pytest.raises(ValueError, match="is a link to .*elsewhere, outside of its folder"),
        open_address(folder) as source,
    ):
        source.path(name)
    (folder / "other.spm.gz").touch()  # files are copied beside what is unpacked
    with pytest.raises(ValueError, match="is a link to .*elsewhere, outside of its folder"), open_address(folder):
        pass


def test_the_cache_of_hugging_face_has_links_to_its_blobs(tmp_path):
    folder = shutil.copytree(MARIAN, tmp_path / "models--owner--name" / "snapshots" / "main")
    (tmp_path / "models--owner--name" / "blobs").mkdir()
    for each in [*folder.iterdir()]:
        each.rename(folder.parent.parent / "blobs" / each.name)
        each.symlink_to(f"../../blobs/{each.name}")
    assert "final_logits_bias" in read(folder)
