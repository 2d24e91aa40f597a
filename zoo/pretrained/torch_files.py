"""Files of `torch.save`: their pickle is interpreted, and knows the handful of names that a file of weights needs.

A pickle is a program, which `pickle` would run. Here its instructions are read one by one: they may build dicts, lists,
tuples, texts and numbers, and call the few functions of `CALLS`, which are our own. Every other name is refused.
Both forms are read: the zip of torch 1.6 and later, and the row of pickles of the versions before.
"""

import io
import math
import pickletools
import struct
import zipfile
from functools import partial
from typing import NamedTuple

import numpy as np

KINDS = {
    "FloatStorage": "<f4", "DoubleStorage": "<f8", "HalfStorage": "<f2", "BFloat16Storage": "<u2",
    "LongStorage": "<i8", "IntStorage": "<i4", "ShortStorage": "<i2", "CharStorage": "<i1", "ByteStorage": "<u1",
    "BoolStorage": "?",
}  # fmt: skip
BIG_ENDIAN = "its numbers are big-endian. Save it again on a little-endian machine, or take a file of safetensors"
MAGIC = 0x1950A86A20F9469CFC6C  # of the older form
IGNORED = {"PROTO", "FRAME"}
MEMO = {"PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"}
TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
EMPTY = {"EMPTY_DICT": dict, "EMPTY_LIST": list}
VALUES = {
    "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "INT", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT",
    "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "SHORT_BINSTRING", "BINSTRING", "STRING",
}  # fmt: skip
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
LONGEST_PICKLE = 2**23  # bytes; of ten thousand tensors it has less
MOST_AXES, MOST = 64, 2**48  # of an array, and of its sizes


class Storage(NamedTuple):
    """Numbers of a file, without a shape."""

    kind: str
    key: str
    count: int


class View(NamedTuple):
    """A tensor: a shape laid over a storage."""

    storage: Storage
    offset: int
    shape: tuple
    strides: tuple


def _make_view(storage, offset, shape, strides, *_):
    valid = isinstance(storage, Storage) and isinstance(shape, tuple) and isinstance(strides, tuple)
    valid = valid and len(shape) == len(strides) <= MOST_AXES and all(map(_is_size, (offset, *shape, *strides)))
    if not valid:
        raise ValueError(
            f"it has a tensor whose sizes are none of a tensor: up to {MOST_AXES} numbers from 0 to {MOST:,}"
        )
    last = offset + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
    if math.prod(shape) and (last >= storage.count or math.prod(shape) > storage.count):
        raise ValueError(f"it has a tensor of the shape {shape} over {storage.count:,} numbers")
    return View(storage, offset, shape, strides)


def _is_size(value):
    return isinstance(value, int) and 0 <= value <= MOST


def _make_ordered(pairs=()):
    """The dict of a list of pairs. The list becomes empty, so that copies of one list cannot fill the memory."""
    ordered = _make_dict(pairs)
    if pairs:
        pairs.clear()
    return ordered


def _make_size(sizes):
    if not isinstance(sizes, tuple):
        raise TypeError("a size is made of no tuple")
    return sizes


def _make_dict(pairs):
    """The dict of pairs. Only texts may be keys, because to hash a tuple of tuples of tuples may take years."""
    pairs = list(pairs)
    if not all(isinstance(name, str) for name, _ in pairs):
        raise ValueError("its pickle has a dict whose keys are no names")
    return dict(pairs)


CALLS = {
    "collections OrderedDict": _make_ordered,
    "torch._utils _rebuild_tensor": _make_view,
    "torch._utils _rebuild_tensor_v2": _make_view,
    "torch._utils _rebuild_parameter": lambda tensor, *_: tensor,
    "torch Size": _make_size,
}


def read_torch(path):
    """(name, shape, kind, bytes, a function that reads the numbers) of each tensor.

    Raises:
        ValueError: the file asks for more than weights, or is damaged.
    """
    tensors, places = _read_zip(path) if zipfile.is_zipfile(path) else _read_row(path)
    tensors = tensors.get("state_dict", tensors) if isinstance(tensors, dict) else tensors
    if not isinstance(tensors, dict) or not all(isinstance(each, View) for each in tensors.values()):
        raise ValueError(
            "it holds something else than named tensors; expected what `torch.save(model.state_dict())` wrote"
        )
    for name, each in tensors.items():
        kind = np.dtype(KINDS[each.storage.kind])
        yield name, each.shape, kind, math.prod(each.shape) * kind.itemsize, partial(_read_numbers, path, places, each)


def _read_numbers(path, places, view):
    dtype = np.dtype(KINDS[view.storage.kind])
    place = {"offset": places[view.storage.key], "shape": (view.storage.count,)}
    whole = np.memmap(path, dtype, "r", **place) if math.prod(view.shape) else np.zeros(1, dtype)
    strides = [dtype.itemsize * step for step in view.strides]
    array = np.lib.stride_tricks.as_strided(whole[view.offset :], view.shape, strides, writeable=False)
    return (array.astype("u4") << 16).view("f4") if view.storage.kind == "BFloat16Storage" else array


def _read_zip(path):
    """(what the pickle holds, `{key of a storage: its first byte}`) of the newer form."""
    size = path.stat().st_size
    with zipfile.ZipFile(path) as archive:
        members = {each.filename: each for each in archive.infolist()}
        if len(members) < len(archive.infolist()):
            raise ValueError("it is a zip that holds a name twice, so `torch.save` did not write it")
        pickles = [name for name in members if name.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise ValueError(f"it is a zip with {len(pickles)} files data.pkl; `torch.save` writes one")
        root = pickles[0].removesuffix("data.pkl")
        if any(each.compress_type != zipfile.ZIP_STORED for each in members.values()):
            raise ValueError("its members are compressed, which torch never does")
        order = f"{root}byteorder"
        if order in members and archive.read(order) != b"little":
            raise ValueError(BIG_ENDIAN)
        if members[pickles[0]].file_size > LONGEST_PICKLE:
            raise ValueError(
                f"its pickle has {members[pickles[0]].file_size:,} bytes; expected up to {LONGEST_PICKLE:,}"
            )
        storages = {}
        content = Interpreter(storages).run(io.BytesIO(archive.read(pickles[0])))
    places = {}
    with open(path, "rb") as file:
        for key, storage in storages.items():
            member = members.get(f"{root}data/{key}")
            width = storage.count * np.dtype(KINDS[storage.kind]).itemsize
            if member is None or member.file_size != width:
                raise ValueError(f"the numbers {key!r} are missing, or have another size than {width:,} bytes")
            file.seek(member.header_offset + 26)
            places[key] = member.header_offset + 30 + sum(struct.unpack("<HH", file.read(4)))
            if places[key] + width > size:
                raise ValueError(f"the numbers {key!r} end behind the file: it is cut off")
    return content, places


def _read_row(path):
    """As `_read_zip`, of the older form: five pickles, and behind them every storage with its length before it."""
    storages, size = {}, path.stat().st_size
    with open(path, "rb") as file:
        try:
            magic = _run_pickle(file)
        except ValueError:
            magic = None
        if magic != MAGIC:
            raise ValueError("it is no file of `torch.save`")
        _, system = _run_pickle(file), _run_pickle(file)
        if isinstance(system, dict) and system.get("little_endian") is False:
            raise ValueError(BIG_ENDIAN)
        content, keys, places = _run_pickle(file, storages), _run_pickle(file), {}
        if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
            raise ValueError("it does not say where its numbers lie")
        for key in keys:
            if key not in storages:
                raise ValueError(f"it has the numbers {key!r}, of which it does not say what they are")
            (count,) = struct.unpack("<q", file.read(8))
            width, places[key] = count * np.dtype(KINDS[storages[key].kind]).itemsize, file.tell()
            if count != storages[key].count or places[key] + width > size:
                raise ValueError(f"the numbers {key!r} have another size than they should: the file is cut off")
            file.seek(width, io.SEEK_CUR)
    missing = sorted(storages.keys() - places.keys())
    if missing:
        raise ValueError(f"the numbers {missing[0]!r} are missing")
    return content, places


def _run_pickle(file, storages=None):
    """The value of the pickle at the file's place, behind which the file is left."""
    begin, pickle = file.tell(), io.BytesIO(file.read(LONGEST_PICKLE))
    value = Interpreter({} if storages is None else storages).run(pickle)
    file.seek(begin + pickle.tell())
    return value


class Interpreter:
    """Runs a pickle over values alone; the storages that it names are put into `storages`."""

    def __init__(self, storages):
        self.storages, self.stack, self.below, self.memo = storages, [], [], {}  # below: stacks under a mark

    def run(self, file):
        """The value that the pickle at the file's place makes.

        Raises:
            ValueError: it does something that weights have no need of, or ends too early.
        """
        try:
            for code, argument, _ in _read_instructions(file):
                if code.name == "STOP":
                    return self.stack.pop()
                self._execute(code.name, argument)
        except (IndexError, TypeError, AttributeError) as error:
            raise ValueError(f"its pickle makes no sense: {error}") from error
        raise ValueError("its pickle ends too early")

    def _execute(self, name, argument):
        stack = self.stack
        if name in IGNORED:
            return
        if name in VALUES:
            stack.append(CONSTANTS.get(name, argument))
        elif name in EMPTY:
            stack.append(EMPTY[name]())
        elif name == "MARK":
            self.below.append(stack)
            self.stack = []
        elif name in MEMO:
            self.memo[len(self.memo) if argument is None else argument] = stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            if argument not in self.memo:
                raise ValueError("its pickle asks for a value that it never made")
            stack.append(self.memo[argument])
        elif name in TUPLES:
            count = TUPLES[name]
            stack[len(stack) - count :] = [tuple(stack[len(stack) - count :])]
        elif name == "TUPLE":
            items = self._pop_marked()
            self.stack.append(tuple(items))
        elif name in ("APPEND", "APPENDS"):
            items = [stack.pop()] if name == "APPEND" else self._pop_marked()
            self.stack[-1].extend(items)
        elif name in ("SETITEM", "SETITEMS"):
            items = [stack.pop() for _ in range(2)][::-1] if name == "SETITEM" else self._pop_marked()
            self.stack[-1].update(_make_dict(zip(items[::2], items[1::2], strict=True)))
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            stack.append(_resolve(argument if name == "GLOBAL" else " ".join([stack.pop() for _ in range(2)][::-1])))
        elif name == "BINPERSID":
            stack.append(self._make_storage(stack.pop()))
        elif name == "REDUCE":
            arguments, function = stack.pop(), stack.pop()
            if function not in CALLS.values():
                raise ValueError("its pickle calls a value, which is no function")
            stack.append(function(*arguments))
        elif name == "BUILD" and isinstance(stack[-2], dict):  # what torch notes beside a dict of tensors
            stack.pop()
        else:
            raise ValueError(f"its pickle has the instruction {name}, which weights have no need of. Nothing was run")

    def _pop_marked(self):
        """Take away the last mark and the values above it, and return these."""
        items, self.stack = self.stack, self.below.pop()
        return items

    def _make_storage(self, identity):
        if len(identity) > 5 and identity[5] is not None or identity[0] != "storage":
            raise ValueError("it has a view of numbers in a form that torch gave up in 2018")
        _, kind, key, _, count = identity[:5]
        if not isinstance(kind, str) or kind not in KINDS:
            raise ValueError("it has numbers of a kind that no weights have")
        if not isinstance(key, str) or not _is_size(count):
            raise ValueError("it has numbers without a name or a count")
        storage = Storage(kind, key, count)
        if self.storages.setdefault(key, storage) != storage:
            raise ValueError(f"it reads the numbers {key!r} in two ways")
        return storage


def _read_instructions(file):
    try:
        yield from pickletools.genops(file)
    except ValueError as error:
        raise ValueError(f"its pickle is damaged: {error}") from error


def _resolve(name):
    """The function of ours, or the text, for a name that a pickle imports."""
    module, _, rest = name.partition(" ")
    if name in CALLS:
        return CALLS[name]
    if module == "torch" and (rest in KINDS or rest in ("float32", "float16", "bfloat16", "float64")):
        return rest
    raise ValueError(
        f"its pickle asks for {module}.{rest}, which a file of weights has no need of and which could run anything. "
        "Nothing was run. Take a file of safetensors"
    )
