"""The words of a tagger: the parts of a text that are separated by white space, as Unicode defines it."""

import re

SPACES = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"  # the property White_Space
WORD = re.compile(f"[^{SPACES}]+")


def words(text):
    """`(start, end)` of each word of a string, in characters; the end is exclusive."""
    return [match.span() for match in WORD.finditer(text)]


def without_nul(text):
    """A text with NUL replaced by another control character, because NUL ends a text in TensorFlow's splitter."""
    return text.replace("\0", "\1")
