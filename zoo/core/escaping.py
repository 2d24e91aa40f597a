"""Texts of others, made harmless for the language that they are written into; imports no framework.

A label, a header, a file's name, a licence or a description may hold whatever its writer liked: line breaks, escape
sequences of terminals, marks that turn the direction of writing, markup. There is one function for each language. What
is plain text anyway is left as it is.

TOML is written by `zoo.recipes.toml` and JSON by `zoo.core.storage.json_text`: they call `in_line` for the characters
that their grammar allows and a reader of lines or a terminal does not.
"""

import html
import re
from typing import Protocol, TextIO, runtime_checkable

# Control characters, separators of lines and paragraphs, marks that override or isolate a direction of writing, and
# what no encoding or no XML has. Joiners and marks that scripts and emoji need are not among them.
UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
INLINE = re.compile(r"[\\`*{}\[\]<>|~$&]|(?<![^\W_])_|_(?![^\W_])")  # an underscore inside a word marks nothing
ENTITIES = "<>&|~$"  # which some readers of Markdown do not take after a backslash
AT_FIRST = re.compile(r"^(?:(?=[#+!-])|\d+(?=[.)](?:\s|$)))")  # before what makes a line a heading, a list or a block
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")
LONGEST = 60  # characters of a text in a figure


def in_line(text, keep=""):
    r"""A text in one line without characters that steer a terminal or end a line: they are written as JSON does.

    >>> from zoo.core.escaping import in_line
    >>> print(in_line("red\x1b[31m" + "\n" + "= 1"))
    red\u001b[31m\n= 1

    Args:
        text: any text; lone surrogates are written as escapes, too.
        keep: characters that stay as they are, such as the line breaks of several lines.
    """

    def escape(match):
        sign = match[0]
        return sign if sign in keep else NAMED.get(sign) or f"\\u{ord(sign):04x}"

    return UNSAFE.sub(escape, text)


def in_markdown(text):
    r"""A text as words in a line, a table's cell or a paragraph of Markdown: nothing of it is a link, markup or HTML.

    >>> from zoo.core.escaping import in_markdown
    >>> print(in_markdown("<b> [x](javascript:0) | multi_head"))
    &#60;b&#62; \[x\](javascript:0) &#124; multi_head
    """
    line = in_line(" ".join(text.split()))
    line = INLINE.sub(lambda match: f"&#{ord(match[0])};" if match[0] in ENTITIES else f"\\{match[0]}", line)
    return AT_FIRST.sub(r"\g<0>\\", line)


def in_markdown_code(text):
    """A text as a code span of Markdown, in a line; a grave accent in it is written as an apostrophe.

    >>> from zoo.core.escaping import in_markdown_code
    >>> in_markdown_code("a`b")
    "`a'b`"
    """
    return f"`{in_line(text).replace('`', chr(39))}`"


def in_html(text):
    """A text as words in HTML, or as the value of an attribute in quotes.

    >>> from zoo.core.escaping import in_html
    >>> in_html("<b> & 'c'")
    '&lt;b&gt; &amp; &#x27;c&#x27;'
    """
    return html.escape(in_line(text))


def in_cell(text):
    """A text in a cell of a table that Python's csv writes: an apostrophe stands before what would be a formula.

    >>> from zoo.core.escaping import in_cell
    >>> in_cell("=HYPERLINK(1)"), in_cell("a = b"), in_cell("-1.5")
    ("'=HYPERLINK(1)", 'a = b', '-1.5')
    """
    line = in_line(text)
    if NUMBER.fullmatch(line):
        return line
    return f"'{line}" if line.lstrip()[:1] in tuple("=+-@\uff1d\uff0b\uff0d\uff20") else line


def in_figure(text, longest=LONGEST):
    r"""A text in a figure of matplotlib: cut where it is long, a dollar sign begins no formula, and a legend shows it.

    >>> from zoo.core.escaping import in_figure
    >>> in_figure("$5 or $x^$")
    '\\$5 or \\$x^\\$'
    """
    line = in_line(text)
    line = line if len(line) <= longest else f"{line[: longest - 3]}..."
    return " " * line.startswith("_") + line.replace("$", r"\$")  # a legend leaves out what begins with _


@runtime_checkable
class Screened(Protocol):
    """A stream that escapes what is written to it (`seqzoo`'s standard output and error are such)."""

    plain: TextIO


def plain_stream(stream):
    """The stream for what draws on a terminal, and so must write escape sequences: the one below a `Screened` one."""
    return stream.plain if isinstance(stream, Screened) else stream
