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


def duplication(
    count: int,
    length: int = 31,
    alphabet: str = string.ascii_letters,
    seed: int = 0,
) -> tuple[list[str], list[str]]:
    """`0w0` and `w`: to write the second half one must find the same place in the first (Kitaev et al. 2020).

    Symbols are uniform in the alphabet and stand without spaces.

    Args:
        count: number of sequences.
        length: symbols of `w`; the whole has `2 * length + 2`.
        alphabet: characters, the digit 0 not among them.
        seed: of the symbols.

    Returns:
        Prompts such as "0ab0" and completions such as "ab".
    """
    if "0" in alphabet:
        raise ValueError(f"The alphabet must not hold 0, which separates the halves; got {alphabet!r}.")
    words = ["".join(word) for word in _sequences(count, length, length, alphabet, seed)]
    return [f"0{word}0" for word in words], words


def _sequences(count, min_length, max_length, alphabet, seed) -> list[list[str]]:
    if not 1 <= min_length <= max_length:
        raise ValueError(f"Expected 1 <= min_length <= max_length; received {min_length} and {max_length}.")
    if not alphabet or any(symbol.isspace() for symbol in alphabet):
        raise ValueError(f"The alphabet must hold symbols that are not spaces; got {alphabet!r}.")
    random = np.random.default_rng(seed)
    lengths = random.integers(min_length, max_length + 1, size=count)
    symbols = random.integers(len(alphabet), size=(count, max_length))
    return [[alphabet[i] for i in row[:length]] for row, length in zip(symbols, lengths, strict=True)]
