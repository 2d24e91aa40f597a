"""Data that the zoo makes itself: dates written in many forms and languages, and sequences to turn or to repeat.

The forms of dates are those of the Unicode locale data (through babel) and some that people use besides.
Every text means one date only: years have four digits, and numbers separated by "/" always start
with the year, because 3/4/1999 is read in two ways.
"""

import hashlib
import random
import string
from datetime import date, timedelta

import numpy as np

SPLITS = ("train", "valid", "test")
FIRST, LAST = date(1900, 1, 1), date(2099, 12, 31)
LOCALES = ("en", "de", "fr", "es", "it", "pt", "nl", "ru", "pl", "tr", "zh", "ja", "ko")

# Beside what the locale data give; "#" is the ending of an ordinal number.
_NUMERIC = ("y-MM-dd", "y-M-d", "y/MM/dd", "y/M/d", "y.MM.dd", "dd.MM.y", "d.M.y", "d. M. y")
_MORE = {
    "en": (
        *("MMMM d#, y", "MMMM d# y", "MMMM d y", "MMM d y", "MMM d#, y", "EEEE, MMMM d#, y"),
        *("d MMMM y", "d# MMMM y", "d MMM y", "d-MMM-y", "EEEE d MMMM y", "EEE, d MMM y"),
        *("'the' d# 'of' MMMM y", "'the' d# 'of' MMMM, y", "EEEE 'the' d# 'of' MMMM y"),
        *("EEE, MMM d, y", "EEEE, d# MMMM y", "y MMMM d"),
    ),
    "de": ("d. MMM y", "d MMMM y", "'den' d. MMMM y", "EEEE, 'den' d. MMMM y", "EEEE, dd.MM.y"),
    "fr": ("d# MMMM y", "'le' d# MMMM y", "'le' EEEE d# MMMM y", "EEEE d# MMMM y"),
    "es": ("d MMMM y", "d 'de' MMMM 'del' y", "'el' d 'de' MMMM 'de' y", "EEEE d 'de' MMMM 'de' y"),
    "it": ("'il' d MMMM y", "EEEE, d MMMM y", "EEEE 'il' d MMMM y"),
    "pt": ("d MMMM y", "d MMM y", "'em' d 'de' MMMM 'de' y", "d 'de' MMMM y"),
    "nl": ("'de' d MMMM y", "EEE d MMM y", "d-M-y"),
    "ru": ("d MMMM y", "d MMMM y 'года'", "EEEE, d MMMM y 'года'"),
    "pl": ("d MMMM y 'r.'", "d MMMM y 'roku'", "'dnia' d MMMM y"),
    "tr": ("d MMMM EEEE y", "d MMMM y, EEEE"),
    "zh": ("y年MM月dd日", "y年M月d日 EEEE", "y 年 M 月 d 日", "y年MMMMd日"),
    "ja": ("y年MM月dd日", "y年M月d日 (E)"),
    "ko": ("y년 M월 d일 (E)", "y년M월d일", "y. MM. dd."),
}
_CASES = ("written", "written", "written", "lower", "upper")


def dates(split: str, count: int, seed: int = 0) -> tuple[list[str], list[str]]:
    """Draws written dates and their ISO forms.

    The splits share no date: the hash of the ISO form gives 90 % of the days from 1900 to 2099 to
    "train" and 5 % each to "valid" and "test". The same arguments give the same result in every
    process, and fewer examples are a prefix of more.

    Args:
        split: "train", "valid" or "test".
        count: number of examples; no text occurs twice.
        seed: of the choice of dates, forms and of the case of the letters.

    Returns:
        Sources such as "the 3rd of March 1999" and targets such as "1999-03-03".

    Raises:
        ValueError: if the split is unknown or has fewer than `count` texts.
        ImportError: if babel is not installed.
    """
    if split not in SPLITS:
        raise ValueError(f"split must be one of {SPLITS}; received {split!r}.")
    days, forms = _days(split), _forms()
    most = len(days) * len(forms) // 2  # beyond this, new texts are slow to find
    if not 0 <= count <= most:
        raise ValueError(f"count must lie in [0, {most}] for the {split} split; received {count}.")
    choose = random.Random(f"{split} {seed}").choice
    examples = {}
    while len(examples) < count:
        day = choose(days)
        examples.setdefault(_draw(day, forms, choose), day.isoformat())
    return list(examples), list(examples.values())


def date_pairs(split: str, count: int, seed: int = 0) -> tuple[list[tuple[str, str]], list[str]]:
    """Draws pairs of written dates, each in a form and language of its own, and how the first lies to the second.

    A third of the pairs are the same day written in two ways. The splits share no date, as those of `dates`.

    Args:
        split: "train", "valid" or "test".
        count: number of pairs; none occurs twice.
        seed: of the choice of dates, forms and of the case of the letters.

    Returns:
        Pairs such as ("3 March 1999", "1999年3月4日"), and "earlier", "later" or "same".

    Raises:
        ValueError: if the split is unknown, or the count is negative.
        ImportError: if babel is not installed.
    """
    if split not in SPLITS or count < 0:
        raise ValueError(f"Expected one of the splits {SPLITS} and a count of at least 0; got {split!r} and {count}.")
    days, forms = _days(split), _forms()
    choose = random.Random(f"pairs {split} {seed}").choice
    pairs = {}
    while len(pairs) < count:
        first, second = choose(days), choose(days)
        second = first if len(pairs) % 3 == 0 else second
        texts = [_draw(day, forms, choose) for day in (first, second)]
        if texts[0] != texts[1]:
            pairs.setdefault(tuple(texts), "same" if first == second else "earlier" if first < second else "later")
    return list(pairs), list(pairs.values())


def _draw(day: date, forms: list[tuple], choose) -> str:
    """The day in a form and case that `choose` chooses."""
    form, case = choose(forms), choose(_CASES)
    return _recase(_write(day, form), form[0], case)


def _days(split: str) -> list[date]:
    days = (FIRST + timedelta(i) for i in range((LAST - FIRST).days + 1))
    return [day for day in days if _split_of(day) == split]


def _split_of(day: date) -> str:
    digest = hashlib.blake2b(day.isoformat().encode(), digest_size=8).digest()
    return {0: "test", 1: "valid"}.get(int.from_bytes(digest, "big") % 20, "train")


def _forms() -> list[tuple]:
    """(locale, pattern) of every form, each numeric pattern once."""
    try:
        from babel import Locale
        from babel.dates import parse_pattern
    except ImportError as error:
        raise ImportError(
            "The dates data set needs babel, which gives the names of months and days. "
            "Install it with: pip install babel, or pip install 'seqzoo[train]'."
        ) from error
    forms = [("en", pattern) for pattern in _NUMERIC]
    for language in LOCALES:
        own = Locale(language).date_formats
        patterns = (str(own[size].pattern) for size in ("short", "medium", "long", "full"))
        patterns = (*filter(_is_plain, patterns), *_MORE[language])
        forms += [(language if ("MMM" in p or "E" in p) else "en", p.replace("yy", "y")) for p in patterns]
    return [(Locale(language), parse_pattern(p)) for language, p in dict.fromkeys(forms)]


def _is_plain(pattern: str) -> bool:
    """Whether a pattern of the locale data means one date only, written with a four-digit year."""
    return "/" not in pattern or pattern.startswith("y")


def _write(day: date, form: tuple) -> str:
    locale, pattern = form
    return pattern.apply(day, locale).replace("#", _ordinal(day.day, locale.language))


def _ordinal(number: int, language: str) -> str:
    if language == "fr":
        return "er" if number == 1 else ""
    return "th" if 11 <= number <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")


def _recase(text: str, locale, case: str) -> str:
    if case == "upper":
        return (text.replace("i", "İ") if locale.language == "tr" else text).upper()
    return text.lower() if case == "lower" else text


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
    generator = np.random.default_rng(seed)
    lengths = generator.integers(min_length, max_length + 1, size=count)
    symbols = generator.integers(len(alphabet), size=(count, max_length))
    return [[alphabet[i] for i in row[:length]] for row, length in zip(symbols, lengths, strict=True)]
