"""Inputs for the parity check: several batch sizes and lengths, short rows, and ids other than 0 in the padding."""

import numpy as np

from zoo.text.special import EOS

BATCHES = (1, 5)
TIMES = (1, 2, 7, 33)
PADDINGS = ("full", "ragged", "foreign")
FIRST_WORD = EOS + 1


def grid(vocab_size, seed=0, most=None):
    """Cases of random ids for every batch size and time: rows without padding, short rows, and the same short rows with
    ids other than 0 in the padding, which must not change any result. No time is longer than `most`."""
    rng = np.random.default_rng(seed)
    for batch in BATCHES:
        for time in TIMES if most is None else sorted({min(time, most) for time in TIMES}):
            words = rng.integers(FIRST_WORD, vocab_size, (batch, time)).astype("int32")
            ragged = rng.integers(1, time + 1, batch).astype("int32")
            for padding in PADDINGS:
                lengths = np.full(batch, time, "int32") if padding == "full" else ragged
                inside = np.arange(time) < lengths[:, None]
                padded = (words + 1) % vocab_size if padding == "foreign" else 0
                yield {"token_ids": np.where(inside, words, padded).astype("int32"), "lengths": lengths}
