"""Marian's lexical shortlists, `lex.s2t`: which pieces of the target may be written for which pieces of the source.

A text has a line `target source p(target | source)` for each pair. A binary one has numbers of 64 bits: a magic one, a
checksum of what follows, how many first pieces of the vocabulary may always be written, how many a source piece has at
most, how many offsets and ids there are; the offsets, one more than source pieces; and the ids, of 32 bits. Read in
Marian's sources, data/shortlist.h and data/shortlist.cpp.
"""

import math
import struct
from array import array

import numpy as np

from zoo.pretrained.vocabulary import to_our_ids
from zoo.text.base import EOS

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
        owners, allowed, first = (_read_binary if binary else _read_text)(path, limits, *vocabularies)
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


def _read_binary(path, _, reads, writes):
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


def _read_text(path, limits, reads, writes):
    """As `_read_binary`. Of several lines of a pair the last one counts, of equal pieces the one with the larger id."""
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
