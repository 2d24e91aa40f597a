"""What a piece looks like: its ends, its shape, whether it begins a word."""

import zlib

import numpy as np

SPACE = "▁"  # how SentencePiece writes the space before a word


def spelling_features(pieces, buckets):
    """`(features (pieces, 9), starts (pieces,))`, int32: hashes below `buckets`, and 1 where a piece begins a word.

    Features are the piece in lower case, its shape (a capital, small letters, digits; runs count once), and its first
    two, three and four and its last one to four characters, in lower case. Special pieces such as "</s>" begin a word,
    "<unk>" too, which may stand for a whole one.

    Args:
        pieces: list of strings, `Tokenizer.pieces`.
        buckets: number of hashes; features that share one share a vector.
    """
    features = [[zlib.crc32(name.encode()) % buckets for name in _features(piece)] for piece in pieces]
    starts = [piece.startswith(SPACE) or (piece.startswith("<") and piece.endswith(">")) for piece in pieces]
    return np.array(features, "int32"), np.array(starts, "int32")


def _features(piece):
    low = piece.lower()
    end = "^" + low.removeprefix(SPACE)
    starts = [f"starts {low[:count]}" for count in (2, 3, 4)]
    return [f"is {low}", f"looks {_shape(piece)}", *starts, *(f"ends {end[-count:]}" for count in (1, 2, 3, 4))]


def _shape(piece):
    shape = ""
    for sign in piece:
        kind = "X" if sign.isupper() else "x" if sign.islower() else "0" if sign.isdigit() else sign
        shape += kind if shape[-1:] != kind else ""
    return shape
