"""White space as Unicode defines it, and what cannot be in a text."""

SPACES = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"  # the property White_Space


def without_nul(text):
    """A text with NUL replaced by another control character, because NUL ends a text in TensorFlow's splitter."""
    return text.replace("\0", "\1")
