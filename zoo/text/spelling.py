"""Features of the spelling of a piece: its ends, its shape, whether it begins a word."""

import zlib

import numpy as np

ENDS = (".", "?", "!")
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


def sentence_ends(pieces: list[str]) -> np.ndarray:
    """1 for each piece that is a full stop, a question mark or an exclamation mark, else 0: (pieces,) int32.

    Raises:
        ValueError: there is none; words and marks must be pieces of their own ("bpe" and "unigram" see to it).
    """
    ends = np.array([piece.lstrip("▁") in ENDS for piece in pieces], "int32")
    if not ends.any():
        raise ValueError(
            f"No piece of the vocabulary ends a sentence: expected one of {', '.join(ENDS)}, received {len(pieces)} "
            'pieces without them. Learn the vocabulary with source_pieces = "bpe", and from texts that have them.'
        )
    return ends
