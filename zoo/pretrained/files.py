"""Arrays in files of other frameworks: `{name: Tensor}`, read when they are asked for; nothing is executed.

Read are safetensors, NumPy's npz, torch's `pytorch_model.bin` (`zoo.pretrained.torch_files`), Keras' `tf_model.h5`, and
Marian's own `.bin` (`zoo.pretrained.marian_binary`).
What a file says of itself is compared with its size before anything is read: a file that was cut off, or that claims
to hold more than it can, is refused.
"""

import dataclasses
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

from zoo.core.documents import check, parse, whole
from zoo.core.later import later
from zoo.pretrained.marian_binary import is_marian, marian_arrays
from zoo.pretrained.torch_files import torch_arrays

h5py = later("h5py")

KINDS = {  # of safetensors
    "F64": "f8", "F32": "f4", "F16": "f2", "BF16": "u2", "I64": "i8", "I32": "i4", "I16": "i2", "I8": "i1", "U8": "u1",
    "BOOL": "?",
}  # fmt: skip
ANSWERS = "answers.npz"  # what a network says, and none of its weights
LONGEST_HEADER = 100_000_000
RATIO = 200  # times that an array may be larger than its compressed bytes
# What a folder may hold, the best first: one file, or an index of several.
NAMES = ("model.safetensors", "pytorch_model.bin", "model.npz", "tf_model.h5")


class Entry(TypedDict):
    """What a header of safetensors says of a tensor."""

    dtype: Literal[tuple(KINDS)]
    shape: list[whole()]
    data_offsets: Annotated[list[whole()], Meta(min_length=2, max_length=2, description="two whole numbers")]


@dataclasses.dataclass(frozen=True)
class Tensor:
    """An array of a file: its shape is known, its numbers are read when `read()` is called."""

    shape: tuple[int, ...]
    get: Callable[[], np.ndarray]

    def read(self):
        """The numbers: floating ones as float32, whatever they were stored as."""
        try:
            found = np.asarray(self.get())
        except (zlib.error, zipfile.BadZipFile, EOFError) as error:
            raise ValueError(f"its numbers cannot be read: {error}") from error
        return found.astype("float32", copy=False) if found.dtype.kind == "f" else found


def weights_files(folder, opened=Path):
    """The files of weights in a folder, of the best form that it has; `opened` is told the path of an index.

    Raises:
        ValueError: there is none, or an index names files that are not there.
    """
    folder = Path(folder)
    for name in NAMES:
        index = folder / f"{name}.index.json"
        if (folder / name).is_file():
            return [folder / name]
        if index.is_file():
            return _listed(opened(index))
    others = [each for each in sorted(folder.glob("*.npz")) if each.is_file() and each.name != ANSWERS]
    others = others or [each for each in sorted(folder.glob("*.bin")) if each.is_file() and is_marian(each)]
    if len(others) == 1:  # Marian's are called after what they translate
        return others
    raise ValueError(
        f"{folder} has no weights that can be read: expected one of {', '.join(NAMES)}, or a single .npz, or Marian's "
        f".bin; found {', '.join(sorted(each.name for each in folder.iterdir())) or 'nothing'}."
    )


def _listed(index):
    """The files that an index names, each once."""
    try:
        names = sorted(set(parse(index.read_bytes())["weight_map"].values()))
        strange = [name for name in names if Path(name).name != name or Path(name).suffix not in READERS]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{index} is no index of weights: {error}") from error
    if strange:
        raise ValueError(
            f"{index} names {strange[0]!r}, which is no file of weights in its folder. Nothing else is read."
        )
    missing = [name for name in names if not (index.parent / name).is_file()]
    if missing:
        raise ValueError(f"{index} names {', '.join(missing)}, which is missing. Fetch it as well.")
    return [index.parent / name for name in names]


def read_tensors(paths):
    """`{name: Tensor}` of all the files.

    Raises:
        ValueError: a file is damaged or of a form that is not read, or two of them have one name.
    """
    found = {}
    for path in paths:
        try:
            own = READERS[path.suffix](path)
        except (OSError, struct.error, zipfile.BadZipFile, KeyError, EOFError, NotImplementedError) as error:
            raise ValueError(f"{path} cannot be read, it may be cut off: {error}") from error
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        twice = sorted(found.keys() & own.keys())
        if twice:
            raise ValueError(f"{path} has {twice[0]!r}, which another file of the same network has, too.")
        found |= {name: Tensor(tuple(shape), get) for name, (shape, get) in own.items()}
    return found


def _safetensors(path):
    size = path.stat().st_size
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        if length > min(LONGEST_HEADER, size - 8):
            raise ValueError(f"its header has {length:,} bytes and the file {size:,}: it is cut off, or damaged")
        header = file.read(length)
    try:
        header = parse(header)
    except ValueError as error:
        raise ValueError(f"its header is no JSON: {error}") from error
    if isinstance(header, dict):
        header.pop("__metadata__", None)
    check(header, dict[str, Entry], "its header")
    begin, room, ends, found = 8 + length, size - 8 - length, [], {}
    for name, each in header.items():
        dtype, shape, (first, last) = each["dtype"], tuple(each["shape"]), each["data_offsets"]
        if last - first != math.prod(shape) * np.dtype(KINDS[dtype]).itemsize:
            raise ValueError(f"{name!r} has the shape {shape} and {last - first} bytes, which do not fit")
        if last > room:
            raise ValueError(f"{name!r} ends at byte {last:,} of {room:,}: the file is cut off")
        ends.append((first, last, name))
        found[name] = shape, partial(_stored, path, begin + first, dtype, shape)
    for (_, last, one), (first, _, other) in zip(sorted(ends), sorted(ends)[1:], strict=False):
        if first < last:
            raise ValueError(f"{one!r} and {other!r} lie in the same bytes")
    return found


def _stored(path, begin, dtype, shape):
    """The numbers at a place of a file, which is not mapped into memory; bfloat16 is the upper half of float32."""
    array = np.fromfile(path, KINDS[dtype], math.prod(shape), offset=begin).reshape(shape)
    return (array.astype("u4") << 16).view("f4") if dtype == "BF16" else array


def _npz(path):
    found = {}
    with zipfile.ZipFile(path) as archive:
        for each in archive.infolist():
            if each.file_size > RATIO * each.compress_size + 2**16:
                raise ValueError(f"{each.filename}: {each.compress_size:,} bytes would become {each.file_size:,}")
            with archive.open(each) as member:
                shape, _, dtype = _npy_header(member)
                held = each.file_size - member.tell()
            if dtype.hasobject:
                raise ValueError(f"{each.filename} holds Python's objects, which would have to be executed")
            if math.prod(shape) * dtype.itemsize != held:
                raise ValueError(f"{each.filename} has the shape {shape} and {held:,} bytes, which do not fit")
            name = each.filename.removesuffix(".npy")
            found[name] = shape, lambda member=each.filename: _npy(path, member)
    return found


def _npy_header(file):
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    return readers[np.lib.format.read_magic(file)](file)


def _npy(path, member):
    with zipfile.ZipFile(path) as archive, archive.open(member) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _hdf5(path):
    """Arrays of Keras' `tf_model.h5` under the names that PyTorch gives them, in PyTorch's order of axes."""
    found = {}

    def add(name, item):
        if not isinstance(item, h5py.Dataset):
            return
        if item.external or item.is_virtual:
            raise ValueError(f"{name!r} lies in another file. Nothing outside is read")
        if item.dtype.kind not in "fiub":
            raise ValueError(f"{name!r} holds {item.dtype}, and no numbers")
        if item.size * item.dtype.itemsize > RATIO * path.stat().st_size + 2**16:
            raise ValueError(f"{name!r} claims {item.size:,} numbers, more than the file can hold")
        mine, turned = _torch_name(name)
        if mine in found:
            raise ValueError(f"two of its arrays would be called {mine!r}")
        found[mine] = item.shape[::-1] if turned else item.shape, lambda: _dataset(path, name, turned)

    with h5py.File(path, "r") as file:
        file.visititems(add)
    return found


def _dataset(path, name, turned):
    with h5py.File(path, "r") as file:
        return file[name][()].T if turned else file[name][()]


def _torch_name(name):
    """(PyTorch's name, whether the axes are the other way round) of an array that TensorFlow's `transformers` saved."""
    name = re.sub(r"/[^/]*___([^/]*)/", r"/\1/", name.replace(":0", "")).replace("_._", "/")
    parts = [each for each in name.split("/") if each]
    parts = parts[2:] if len(parts) > 2 else parts[1:] or parts  # the layer's group, and the model's name
    last = {"kernel": "weight", "embeddings": "weight", "gamma": "weight", "beta": "bias"}
    return ".".join([*parts[:-1], last.get(parts[-1], parts[-1])]), parts[-1] == "kernel"


def _binary(path):
    return (marian_arrays if is_marian(path) else torch_arrays)(path)


READERS = {".safetensors": _safetensors, ".bin": _binary, ".npz": _npz, ".h5": _hdf5}
