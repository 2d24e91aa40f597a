"""Vocabularies of others over our ids: PAD 0, UNK 1, BOS 2, EOS 3, and then theirs in their order."""

import struct

import numpy as np

from zoo.text.protobuf import field, fields, integer_field, read_integer
from zoo.text.special import BOS, EOS, PAD, UNK

NORMAL, UNKNOWN, CONTROL, UNUSED = 1, 2, 3, 5  # kinds of pieces of SentencePiece
SPECIAL = {PAD: ("<pad>", CONTROL), UNK: ("<unk>", UNKNOWN), BOS: ("<s>", CONTROL), EOS: ("</s>", CONTROL)}
PIECES, TRAINER, NORMALIZER = 1, 2, 3  # fields of SentencePiece's ModelProto, and of its parts:
PIECE, SCORE, KIND = 1, 2, 3
CHARSMAP, MODEL_TYPE, UNIGRAM, BPE = 2, 3, 1, 2  # the latter two are values
VOCAB_SIZE, IDS, NAMES = 4, {UNK: 40, BOS: 41, EOS: 42, PAD: 43}, {UNK: 45, BOS: 46, EOS: 47, PAD: 48}
BELOW = 10.0  # an unknown character is less likely than the least likely piece, by so much


def our_ids(size, pad, unk, bos, eos):
    """For each id of ours the id that it has in the source, which has `size` of them.

    The four may be the same row, which then is copied; None is a row that nothing else has.

    Raises:
        ValueError: an id is outside of the vocabulary.
    """
    given = [pad, unk, bos, eos]
    wrong = [each for each in given if each is not None and not (type(each) is int and 0 <= each < size)]
    if wrong:
        raise ValueError(f"the special ids {given} do not lie in a vocabulary of {size:,}: {wrong[0]!r}")
    rest = [each for each in range(size) if each not in given]
    if len(rest) < given.count(None):
        raise ValueError(
            f"a vocabulary of {size:,} has no rows for the special ids {given}, of which None needs its own"
        )
    free = iter(rest)
    special = [next(free) if each is None else each for each in given]
    return np.array(special + [each for each in range(size) if each not in special])


def ours(ids, theirs):
    """Ids of the source as ours, of `theirs` for each of ours; what begins a target is our BOS."""
    new = np.zeros(theirs.max() + 1, int)
    new[theirs[::-1]] = np.arange(len(theirs))[::-1]
    return new[ids]


def with_start(size, pad, unk, first, eos, lost=0):
    """(ids, order) where our BOS is a copy of the row that a decoder starts with, which keeps an id of its own.

    Args:
        size, pad, unk, eos: as of `our_ids`.
        first: the row that is copied.
        lost: copies of the unknown row, which come last.

    Returns:
        ids as of `our_ids`, and the same where copies have numbers from `size` on.
    """
    order = our_ids(size + 1 + lost, pad, unk, size, eos)
    our_ids(size, pad, unk, first, eos)  # refuses what lies outside
    return np.array([*range(size), first, *[unk] * lost])[order], order


def names_by_id(vocabulary, size, where):
    """The pieces of `{piece: id}` in the order of their ids.

    Raises:
        ValueError: an id is missing, outside, or stands for two pieces.
    """
    found = [None] * size
    for piece, number in vocabulary.items():
        if type(number) is not int or not 0 <= number < size:
            raise ValueError(f"{where}: the piece {piece!r} has the id {number!r}, and the network knows {size:,} ids.")
        if found[number] is not None:
            raise ValueError(f"{where}: the pieces {found[number]!r} and {piece!r} have one id, {number}.")
        found[number] = piece
    if None in found:
        raise ValueError(f"{where}: no piece has the id {found.index(None)}, and the network knows {size:,} ids.")
    return found


def pieces_of(model, where="the SentencePiece model"):
    """[(piece, score, kind)] of a serialised SentencePiece model.

    Raises:
        ValueError: it is none.
    """
    found = []
    try:
        for number, _, body in fields(model):
            if number == PIECES:
                parts = {part: content for part, _, content in fields(body)}
                score = struct.unpack("<f", parts.get(SCORE, bytes(4)))[0]
                kind = read_integer(parts[KIND]) if KIND in parts else NORMAL
                found.append((parts.get(PIECE, b"").decode("utf-8"), score, kind))
    except (ValueError, struct.error) as error:
        raise ValueError(f"{where} is no SentencePiece model: {error}") from error
    return found


def rewritten(model, names, ids, control=(), where="the SentencePiece model"):
    """A SentencePiece model over our ids.

    Texts are split by the model, and its pieces are then looked up in a vocabulary that may have others, too: a single
    character of these is as likely as an unknown one, and a longer piece is never taken from a text.

    Args:
        model: serialised.
        names: the pieces of the vocabulary by the source's ids.
        ids: as of `our_ids`.
        control: pieces that no text has, such as the names of languages.
        where: the file, for messages.

    Raises:
        ValueError: it is no such model, or two pieces are equal.
    """
    own = {piece: (score, kind) for piece, score, kind in pieces_of(model, where)}
    others = [(number, part, body) for number, part, body in fields(model) if number != PIECES]
    lowest = min((score for score, kind in own.values() if kind == NORMAL), default=0.0)
    table = {name: own.get(name) or _strange(name, lowest) for name in names}
    table |= {name: (0.0, CONTROL) for name in control}
    mine = [(piece, 0.0, kind) for piece, kind in SPECIAL.values()]
    mine += [(names[old], *table[names[old]]) for old in ids[len(SPECIAL) :]]
    seen = set()
    for piece, _, _ in mine:
        if piece in seen or not piece:
            raise ValueError(f"{where}: the piece {piece!r} is in the vocabulary twice, or empty.")
        seen.add(piece)
    parts = [field(TRAINER, _trainer(body, len(mine))) if number == TRAINER else part for number, part, body in others]
    return _pieces(mine) + b"".join(parts)


def _strange(name, lowest):
    """(score, kind) of a piece that the model does not know."""
    return lowest - BELOW, NORMAL if len(name) == 1 else UNUSED


def written(pieces, merges, charsmap):
    """A SentencePiece model of [(piece, score, kind)].

    Args:
        pieces: in the order of their ids.
        merges: whether pieces are merged by their scores, or a text has the best ones together.
        charsmap: the table of the normalisation; empty where there is none.
    """
    kind, table = integer_field(MODEL_TYPE, BPE if merges else UNIGRAM), field(CHARSMAP, charsmap)
    return _pieces(pieces) + field(TRAINER, kind) + field(NORMALIZER, table)


def _pieces(pieces):
    """Pieces as a SentencePiece model has them."""
    return b"".join(
        field(
            PIECES, field(PIECE, piece.encode()) + struct.pack("<Bf", SCORE << 3 | 5, score) + integer_field(KIND, kind)
        )
        for piece, score, kind in pieces
    )


def _trainer(spec, size):
    """A TrainerSpec with our special ids."""
    ours = {VOCAB_SIZE, *IDS.values(), *NAMES.values()}
    kept = b"".join(part for number, part, _ in fields(spec) if number not in ours)
    ids = b"".join(integer_field(number, our) for our, number in IDS.items())
    return (
        kept
        + integer_field(VOCAB_SIZE, size)
        + ids
        + b"".join(field(number, SPECIAL[our][0].encode()) for our, number in NAMES.items())
    )
