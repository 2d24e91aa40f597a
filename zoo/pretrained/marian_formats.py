"""Marian's own files: binary weights, lexical shortlists, and YAML as it writes that. Read in Marian's sources.

Binary weights are `model.bin` of marian-conv (common/binary.cpp, tensors/cpu/expression_graph_packable.h). All whole
numbers are little-endian: the version, 1, and the count of arrays; of each the length of its name, its type, its rank
and its bytes; the names, which end in a zero byte; the shapes; how many bytes lie before the first array; and the
arrays, each with its padding. A quantised matrix has its multiplier behind its numbers, and lies there transposed
unless it is an embedding.

A shortlist, `lex.s2t`, says which pieces of the target may be written for which pieces of the source (data/shortlist.h,
data/shortlist.cpp). A text has a line `target source p(target | source)` for each pair. A binary one has numbers of 64
bits: a magic one, a checksum of what follows, how many first pieces of the vocabulary may always be written, how many a
source piece has at most, how many offsets and ids there are; the offsets, one more than source pieces; and the ids, of
32 bits.

YAML has settings and vocabularies. Anchors, tags and what is there twice are refused.
"""

import math
import re
import struct
from array import array
from functools import partial
from itertools import islice, takewhile

import numpy as np
import yaml

from zoo.pretrained.reading import read_bytes
from zoo.pretrained.vocabulary import to_our_ids
from zoo.text.base import EOS

try:
    from yaml import CSafeLoader as SafeLoader
except ImportError:  # PyYAML was built without libyaml; vocabularies then take many seconds
    from yaml import SafeLoader

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


MAGIC = 0xF11A48D5013417F5
FIRST, BEST = 100, 100  # of a text, where the settings do not say
MOST = 2**25  # numbers of a table
HEAD = struct.Struct("<6Q")


def read_shortlist(path, limits, vocabularies, ids, shared):
    """`{"table", "always"}` of a file, over our ids, as `serving.export.shortlist.Shortlist` has them.

    Args:
        path: the file.
        limits: what stands behind it in the settings: for a text how many first pieces, and best ones of each source
            piece, are allowed, and the probability that these must exceed.
        vocabularies: (source, target) pieces by their ids there.
        ids: (source, target) as of `our_ids`.
        shared: whether both are one vocabulary; then each piece of a source may be written, too.

    Raises:
        ValueError: it is damaged, or of another vocabulary.
    """
    with open(path, "rb") as file:
        binary = file.read(8) == struct.pack("<Q", MAGIC)
    try:
        owners, allowed, first = (_read_binary_shortlist if binary else _read_text_shortlist)(
            path, limits, *vocabularies
        )
        if shared:
            same = np.arange(len(vocabularies[0]))
            owners, allowed = np.concatenate([owners, same]), np.concatenate([allowed, same])
            order = np.argsort(owners, kind="stable")
            owners, allowed = owners[order], allowed[order]
        places = np.arange(len(owners)) - np.searchsorted(owners, owners)
        size, width = len(vocabularies[0]) + 1, int(places.max(initial=0)) + 1
        if size * width > MOST:
            raise ValueError(f"one piece allows {width:,} others, a table of {size * width:,}; {MOST:,} are read here")
    except ValueError as error:
        raise ValueError(f"{path} is no shortlist of this network: {error}") from error
    table = np.full((size, width), EOS, "int32")
    table[owners, places] = to_our_ids(allowed, ids[1])
    always = to_our_ids(np.arange(min(first, len(vocabularies[1]))), ids[1])
    return {"table": table[ids[0]], "always": np.sort(always).astype("int32")}


def _read_binary_shortlist(path, _, reads, writes):
    """(source ids in order, the target id beside each, how many first ones are allowed)."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        head = file.read(HEAD.size)
        if len(head) < HEAD.size:
            raise ValueError(f"it has {size} bytes, and its header alone {HEAD.size}")
        _, checksum, first, _, offsets, count = HEAD.unpack(head)
        claimed = HEAD.size + 8 * offsets + 4 * count
        if claimed != size:
            raise ValueError(f"its header claims {claimed:,} bytes, and it has {size:,}")
        if offsets != len(reads) + 1:
            raise ValueError(f"it is for {offsets - 1:,} source pieces, and the vocabulary has {len(reads):,}")
        behind = head[16:] + file.read()
    computed = 0
    for word in np.frombuffer(behind, "<u8", len(behind) // 8).tolist():
        computed ^= (word + 0x9E3779B9 + (computed << 6) + (computed >> 2)) % 2**64
    if computed != checksum:
        raise ValueError(f"its checksum is {checksum:#x}, and that of its content {computed:#x}: it is damaged")
    bounds = np.frombuffer(behind, "<u8", offsets, HEAD.size - 16)
    allowed = np.frombuffer(behind, "<u4", count, HEAD.size - 16 + 8 * offsets)
    if bounds[0] or bounds[-1] != count or np.any(bounds[1:] < bounds[:-1]):
        raise ValueError("the places of its lists do not follow each other")
    if count and allowed.max() >= len(writes):
        raise ValueError(f"it allows the target id {allowed.max()}, and the vocabulary has {len(writes):,}")
    lengths = np.diff(bounds.astype("int64"))
    return np.repeat(np.arange(len(reads)), lengths), allowed, first


def _read_text_shortlist(path, limits, reads, writes):
    """The same. Of several lines of a pair the last one counts, of equal pieces the one with the larger id."""
    first, best, least = (*limits, *(FIRST, BEST, 0)[len(limits) :])[:3]
    if len(limits) > 3 or {type(first), type(best), type(least)} - {int, float}:
        raise ValueError(f"the settings behind it are {limits}; of a text expected are FIRST, BEST, LEAST")
    lookups = [{piece: at for at, piece in enumerate(names)} for names in (writes, reads)]
    pairs, shares = array("q"), array("f")
    with open(path, encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            try:
                *pieces, share = line.split()
                target, source = pieces
                share = float(share)
            except ValueError as error:
                raise ValueError(f"line {number} is not `target source probability`: {line[:80]!r}") from error
            if not 0 <= share < math.inf:
                raise ValueError(f"line {number} has {share} for a probability")
            if "NULL" not in pieces:
                target, source = (of.get(each, of["<unk>"]) for of, each in zip(lookups, pieces, strict=True))
                pairs.append(source * len(writes) + target)
                shares.append(share)
    keys, last = np.unique(np.array(pairs, "int64")[::-1], return_index=True)
    shares = np.array(shares, "float32")[::-1][last]
    owners, allowed = keys // len(writes), keys % len(writes)
    order = np.lexsort((-allowed, -shares, owners))
    order = order[shares[order] > least]
    owners, allowed = owners[order], allowed[order]
    best_ones = np.arange(len(owners)) - np.searchsorted(owners, owners) < best
    return owners[best_ones], allowed[best_ones], first


NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}


def read_yaml(path):
    """`parse_yaml` of a file of at most 64 MB."""
    return parse_yaml(read_bytes(path).decode("utf-8", "replace"), path)


def parse_yaml(text, where):
    """The dict of a document.

    Keys are texts as they stand. Values in quotation marks are texts; others may be numbers, true, false or null.

    Raises:
        ValueError: it is no YAML, or more of it than is read here.
    """
    try:
        events = yaml.parse(text, Loader=SafeLoader)
        *_, first_event = islice(events, 3)  # behind those of the stream and the document
        if not isinstance(first_event, yaml.MappingStartEvent):
            raise ValueError("it holds no settings by name")
        return _read_value(first_event, events)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{where} cannot be read as YAML: {reason}") from error


def _read_value(event, events):
    if isinstance(event, yaml.AliasEvent) or event.tag:
        raise ValueError(f"it has an anchor or a tag at line {event.start_mark.line + 1}, which are not read here")
    if isinstance(event, yaml.ScalarEvent):
        return event.value if event.style else _parse_plain(event.value)
    if isinstance(event, yaml.SequenceStartEvent):
        return [_read_value(each, events) for each in takewhile(_is_item, events)]
    mapping = {}
    for key in takewhile(_is_item, events):
        if not isinstance(key, yaml.ScalarEvent):
            raise ValueError(f"it has a key that is no text at line {key.start_mark.line + 1}")
        if key.value in mapping:
            raise ValueError(f"it has {key.value!r} twice")
        mapping[key.value] = _read_value(next(events), events)
    return mapping


def _is_item(event):
    return not isinstance(event, yaml.SequenceEndEvent | yaml.MappingEndEvent)


def _parse_plain(word):
    if not NUMBER.fullmatch(word):
        return WORDS.get(word, word)
    if not math.isfinite(float(word)):
        raise ValueError(f"it holds {word}, which is no number")
    return int(word) if word.lstrip("+-").isdigit() else float(word)
