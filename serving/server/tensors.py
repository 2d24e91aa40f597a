"""A tensor of a request or of an answer, checked once, whatever it came by: JSON, raw bytes or a message of gRPC.

Texts are `str`. Bytes that are not UTF-8 become lone surrogates (`surrogateescape`), for which the runtime refuses
their text and no other.
"""

import math
import struct
from dataclasses import dataclass

import numpy as np

from serving.server.faults import Fault, invalid

NUMBERS = {
    "BOOL": "bool",
    "INT8": "int8",
    "INT16": "int16",
    "INT32": "int32",
    "INT64": "int64",
    "UINT8": "uint8",
    "UINT16": "uint16",
    "UINT32": "uint32",
    "UINT64": "uint64",
    "FP16": "float16",
    "FP32": "float32",
    "FP64": "float64",
}
DATATYPES = ("BYTES", *NUMBERS)
OF_DTYPE = {"string": "BYTES"} | {dtype: datatype for datatype, dtype in NUMBERS.items()}  # the manifest's words
VALUES = {"b": ({bool}, "true and false"), "f": ({int, float}, "numbers")}  # kind of NumPy -> types of JSON, in words
WHOLE = {int}, "whole numbers"
MOST_AXES = 8
MOST_TEXTS = 1 << 20  # of a tensor, where nobody says how many


@dataclass(frozen=True, eq=False)
class Tensor:
    """A named tensor.

    Args:
        name: its name.
        datatype: one of `DATATYPES`.
        shape: its sizes.
        data: of BYTES a list of `str` in row-major order; of numbers an array of this shape.
    """

    name: str
    datatype: str
    shape: tuple
    data: object


def check_spec(name, datatype, shape):
    """`(datatype, shape)` after a check.

    Raises:
        Fault: there is no such datatype, or the shape is not a list of sizes.
    """
    if datatype not in DATATYPES:
        raise invalid(
            f"the datatype of {quote(name)} must be one of {', '.join(DATATYPES)}; received {describe(datatype)}."
        )
    shape = tuple(shape) if isinstance(shape, list | tuple) else None
    if shape is None or len(shape) > MOST_AXES or any(type(size) is not int or not 0 <= size < 2**31 for size in shape):
        raise invalid(
            f"the shape of {quote(name)} must be a list of at most {MOST_AXES} sizes, each a whole number of at least "
            f"0; received {describe(shape)}."
        )
    return datatype, shape


def from_values(name, datatype, shape, values):
    """A tensor from Python values, flat or nested as JSON has them.

    Raises:
        Fault: the values have another type, or there are more or fewer than the shape has places for.
    """
    datatype, shape = check_spec(name, datatype, shape)
    flat = flatten(name, values)
    _check_count(name, shape, len(flat))
    is_text = datatype == "BYTES"
    kinds, words = ({str}, "strings") if is_text else VALUES.get(np.dtype(NUMBERS[datatype]).kind, WHOLE)
    if not set(map(type, flat)) <= kinds:
        wrong = next(value for value in flat if type(value) not in kinds)
        raise invalid(f"the data of {quote(name)} must be {words}; received {describe(wrong)}.")
    return Tensor(name, datatype, shape, flat if is_text else _make_array(name, datatype, flat).reshape(shape))


def from_raw(name, datatype, shape, raw, most=MOST_TEXTS):
    """A tensor from bytes as they lie in memory, little-endian; of BYTES each text behind its length, four bytes.

    Args:
        most: the most texts, which are counted before one is made.

    Raises:
        Fault: there are more or fewer bytes than the shape has places for, or too many texts.
    """
    datatype, shape = check_spec(name, datatype, shape)
    if datatype == "BYTES":
        if math.prod(shape) > most:
            raise too_many_fault(most, math.prod(shape))
        texts = _split_texts(name, shape, raw)
        _check_count(name, shape, len(texts))
        return Tensor(name, datatype, shape, texts)
    dtype = np.dtype(NUMBERS[datatype]).newbyteorder("<")
    if len(raw) != math.prod(shape) * dtype.itemsize:
        raise invalid(
            f"{quote(name)} of shape {list(shape)} and type {datatype} has {math.prod(shape) * dtype.itemsize} bytes; "
            f"received {len(raw)}."
        )
    return Tensor(name, datatype, shape, np.frombuffer(raw, dtype).reshape(shape))


def raw_bytes(tensor):
    """The bytes of a tensor, as `from_raw` reads them."""
    if tensor.datatype != "BYTES":
        return np.ascontiguousarray(tensor.data, np.dtype(NUMBERS[tensor.datatype]).newbyteorder("<")).tobytes()
    encoded = [text.encode("utf-8", "surrogateescape") for text in tensor.data]
    return b"".join(part for text in encoded for part in (struct.pack("<I", len(text)), text))


def flatten(name, values):
    """The values of nested lists in row-major order.

    Raises:
        Fault: there is no list, or values stand beside lists.
    """
    if not isinstance(values, list):
        raise invalid(f"the data of {quote(name)} must be a list; received {describe(values)}.")
    for _ in range(MOST_AXES):
        lists = sum(isinstance(value, list) for value in values)
        if not lists:
            return values
        if lists < len(values):
            raise invalid(f"the data of {quote(name)} mixes lists and values. Give a flat list, or one like its shape.")
        values = [value for part in values for value in part]
    raise invalid(f"the data of {quote(name)} is nested more than {MOST_AXES} times. Give a flat list.")


def spec(name, datatype, *shape):
    """An input or an output as the protocol describes it; -1 is an axis of any size."""
    return {"name": name, "datatype": datatype, "shape": list(shape)}


def order_tensors(tensors, specs):
    """The tensors in the order of `specs`.

    Raises:
        Fault: one is missing, unknown or given twice.
    """
    expected, received = [each["name"] for each in specs], [tensor.name for tensor in tensors]
    for problem, names in (
        ("misses", [name for name in expected if name not in received]),
        ("does not know", [name for name in received if name not in expected]),
        ("has more than once", [name for name in expected if received.count(name) > 1]),
    ):
        if names:
            raise invalid(
                f"the request {problem} the input {', '.join(map(quote, dict.fromkeys(names)))}; this signature takes "
                f"{', '.join(expected)}."
            )
    by_name = {tensor.name: tensor for tensor in tensors}
    return [by_name[name] for name in expected]


def text_of(content):
    """The text of bytes; a byte that is not UTF-8 becomes a lone surrogate, for which its text alone is refused."""
    return content.decode("utf-8", "surrogateescape")


def quote(name):
    """A name of a request for a message, cut if it is long."""
    return repr(name if len(name) <= 80 else name[:77] + "...") if isinstance(name, str) else describe(name)


def describe(value):
    """What was received, for a message: short, and of large values only the type."""
    if isinstance(value, str | int | float | bool | None | tuple):
        text = repr(list(value) if isinstance(value, tuple) else value) if not isinstance(value, int) else f"{value:#x}"
        text = str(value) if isinstance(value, bool | int) and abs(value) < 10**18 else text
        return text if len(text) <= 80 else text[:77] + "..."
    return {list: "a list", dict: "an object"}.get(type(value), type(value).__name__)


def _make_array(name, datatype, flat):
    dtype = np.dtype(NUMBERS[datatype])
    try:
        if dtype.kind in "iu":
            limits = np.iinfo(dtype)
            if flat and not limits.min <= min(flat) <= max(flat) <= limits.max:
                raise OverflowError
        return np.array(flat, dtype)
    except (OverflowError, ValueError):
        raise invalid(f"the data of {quote(name)} has a number that {datatype} cannot hold.") from None


def too_many_fault(most, count, unit="texts"):
    """The fault of a request with so many texts, or sentences."""
    return Fault("too_large", f"a request may have {most} {unit}; received {count}. Send them in parts.")


def _split_texts(name, shape, raw):
    texts, place, most = [], 0, math.prod(shape)
    while place < len(raw):
        if len(texts) == most:
            _check_count(name, shape, f"more, in {len(raw)} bytes")
        end = place + 4 + int.from_bytes(raw[place : place + 4], "little")
        if place + 4 > len(raw) or end > len(raw):
            raise invalid(
                f"the bytes of {quote(name)} end inside a text: each text stands behind its length in four bytes, "
                "little-endian."
            )
        texts.append(text_of(bytes(raw[place + 4 : end])))
        place = end
    return texts


def _check_count(name, shape, count):
    if math.prod(shape) != count:
        raise invalid(f"{quote(name)} of shape {list(shape)} has {math.prod(shape)} values; received {count}.")
