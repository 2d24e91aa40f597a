"""What a command prints, without the control characters of others: they are shown as JSON writes them."""

import contextlib
import itertools
import sys

LINES = "\n\t"  # what the lines and columns of an output are made of


def escape(text, keep=""):
    """What `zoo.core.escaping.in_line` returns; `zoo` is imported only for a text that is not plain."""
    rest = text
    for each in keep:
        rest = rest.replace(each, "")
    if rest.isprintable():
        return text
    from zoo.core import escaping

    return escaping.in_line(text, keep)


def log(line):
    """Write a line about the progress of a command to standard error, at once."""
    print(line, file=sys.stderr, flush=True)


def aligned(rows, right=()):
    """Rows of cells as lines with columns two spaces apart; those whose numbers are in `right` end at the same place.

    >>> from seqzoo.screen import aligned
    >>> aligned([("run", "steps"), ("first", "7")], right=[1])
    ['run    steps', 'first      7']
    """
    widths = [max(map(len, column)) for column in itertools.zip_longest(*rows, fillvalue="")]
    cells = ([(cell.rjust if n in right else cell.ljust)(widths[n]) for n, cell in enumerate(row)] for row in rows)
    return ["  ".join(row).rstrip() for row in cells]


class Screen:
    """A stream of text that escapes what is written to it, but for the ends of lines and tabs.

    A label or an answer of a stranger's model can so neither steer a terminal nor hide what follows it. A carriage
    return at the beginning is left, which draws a line of progress again.

    Args:
        plain: the stream below.
    """

    def __init__(self, plain):
        self.plain = plain

    def write(self, text):
        start = text[:1] == "\r"
        self.plain.write(text[:start] + escape(text[start:], LINES))
        return len(text)

    def __getattr__(self, name):
        return getattr(self.plain, name)


@contextlib.contextmanager
def screen_output():
    """A context in which standard output and standard error are `Screen`s."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (each and Screen(each) for each in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
