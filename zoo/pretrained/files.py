"""Arrays in files of other frameworks: `{name: Tensor}`, read when they are asked for; nothing is executed.

Read are safetensors, NumPy's npz, torch's `pytorch_model.bin` (`zoo.pretrained.torch_files`), Keras' `tf_model.h5`, and
Marian's own `.bin` (`zoo.pretrained.marian_formats`). Of each array a reader gives its name, its shape, the kind of its
numbers, how many bytes there are of them, and a function that reads them. These are compared before anything is read: a
file that was cut off, or that claims to hold more than it can, is refused.
"""

import dataclasses
import lzma
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, TypedDict

import numpy as np
from msgspec import Meta

from zoo.core.documents import NESTING, check, parse, whole
from zoo.core.later import later
from zoo.pretrained.marian_formats import is_marian, read_marian
from zoo.pretrained.reading import ODD, read_json, some
from zoo.pretrained.torch_files import LONGEST_PICKLE, MOST, MOST_AXES, read_torch

h5py = later("h5py")

KINDS = {  # of safetensors
    "F64": "f8", "F32": "f4", "F16": "f2", "BF16": "u2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1", "U8": "u1",
    "BOOL": "?",
}  # fmt: skip
ANSWERS = "answers.npz"  # what a network says, and none of its weights
LONGEST_NAME, LONGEST_HEADER = 500, LONGEST_PICKLE
RATIO = 200  # times that an array may be larger than its compressed bytes
# What a folder may hold, the best first: one file, or an index of several.
NAMES = ("model.safetensors", "pytorch_model.bin", "model.npz", "tf_model.h5")
NPY = re.compile(  # the header of an array that NumPy has written, in one of its forms
    rb"\{'descr': '([^']*)', 'fortran_order': (True|False) ?, 'shape': \(((?:\d+L?,? ?)*)\),? ?\}\s*"
)
# What reading a damaged file ends in, beside a ValueError; a SystemError is h5py's, of names that are not UTF-8.
DAMAGED = (
    *ODD,
    SystemError,
    OSError,
    EOFError,
    MemoryError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)


class Entry(TypedDict):
    """A tensor in a header of safetensors."""

    dtype: Literal[tuple(KINDS)]
    shape: list[whole()]
    data_offsets: Annotated[list[whole()], Meta(min_length=2, max_length=2, description="two whole numbers")]


class Index(TypedDict):
    """An index of several files."""

    weight_map: dict[str, str]


@dataclasses.dataclass(frozen=True)
class Tensor:
    """An array of a file: its shape is known, its numbers are read when `read()` is called."""

    place: str
    shape: tuple[int, ...]
    get: Callable[[], np.ndarray]

    def read(self):
        """The numbers: floating ones as float32, whatever they were stored as."""
        try:
            with np.errstate(over="ignore"):  # infinity is refused where it would become a weight
                array = np.asarray(self.get())
                return array.astype("float32", copy=False) if array.dtype.kind == "f" else array
        except (ValueError, *DAMAGED) as error:
            raise ValueError(f"{self.place} cannot be read, it may be damaged: {_describe(error)}") from error


def find_weights(folder, locate=Path):
    """The files of weights in a folder, of the best form that it has; `locate` is called with the path of an index.

    Raises:
        ValueError: there is none, or an index names files that are not there.
    """
    folder = Path(folder)
    for name in NAMES:
        index = folder / f"{name}.index.json"
        if (folder / name).is_file():
            return [folder / name]
        if index.is_file():
            return _read_index(locate(index))
    others = [each for each in sorted(folder.glob("*.npz")) if each.is_file() and each.name != ANSWERS]
    others = others or [each for each in sorted(folder.glob("*.bin")) if each.is_file() and is_marian(each)]
    if len(others) == 1:  # Marian's are called after what they translate
        return others
    raise ValueError(
        f"{folder} has no weights that can be read: expected one of {', '.join(NAMES)}, or a single .npz, or Marian's "
        f".bin; found {some(sorted(each.name for each in folder.iterdir())) or 'nothing'}."
    )


def _read_index(index):
    """The files that an index names, each once."""
    content = read_json(index)
    check(content, Index, str(index))
    names = sorted({*content["weight_map"].values()})
    invalid = [name for name in names if Path(name).name != name or Path(name).suffix not in READERS]
    invalid = invalid or [name for name in names if len(name) > LONGEST_NAME // 2]
    if invalid:
        raise ValueError(
            f"{index} names {some(invalid[:1])}, which is no file of weights in its folder. Nothing else is read."
        )
    missing = [name for name in names if not (index.parent / name).is_file()]
    if missing:
        raise ValueError(f"{index} names {some(missing)}, which is missing. Fetch it as well.")
    return [index.parent / name for name in names]


def read_tensors(paths):
    """`{name: Tensor}` of all the files.

    Raises:
        ValueError: a file is damaged or of a form that is not read, or two of them have one name.
    """
    tensors = {}
    for path in paths:
        of_file = {}
        try:
            for name, shape, dtype, length, read in READERS[path.suffix](path):
                _check_array(name, shape, np.dtype(dtype), length)
                if name in of_file:
                    raise ValueError(f"two of its arrays are called {name!r}")
                of_file[name] = Tensor(f"{path}: {name!r}", tuple(shape), read)
        except DAMAGED as error:
            raise ValueError(
                f"{path} cannot be read, it may be cut off or damaged: {_describe(error)}. Fetch it again."
            ) from error
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        if twice := sorted(tensors.keys() & of_file.keys()):
            raise ValueError(f"{path} has {twice[0]!r}, which another file of the same network has, too.")
        tensors |= of_file
    return tensors


def _describe(error):
    """The message of a library about a damaged file, cut because it may quote the file."""
    return (str(error) or repr(error))[:300]


def _check_array(name, shape, dtype, length):
    """Refuse an array that no network has, by its name, shape, dtype and the number of its bytes."""
    if len(name) > LONGEST_NAME:
        raise ValueError(f"a name has {len(name):,} characters, {some([name])}; expected at most {LONGEST_NAME}")
    if dtype.hasobject:
        raise ValueError(f"{name!r} holds Python's objects, which would have to be executed")
    if dtype.kind not in "fiub":
        raise ValueError(f"{name!r} holds {dtype}, and no numbers")
    if len(shape) > MOST_AXES:
        raise ValueError(f"{name!r} has {len(shape):,} axes; expected at most {MOST_AXES}")
    if math.prod(max(1, size) for size in shape) > MOST:
        raise ValueError(f"{name!r} has the shape {shape}, which no tensor has")
    if math.prod(shape) * dtype.itemsize != length:
        raise ValueError(f"{name!r} has the shape {shape} and {length:,} bytes, which do not fit")


def _read_safetensors(path):
    size = path.stat().st_size
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        if length > min(LONGEST_HEADER, size - 8):
            raise ValueError(
                f"its header has {length:,} bytes and the file {size:,}: it is cut off, or damaged; expected at most "
                f"{LONGEST_HEADER:,} of a header"
            )
        header = file.read(length)
    try:
        header = parse(header)
    except ValueError as error:
        raise ValueError(f"its header is no JSON: {error}") from error
    if isinstance(header, dict):
        header.pop("__metadata__", None)
    check(header, dict[str, Entry], "its header")
    end = 0
    for name, each in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        (first, last), kind, shape = each["data_offsets"], each["dtype"], tuple(each["shape"])
        if first != end:
            raise ValueError(f"{some([name])} begins at byte {first:,}, and what is before it ends at {end:,}")
        yield name, shape, KINDS[kind], last - first, partial(_read_array, path, 8 + length + first, kind, shape)
        end = last
    if end != size - 8 - length:
        raise ValueError(
            f"it has {size - 8 - length:,} bytes of numbers, and its header tells of {end:,}: the file is cut off, or "
            "something was written behind it"
        )


def _read_array(path, begin, kind, shape):
    """The numbers at a place of a file, which is not mapped into memory. bfloat16 is the upper half of float32."""
    array = np.fromfile(path, KINDS[kind], math.prod(shape), offset=begin).reshape(shape)
    return (array.astype("u4") << 16).view("f4") if kind == "BF16" else array


def _read_npz(path):
    with zipfile.ZipFile(path) as archive:
        for each in archive.infolist():
            if each.file_size > RATIO * each.compress_size + 2**16:
                raise ValueError(f"{each.filename}: {each.compress_size:,} bytes would become {each.file_size:,}")
            with archive.open(each) as member:
                shape, kind, _ = _read_npy_header(member)
                length = each.file_size - member.tell()
            yield each.filename.removesuffix(".npy"), shape, kind, length, partial(_read_npy, path, each)


def _read_npy_header(member):
    """(shape, dtype, order of the axes) of an array, whose numbers follow; NumPy would look for a program in it."""
    begin, header = member.read(8), None
    if begin.startswith(b"\x93NUMPY"):
        width = "<H" if begin[6] == 1 else "<I"
        (length,) = struct.unpack(width, member.read(struct.calcsize(width)))
        header = NPY.fullmatch(member.read(min(length, 10_000)))
    if not header:
        raise ValueError(f"{member.name} is no array of numbers as NumPy writes it")
    shape = tuple(int(size) if len(size) < 20 else MOST + 1 for size in re.findall(rb"\d+", header[3]))
    return shape, np.dtype(header[1].decode()), "F" if header[2] == b"True" else "C"


def _read_npy(path, each):
    with zipfile.ZipFile(path) as archive, archive.open(each) as member:
        shape, kind, order = _read_npy_header(member)
        return np.ndarray(shape, kind, member.read(), order=order)


def _read_hdf5(path):
    """Arrays of Keras' `tf_model.h5` under the names that PyTorch gives them, in PyTorch's order of axes."""
    size, links = path.stat().st_size, {}

    def note(name, link):  # a function that raises would stop HDF5 in the middle of its work
        links[name] = link
        return True if name.count("/") > NESTING else None  # which is the end

    with h5py.File(path, "r") as file:
        file.visititems_links(note)
        for name, link in links.items():
            if name.count("/") > NESTING:
                raise ValueError(f"more than {NESTING} of its groups lie in each other")
            if not isinstance(link, h5py.HardLink):
                raise ValueError(f"{name!r} is a link. What it leads to is not read")
            item = file[name]
            if not isinstance(item, h5py.Dataset):
                continue
            if item.external or item.is_virtual:
                raise ValueError(f"{name!r} lies in another file. Nothing outside is read")
            if item.shape is None:
                raise ValueError(f"{name!r} holds nothing")
            if item.nbytes > RATIO * size + 2**16:
                raise ValueError(f"{name!r} claims {item.size:,} numbers, more than the file can hold")
            torch_name, turned = _to_torch_name(name)
            shape = item.shape[::-1] if turned else item.shape
            yield torch_name, shape, item.dtype, item.nbytes, partial(_read_dataset, path, name, turned)


def _read_dataset(path, name, turned):
    with h5py.File(path, "r") as file:
        return file[name][()].T if turned else file[name][()]


def _to_torch_name(name):
    """(PyTorch's name, whether the axes are the other way round) of an array that TensorFlow's `transformers` saved."""
    plain = re.sub(r"/[^/]*___([^/]*)/", r"/\1/", name.replace(":0", "")).replace("_._", "/")
    parts = [each for each in plain.split("/") if each] or [name]
    parts = parts[2:] if len(parts) > 2 else parts[1:] or parts  # the layer's group, and the model's name
    last = {"kernel": "weight", "embeddings": "weight", "gamma": "weight", "beta": "bias"}
    return ".".join([*parts[:-1], last.get(parts[-1], parts[-1])]), parts[-1] == "kernel"


def _read_binary(path):
    return (read_marian if is_marian(path) else read_torch)(path)


READERS = {".safetensors": _read_safetensors, ".bin": _read_binary, ".npz": _read_npz, ".h5": _read_hdf5}
