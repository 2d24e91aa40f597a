"""Which pieces of a vocabulary end a sentence."""

import numpy as np

ENDS = (".", "?", "!")


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
