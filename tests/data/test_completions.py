"""Batches of prompts and completions."""

import numpy as np
import pytest

from zoo.data import Completions
from zoo.text import BOS, PAD

PROMPTS, COMPLETIONS = [[5], [6, 7, 8], []], [[9, 10], [11], [12, 13, 14]]


def test_only_completions_count():
    batches = Completions(PROMPTS, COMPLETIONS, batch_size=2, num_buckets=1, shuffle=False)
    first, second = batches
    assert batches.shapes == [(4,)] and batches.dropped == 0
    np.testing.assert_array_equal(first["token_ids"], [[BOS, 5, 9, PAD], [BOS, 6, 7, 8]])
    np.testing.assert_array_equal(first["labels"], [[5, 9, 10, PAD], [6, 7, 8, 11]])
    np.testing.assert_array_equal(first["weights"], [[0, 1, 1, 0], [0, 0, 0, 1]])
    np.testing.assert_array_equal(second["labels"], [[12, 13, 14, PAD], [PAD] * 4])
    np.testing.assert_array_equal(second["weights"], [[1, 1, 1, 0], [0] * 4])


def test_refuses_misuse():
    with pytest.raises(ValueError, match="1 prompts, 2 completions and 0 empty"):
        Completions([[5]], [[6], [7]], batch_size=1)
    with pytest.raises(ValueError, match="1 empty ones"):
        Completions([[5]], [[]], batch_size=1)
