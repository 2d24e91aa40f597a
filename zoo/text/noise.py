"""Subword regularisation (Kudo 2018, arXiv:1804.10959) and token dropout.

A text is segmented differently every time.
"""

from collections.abc import Iterable

import numpy as np

from zoo.text.special import UNK
from zoo.text.tokenizer import Tokenizer


class SubwordNoise:
    """Spells each word in one of its l most probable ways, `P(x_i) ~ p(x_i)^alpha`, and hides some tokens.

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
