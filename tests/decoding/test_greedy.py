"""Greedy decoding is the argmax of every step."""

import numpy as np
import pytest

from tests.decoding.table import EOS, Table, assert_same, log_prob, rows_of
from zoo.decoding import greedy

TABLE = Table(vocabulary=5, max_length=5)


def by_hand(row, max_length):
    tokens = ()
    while len(tokens) < max_length:
        token = int(np.argmax(TABLE.log_probs(row, tokens)))
        if token == EOS:
            return tokens, log_prob(TABLE, row, (*tokens, EOS))
        tokens += (token,)
    return tokens, log_prob(TABLE, row, tokens)


@pytest.mark.parametrize("max_length", [1, 2, 5])
def test_is_the_argmax_of_every_step(max_length):
    memory = TABLE.random(batch=100, seed=2)
    found = rows_of(greedy(TABLE, memory, max_length))
    expected = [by_hand(row, max_length) for row in memory["logits"]]
    assert_same([received[0] for received in found], expected)
    assert {len(tokens) for tokens, _ in expected} == set(range(max_length + 1)), "lengths vary"


def test_rows_do_not_know_each_other():
    memory = TABLE.random(batch=7, seed=3)
    together = greedy(TABLE, memory, 5)
    for row in range(7):
        alone = greedy(TABLE, {"logits": memory["logits"][row : row + 1]}, 5)
        for one, other in zip(alone, together, strict=True):
            np.testing.assert_allclose(one[0], other[row], rtol=1e-6)


def test_ties_go_to_the_lowest_id():
    memory = {"logits": np.zeros((1, TABLE.prefixes, 5), "float32")}
    memory["logits"][:, :, :2] = -1.0
    ((received,),) = rows_of(greedy(TABLE, memory, 4))
    assert received[0] == (2, 2, 2, 2)


@pytest.mark.parametrize("max_length", [0, -1, 3.0])
def test_max_length_is_checked(max_length):
    with pytest.raises(ValueError, match=f"max_length must be a positive integer.*{max_length}"):
        greedy(TABLE, TABLE.random(1, 1), max_length)
