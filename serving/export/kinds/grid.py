"""Inputs for the parity check: several batch sizes and lengths, short rows, and ids other than 0 in the padding."""

import numpy as np

from zoo.text.base import EOS

BATCHES = (1, 5)
TIMES = (1, 2, 7, 33)
PADDINGS = ("full", "ragged", "foreign")
FIRST_WORD = EOS + 1


FEW = ((1, 1, ("full",)), (5, 7, ("foreign",)), (5, 33, ("ragged",)))  # of a large network


def grid(vocab_size, seed=0, most=None, few=False):
    """Cases of random ids for every batch size and time: rows without padding, short rows, and the same short rows with
    ids other than 0 in the padding, which must not change any result. No time is longer than `most`. With `few`
    there are three cases, one of each padding."""
    rng = np.random.default_rng(seed)
    times = TIMES if most is None else sorted({min(time, most) for time in TIMES})
    sizes = FEW if few else [(batch, time, PADDINGS) for batch in BATCHES for time in times]
    for batch, time, paddings in sizes:
        time = min(time, most or time)
        words = rng.integers(FIRST_WORD, vocab_size, (batch, time)).astype("int32")
        ragged = rng.integers(1, time + 1, batch).astype("int32")
        for padding in paddings:
            lengths = np.full(batch, time, "int32") if padding == "full" else ragged
            inside = np.arange(time) < lengths[:, None]
            padded = (words + 1) % vocab_size if padding == "foreign" else 0
            yield {"token_ids": np.where(inside, words, padded).astype("int32"), "lengths": lengths}
