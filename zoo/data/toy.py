"""Synthetic tasks that show what a model can attend to."""

import string

import numpy as np


def reversal(
    count: int,
    min_length: int = 3,
    max_length: int = 12,
    alphabet: str = string.ascii_lowercase,
    seed: int = 0,
) -> tuple[list[str], list[str]]:
    """Sequences and their reversals: target position j depends on source position n - 1 - j alone.

    Lengths are uniform in [min_length, max_length], symbols uniform in the alphabet.

    Returns:
        `count` sources and targets, symbols separated by spaces: "a c b" and "b c a".
    """
    sequences = _sequences(count, min_length, max_length, alphabet, seed)
    return [" ".join(s) for s in sequences], [" ".join(s[::-1]) for s in sequences]


def _sequences(count, min_length, max_length, alphabet, seed) -> list[list[str]]:
    if not 1 <= min_length <= max_length:
        raise ValueError(f"Expected 1 <= min_length <= max_length; received {min_length} and {max_length}.")
    if not alphabet or any(symbol.isspace() for symbol in alphabet):
        raise ValueError(f"The alphabet must hold symbols that are not spaces; got {alphabet!r}.")
    random = np.random.default_rng(seed)
    lengths = random.integers(min_length, max_length + 1, size=count)
    symbols = random.integers(len(alphabet), size=(count, max_length))
    return [[alphabet[i] for i in row[:length]] for row, length in zip(symbols, lengths, strict=True)]
