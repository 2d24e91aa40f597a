"""Windows of a running text, and batches of prompts and completions."""

import numpy as np
import pytest

from zoo.data import Completions, Windows
from zoo.text import BOS, PAD

TEXT = list(range(100, 193))  # 93 tokens, each once
PROMPTS, COMPLETIONS = [[5], [6, 7, 8], []], [[9, 10], [11], [12, 13, 14]]


def test_random_windows_are_cut_from_the_text():
    windows = Windows(TEXT, context=8, batch_size=3, seed=5)
    assert windows.steps_per_epoch == len(windows) == 4 and windows.shapes == [(8,)] and windows.dropped == 0
    starts = set()
    for step in range(200):
        batch = windows.batch(step)
        assert batch["token_ids"].shape == batch["labels"].shape == (3, 8)
        assert (batch["token_ids"][:, 0] == BOS).all() and (batch["weights"] == 1).all()
        np.testing.assert_array_equal(batch["token_ids"][:, 1:], batch["labels"][:, :-1])
        assert (np.diff(batch["labels"], axis=1) == 1).all()
        starts |= set(batch["labels"][:, 0].tolist())
    assert starts == set(range(100, 193 - 7))  # every place, and none beyond


def test_a_batch_depends_on_seed_and_step_alone():
    one, other = (Windows(TEXT, context=8, batch_size=3, seed=5) for _ in range(2))
    for step in (7, 0, 1000, 7):
        np.testing.assert_array_equal(one.batch(step)["labels"], other.batch(step)["labels"])
    third = Windows(TEXT, context=8, batch_size=3, seed=6)
    assert not np.array_equal(one.batch(0)["labels"], third.batch(0)["labels"])


@pytest.mark.parametrize("count", [88, 93, 96])
def test_consecutive_windows_predict_every_token_once(count):
    text = list(range(100, 100 + count))
    windows = Windows(text, context=8, batch_size=5, shuffle=False)
    labels, weights = (np.concatenate([batch[name] for batch in windows]) for name in ("labels", "weights"))
    assert labels[weights > 0].tolist() == text
    assert (labels[weights == 0] == PAD).all()
    assert {batch["token_ids"].shape for batch in windows} == {(5, 8)}
    np.testing.assert_array_equal(windows.batch(1)["labels"], windows.batch(1 + len(windows))["labels"])


def test_refuses_misuse():
    with pytest.raises(ValueError, match="93 tokens and is shorter than a window of context=94"):
        Windows(TEXT, context=94, batch_size=1)
    with pytest.raises(ValueError, match="must be positive; received 0 and 1"):
        Windows(TEXT, context=0, batch_size=1)
    with pytest.raises(ValueError, match="at least 0; received -1"):
        Windows(TEXT, context=8, batch_size=1).batch(-1)


def test_only_completions_count():
    batches = Completions(PROMPTS, COMPLETIONS, batch_size=2, num_buckets=1, shuffle=False)
    first, second = batches
    assert batches.shapes == [(4,)] and batches.dropped == 0
    np.testing.assert_array_equal(first["token_ids"], [[BOS, 5, 9, PAD], [BOS, 6, 7, 8]])
    np.testing.assert_array_equal(first["labels"], [[5, 9, 10, PAD], [6, 7, 8, 11]])
    np.testing.assert_array_equal(first["weights"], [[0, 1, 1, 0], [0, 0, 0, 1]])
    np.testing.assert_array_equal(second["labels"], [[12, 13, 14, PAD], [PAD] * 4])
    np.testing.assert_array_equal(second["weights"], [[1, 1, 1, 0], [0] * 4])


def test_completions_refuse_misuse():
    with pytest.raises(ValueError, match="1 prompts, 2 completions and 0 empty"):
        Completions([[5]], [[6], [7]], batch_size=1)
    with pytest.raises(ValueError, match="1 empty ones"):
        Completions([[5]], [[]], batch_size=1)
