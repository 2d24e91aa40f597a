"""Vocabularies of others over our ids: PAD 0, UNK 1, BOS 2, EOS 3, and then theirs in their order."""

import struct

import numpy as np

from zoo.pretrained.reading import MOST
from zoo.text.base import BOS, EOS, PAD, UNK
from zoo.text.protobuf import field, fields, integer_field, read_integer

NORMAL, UNKNOWN, CONTROL, UNUSED = 1, 2, 3, 5  # kinds of pieces of SentencePiece
SPECIAL = {PAD: ("<pad>", CONTROL), UNK: ("<unk>", UNKNOWN), BOS: ("<s>", CONTROL), EOS: ("</s>", CONTROL)}
PIECES, TRAINER, NORMALIZER = 1, 2, 3  # fields of SentencePiece's ModelProto, and of its parts:
PIECE, SCORE, KIND = 1, 2, 3
CHARSMAP, MODEL_TYPE, UNIGRAM, BPE = 2, 3, 1, 2  # the latter two are values
VOCAB_SIZE, IDS, NAMES = 4, {UNK: 40, BOS: 41, EOS: 42, PAD: 43}, {UNK: 45, BOS: 46, EOS: 47, PAD: 48}
MOST_BYTES = 2**25  # of a model; those of a million pieces have 18 million
BELOW = 10.0  # an unknown character is less likely than the least likely piece, by so much


def our_ids(size, pad, unk, bos, eos):
    """For each id of ours the id that it has in the source, which has `size` of them.

    The four may be the same row, which then is copied; None is a row that nothing else has.

    Raises:
        ValueError: an id is outside of the vocabulary.
    """
    special_ids = [pad, unk, bos, eos]
    outside = [each for each in special_ids if each is not None and not (type(each) is int and 0 <= each < size)]
    if outside:
        raise ValueError(f"the special ids {special_ids} do not lie in a vocabulary of {size:,}: {outside[0]!r}")
    rest = [each for each in range(size) if each not in special_ids]
    if len(rest) < special_ids.count(None):
        raise ValueError(
            f"a vocabulary of {size:,} has no rows for the special ids {special_ids}, of which None needs its own"
        )
    free = iter(rest)
    chosen = [next(free) if each is None else each for each in special_ids]
    return np.array(chosen + [each for each in range(size) if each not in chosen])


def to_our_ids(ids, their_ids):
    """Ids of the source as ours, by `their_ids` for each of ours; what begins a target is our BOS."""
    our_id_of = np.zeros(their_ids.max() + 1, int)
    our_id_of[their_ids[::-1]] = np.arange(len(their_ids))[::-1]
    return our_id_of[ids]


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
    pieces = [None] * size
    for piece, number in vocabulary.items():
        if type(number) is not int or not 0 <= number < size:
            raise ValueError(f"{where}: the piece {piece!r} has the id {number!r}, and the network knows {size:,} ids.")
        if pieces[number] is not None:
            raise ValueError(f"{where}: the pieces {pieces[number]!r} and {piece!r} have one id, {number}.")
        pieces[number] = piece
    if None in pieces:
        raise ValueError(f"{where}: no piece has the id {pieces.index(None)}, and the network knows {size:,} ids.")
    return pieces


def pieces_of(model, where="the SentencePiece model"):
    """[(piece, score, kind)] of a serialised SentencePiece model.

    Raises:
        ValueError: it is none.
    """
    pieces = []
    try:
        if not 0 < len(model) <= MOST_BYTES:
            raise ValueError(f"it has {len(model):,} bytes; expected up to {MOST_BYTES:,}")
        for count, (number, _, body) in enumerate(fields(model), 1):
            if count > MOST:
                raise ValueError(f"it has more than {MOST:,} parts")
            if number == PIECES:
                parts = {part: content for part, _, content in fields(body)}
                score = struct.unpack("<f", parts.get(SCORE, bytes(4)))[0]
                kind = read_integer(parts[KIND]) if KIND in parts else NORMAL
                pieces.append((parts.get(PIECE, b"").decode("utf-8"), score, kind))
    except (ValueError, struct.error) as error:
        raise ValueError(f"{where} is no SentencePiece model: {error}") from error
    return pieces


def renumber(model, names, ids, control=(), where="the SentencePiece model"):
    """A SentencePiece model whose pieces have our ids.

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
    known = {piece: (score, kind) for piece, score, kind in pieces_of(model, where)}
    lowest = min((score for score, kind in known.values() if kind == NORMAL), default=0.0)
    table = {name: known.get(name, (lowest - BELOW, NORMAL if len(name) == 1 else UNUSED)) for name in names}
    table |= {name: (0.0, CONTROL) for name in control}
    pieces = [(piece, 0.0, kind) for piece, kind in SPECIAL.values()]
    pieces += [(names[old], *table[names[old]]) for old in ids[len(SPECIAL) :]]
    seen = set()
    for piece, _, _ in pieces:
        if piece in seen or not piece:
            raise ValueError(f"{where}: the piece {piece!r} is in the vocabulary twice, or empty.")
        seen.add(piece)
    parts = [_encode_pieces(pieces)]
    for number, part, body in fields(model):
        if number != PIECES:
            parts.append(field(TRAINER, _encode_trainer(body, len(pieces))) if number == TRAINER else part)
    return b"".join(parts)


def encode_model(pieces, merges, charsmap):
    """A serialised SentencePiece model of [(piece, score, kind)].

    Args:
        pieces: in the order of their ids.
        merges: whether pieces are merged by their scores, or a text has the best ones together.
        charsmap: the table of the normalisation; empty where there is none.
    """
    kind, table = integer_field(MODEL_TYPE, BPE if merges else UNIGRAM), field(CHARSMAP, charsmap)
    return _encode_pieces(pieces) + field(TRAINER, kind) + field(NORMALIZER, table)


def _encode_pieces(pieces):
    """Pieces as a SentencePiece model has them."""
    parts = [
        field(PIECE, piece.encode()) + struct.pack("<Bf", SCORE << 3 | 5, score) + integer_field(KIND, kind)
        for piece, score, kind in pieces
    ]
    return b"".join(field(PIECES, part) for part in parts)


def _encode_trainer(spec, size):
    """A TrainerSpec with our special ids."""
    ours = {VOCAB_SIZE, *IDS.values(), *NAMES.values()}
    parts = [part for number, part, _ in fields(spec) if number not in ours]
    parts += [integer_field(VOCAB_SIZE, size), *(integer_field(number, our) for our, number in IDS.items())]
    return b"".join(parts + [field(number, SPECIAL[our][0].encode()) for our, number in NAMES.items()])
