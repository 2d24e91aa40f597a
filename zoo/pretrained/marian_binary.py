"""Marian's binary weights, `model.bin` of marian-conv: numbers of a header, names, shapes, and the arrays behind them.

All whole numbers are little-endian: the version, 1, and the count of arrays; of each the length of its name, its type,
its rank and its bytes; the names, which end in a zero byte; the shapes; how many bytes lie before the first array; and
the arrays, each with its padding. Read in Marian's sources, common/binary.cpp and
tensors/cpu/expression_graph_packable.h.

A quantised matrix has its multiplier behind its numbers, and lies there transposed unless it is an embedding.
"""

import math
import struct
from functools import partial

import numpy as np

VERSION = 1
WHOLE = {0x101: "i1", 0x402: "<f2", 0x404: "<f4", 0x408: "<f8"}  # types that hold the numbers themselves
QUANTISED = {0x4101: "i1", 0x4102: "<i2"}  # intgemm's, for any processor
KINDS = WHOLE | QUANTISED


def is_marian(path):
    """Whether a file begins as one of Marian's does."""
    with open(path, "rb") as file:
        return file.read(8) == struct.pack("<Q", VERSION)


def read_marian(path):
    """(name, shape, kind, bytes, a function that reads the numbers) of each array.

    Raises:
        ValueError: it is cut off, or an array has a type that only one kind of processor can read.
    """
    size = path.stat().st_size
    with open(path, "rb") as file:

        def read(kind, count):
            length = int(count) * np.dtype(kind).itemsize
            if length > size - file.tell():
                raise ValueError(f"its header claims {length:,} bytes more, and the file has {size:,}: it is cut off")
            return np.frombuffer(file.read(length), kind)

        _, count = read("<u8", 2)
        headers = read("<u8", 4 * int(count)).reshape(-1, 4).tolist()
        names = [bytes(read("u1", length)).rstrip(b"\0").decode("utf-8", "replace") for length, *_ in headers]
        shapes = [tuple(read("<i4", rank).tolist()) for _, _, rank, _ in headers]
        begin = int(read("<u8", 1)[0]) + file.tell()
    for name, shape, (_, kind, _, length) in zip(names, shapes, headers, strict=True):
        if kind not in KINDS:
            raise ValueError(
                f"{name!r} has the type {kind:#x}. Expected float16, float32, float64, int8, or intgemm's int8 or "
                "int16. What is packed for one kind of processor is not read: import the model.npz that it came from"
            )
        numbers = math.prod(shape) * np.dtype(KINDS[kind]).itemsize
        if min(shape, default=0) < 0 or numbers + 4 * (kind in QUANTISED) > length:
            raise ValueError(f"{name!r} has the shape {shape} and {length:,} bytes, which do not fit")
        if begin + length > size:
            raise ValueError(f"{name!r} ends at byte {begin + length:,} of {size:,}: the file is cut off")
        turned = "Wemb" not in name
        yield name, shape, KINDS[kind], numbers, partial(_read_array, path, begin, kind, shape, turned)
        begin += length


def _read_array(path, begin, kind, shape, turned):
    count = math.prod(shape)
    array = np.fromfile(path, KINDS[kind], count, offset=begin)
    if kind in WHOLE:
        return array.reshape(shape)
    (multiplier,) = np.fromfile(path, "<f4", 1, offset=begin + array.nbytes)
    if not 0 < multiplier < math.inf:
        raise ValueError(f"{path} has a matrix whose numbers were multiplied by {multiplier}; expected more than 0")
    array = array.astype("float32") / multiplier
    return array.reshape(shape[::-1]).T if turned else array.reshape(shape)
