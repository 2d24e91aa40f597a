"""How pieces and words are spelt: features of a piece, the marks that end sentences, and other spellings as a noise."""

import zlib
from collections.abc import Iterable

import numpy as np

from zoo.text.base import UNK
from zoo.text.tokenizer import Tokenizer

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


class SubwordNoise:
    """Spells each word in one of its l most probable ways, `P(x_i) ~ p(x_i)^alpha`, and hides some tokens.

    So a text is segmented differently every time: subword regularisation (Kudo 2018, arXiv:1804.10959) and token
    dropout.

    SentencePiece can sample, too, but from one generator of the whole process. Here all randomness comes from the
    generator that is passed, so that a batch can be a pure function of a seed and a step.

    Args:
        tokenizer: a unigram tokenizer; others spell a word in one way only.
        words: the words of the corpus; other words keep their spelling.
        candidates: l; 1 keeps the spelling.
        alpha: 1 follows the model, 0 takes all candidates alike.
        dropout: probability of each token to become UNK.
        growth: how much longer than its most probable spelling a sentence may become.

    Raises:
        ValueError: a number is out of its range.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        words: Iterable[str],
        *,
        candidates: int = 8,
        alpha: float = 0.3,
        dropout: float = 0.0,
        growth: float = 1.25,
    ):
        if candidates < 1 or alpha < 0 or not 0 <= dropout < 1 or growth < 1:
            raise ValueError(
                "Expected candidates >= 1, alpha >= 0, dropout in [0, 1) and growth >= 1; received "
                f"{candidates}, {alpha}, {dropout} and {growth}."
            )
        self.dropout, self.growth = dropout, growth if candidates > 1 else 1.0
        self._ways = {}  # by the most probable spelling: all of them, and their cumulated probabilities
        for word in set(words) if candidates > 1 else ():
            ways, scores = zip(*tokenizer.segmentations(word, candidates), strict=True)
            if len(ways) > 1:
                weights = np.exp(alpha * (np.array(scores) - max(scores)))
                self._ways[tuple(ways[0])] = ways, np.cumsum(weights / weights.sum())

    def __call__(self, sentence: list[list[int]], room: int, random: np.random.Generator) -> list[list[int]]:
        """Another form of a sentence, given and returned as the token ids of each word.

        Args:
            sentence: the most probable spelling of each word, which fits the room.
            room: the most tokens that the result may have.
            random: the generator of all random choices.
        """
        drawn = [self._draw(word, number) for word, number in zip(sentence, random.random(len(sentence)), strict=True)]
        excess = sum(map(len, drawn)) - room
        for index in random.permutation(len(sentence)) if excess > 0 else ():
            excess -= len(drawn[index]) - len(sentence[index])
            drawn[index] = sentence[index]
            if excess <= 0:
                break
        if not self.dropout:
            return drawn
        return [[UNK if random.random() < self.dropout else token for token in word] for word in drawn]

    def _draw(self, word, number):
        ways, cumulated = self._ways.get(tuple(word), ((word,), None))
        return ways[0] if cumulated is None else ways[min(int(np.searchsorted(cumulated, number)), len(ways) - 1)]
