"""A model of the step protocol that is a table: what it says depends on the whole prefix, and on nothing of the zoo.

The state is a hash of the prefix that has no collisions for the lengths in use, so every prefix has
logits of its own, and a search that loses track of which state belongs to which beam is found out.
"""

import itertools
import math

import numpy as np
from keras import ops

from zoo.core.tensors import gather_beams

BOS, EOS, PAD = 2, 3, 0


class Table:
    """`memory = {"logits": (batch, prefixes, vocabulary)}`; prefixes number as base-`vocabulary` digits."""

    def __init__(self, vocabulary, max_length):
        self.vocabulary = vocabulary
        self.prefixes = sum(vocabulary**length for length in range(max_length + 1)) + 1

    def random(self, batch, seed, scale=2.0):
        size = (batch, self.prefixes, self.vocabulary)
        return {"logits": np.random.default_rng(seed).normal(0, scale, size).astype("float32")}

    def start(self, memory, beams, max_length=None):
        shape = (ops.shape(memory["logits"])[0], beams)
        return ops.full(shape, BOS, dtype="int32"), {"prefix": ops.zeros(shape, dtype="int32")}

    def step(self, token_ids, state, memory):
        # Before BOS the prefix is 0; BOS makes it 1 and token v makes it prefix * vocabulary + v - (vocabulary - 2).
        first = state["prefix"] == 0
        grown = state["prefix"] * self.vocabulary + token_ids - (self.vocabulary - 2)
        prefix = ops.where(first, ops.ones_like(grown), grown)
        logits = ops.take_along_axis(memory["logits"], prefix[:, :, None], axis=1)
        return logits, {"prefix": prefix}

    def reorder(self, state, parents):
        return gather_beams(state, parents)

    def number(self, tokens):
        prefix = 1
        for token in tokens:
            prefix = prefix * self.vocabulary + token - (self.vocabulary - 2)
        return prefix

    def log_probs(self, row, tokens):
        """`log p(. | tokens)` in float64; `row` is one sentence's table."""
        logits = row[self.number(tokens)].astype("float64")
        return logits - np.log(np.exp(logits - logits.max()).sum()) - logits.max()


def penalty(length, alpha):
    """GNMT's lp by hand: ((5 + |Y|) / (5 + 1))^alpha."""
    return math.pow(5 + length, alpha) / math.pow(6, alpha)


def log_prob(table, row, tokens):
    return sum(table.log_probs(row, tokens[:i])[token] for i, token in enumerate(tokens))


def everything(table, row, max_length, alpha):
    """All outputs best first: those that end by score, then those that `max_length` cuts off by score."""
    words = [token for token in range(table.vocabulary) if token != EOS]
    ended, cut = [], []
    for length in range(max_length):
        for tokens in itertools.product(words, repeat=length):
            score = log_prob(table, row, (*tokens, EOS)) / penalty(length + 1, alpha)
            ended.append((tokens, score))
    for tokens in itertools.product(words, repeat=max_length):
        cut.append((tokens, log_prob(table, row, tokens) / penalty(max_length, alpha)))
    return [one for part in (ended, cut) for one in sorted(part, key=lambda item: -item[1])]


def search(
    table,
    row,
    max_length,
    beams,
    alpha,
    changed=lambda tokens, gains: gains,
    added=lambda tokens: 0.0,
    over=lambda length, alive, ended: False,
):
    """Beam search in plain Python, which always goes on to `max_length`: leaving early may change nothing.

    `changed(tokens, log_probs)` is what rules make of the log-probabilities behind `tokens`; -inf is never taken.
    `added(tokens)` is added to the score of a whole output, EOS included where it has ended. `over(length, alive,
    ended)` says, before the last step, whether what has ended is all.
    """
    alive, ended = [((), 0.0)], []
    for length in range(1, max_length + 1):
        grown = [
            ((*tokens, token), total + gain)
            for tokens, total in alive
            for token, gain in enumerate(changed(tokens, table.log_probs(row, tokens)))
            if gain > -math.inf
        ]
        grown = sorted(grown, key=lambda item: -item[1])[: 2 * beams]
        new = [(tokens, total) for tokens, total in grown if tokens[-1] == EOS]
        ended += [(tokens[:-1], total / penalty(len(tokens), alpha) + added(tokens)) for tokens, total in new]
        ended = sorted(ended, key=lambda item: -item[1])[:beams]
        alive = [item for item in grown if item[0][-1] != EOS][:beams]
        if length < max_length and over(length, alive, ended):
            return ended
    cut = [(tokens, total / penalty(max_length, alpha) + added(tokens)) for tokens, total in alive]
    return (ended + sorted(cut, key=lambda item: -item[1]))[:beams]


def rows_of(found):
    """`(token_ids, lengths, scores)` as, for each row, a list of `(tokens, score)`."""
    ids, lengths, scores = (ops.convert_to_numpy(one) for one in found)
    for row in range(ids.shape[0]):
        for slot in range(ids.shape[1]):
            assert not np.any(ids[row, slot, lengths[row, slot] :] != PAD)
    return [
        [
            (tuple(int(token) for token in ids[row, slot, : lengths[row, slot]]), scores[row, slot])
            for slot in range(ids.shape[1])
        ]
        for row in range(ids.shape[0])
    ]


def assert_same(received, expected):
    assert [tokens for tokens, _ in received] == [tokens for tokens, _ in expected]
    np.testing.assert_allclose([score for _, score in received], [score for _, score in expected], atol=2e-5)
