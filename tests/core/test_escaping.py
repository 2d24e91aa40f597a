"""Texts of others in each language: an independent parser reads back what was written, and finds no markup in it."""

import io
import json
import random
import sys
import unicodedata
import warnings
from html.parser import HTMLParser
from xml.etree import ElementTree

import markdown
import markdown_it
import pytest

from tests.hostile.strings import HOSTILE
from zoo.core.escaping import UNSAFE, in_figure, in_line, in_markdown, in_markdown_code, plain_stream
from zoo.core.storage import json_text


def drawn(count, alphabet, seed=1):
    """Texts of up to 12 characters of an alphabet, drawn at random."""
    draw = random.Random(seed)
    return ["".join(draw.choices(alphabet, k=draw.randrange(1, 13))) for _ in range(count)]


def test_what_is_unsafe_is_what_unicode_says():
    """All control characters, separators of lines and surrogates; of format characters those that turn a direction."""
    letters = map(chr, range(0x10000))
    unsafe = {each for each in letters if unicodedata.category(each) in ("Cc", "Zl", "Zp", "Cs")}
    unsafe |= {chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0xFFFE, 0xFFFF)}
    assert {each for each in map(chr, range(0x10000)) if UNSAFE.match(each)} == unsafe


@pytest.mark.parametrize("text", HOSTILE)
def test_a_line_is_one_line(text):
    line = in_line(text)
    assert line.splitlines() == [line] and not UNSAFE.search(line) and line.encode()
    assert in_line(line) == line


@pytest.mark.parametrize("text", ["Grüße, 你好 ... a_b C++ #1 50 % (x) 👩‍👧 نعم", 'it\'s \\ "quoted"'])
def test_plain_text_stays(text):
    assert in_line(text) == text and in_figure(text) == text


@pytest.mark.parametrize("text", HOSTILE)
def test_json_is_one_line_and_the_same_value(text):
    line = json_text({text: [text]})
    assert json.loads(line) == {text: [text]} and line.splitlines() == [line] and line.isascii() | bool(line.encode())


class Tags(HTMLParser):
    def __init__(self, html):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, *attributes))

    def handle_data(self, data):
        self.words.append(data)


# The readers of a site and of a forge: with the extensions of ours that add markup, and with tables and bare addresses.
SITE = markdown.Markdown(extensions="admonition attr_list md_in_html tables pymdownx.magiclink".split())
FORGE = markdown_it.MarkdownIt("commonmark").enable(["table", "strikethrough"])
READERS = {"site": lambda source: SITE.reset().convert(source), "forge": FORGE.render}


def read(reader, source):
    """Tags and words of what a reader of Markdown makes of a source."""
    return Tags(READERS[reader](source))


def squeezed(text):
    return " ".join(text.split())


MARKUP = "\\`*_{}[]()<>#+-.!|~$&;:=^ \n\"'ab1"


@pytest.mark.parametrize("reader", READERS)
def test_words_in_markdown_are_words(reader):
    """As a paragraph and in a table: the text itself, and no element but those around it."""
    for text in [*HOSTILE, *drawn(300, MARKUP)]:
        paragraph = read(reader, f"{in_markdown(text)}\n")
        assert [each[0] for each in paragraph.tags] == ["p"] * bool(text.split()), text
        assert squeezed("".join(paragraph.words)) == squeezed(in_line(squeezed(text)))
        table = read(reader, f"| a | b |\n|---|---|\n| {in_markdown(text)} | end |\n")
        assert [each[0] for each in table.tags] == "table thead tr th th tbody tr td td".split(), text


@pytest.mark.parametrize("reader", READERS)
def test_code_in_markdown_is_code(reader):
    for text in [*HOSTILE, *drawn(300, MARKUP)]:
        found = read(reader, f"- input: {in_markdown_code(f'x{text}')}\n")
        assert [each[0] for each in found.tags] == ["ul", "li", "code"], text
        assert "".join(found.words).strip() == f"input: x{in_line(text).replace('`', chr(39))}".strip()


def test_figures_show_texts_and_no_formulas():
    """An SVG is well-formed XML without scripts; the texts stand in comments, as matplotlib writes them."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 24), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([0, 1], [0, len(HOSTILE)], label=in_figure("_hidden"))
    axes.set_yticks(range(len(HOSTILE)), list(map(in_figure, HOSTILE)))
    assert [each.get_text().strip() for each in axes.legend().get_texts()] == ["_hidden"]
    held = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure.savefig(held, format="svg")
    tree = ElementTree.XML(held.getvalue(), ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True)))
    names = {each.tag.rpartition("}")[2] for each in tree.iter() if isinstance(each.tag, str)}
    comments = [each.text.strip().replace("\\$", "$") for each in tree.iter() if each.tag is ElementTree.Comment]
    assert not names & {"script", "image", "a", "foreignObject"} and "5 $" in comments and "$x^$" in str(comments)


def test_what_draws_reaches_the_stream_below():
    class Screen:
        plain = sys.__stderr__

    assert plain_stream(Screen()) is sys.__stderr__ and plain_stream(sys.__stdout__) is sys.__stdout__
