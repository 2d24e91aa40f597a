"""Every file that a command has written, read by a parser that is not ours: it is well formed, and holds no markup."""

import csv
import io
import json
import tomllib
from html.parser import HTMLParser
from xml.etree import ElementTree

import markdown_it
import yaml

from zoo.core.escaping import UNSAFE

BINARY = ".mjs .keras .onnx .spm .npz .gz .pb .whl .parquet .png .index .lock .packed .sh".split()
ELEMENTS = {"script", "img", "iframe", "svg", "object", "style", "form", "link", "meta"}  # none of which is in a text


class Elements(HTMLParser):
    """The elements of a page, their attributes, and where its links lead."""

    def __init__(self, page):
        super().__init__()
        self.names, self.attributes, self.targets = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.names.append(tag)
        self.attributes += [name for name, _ in attributes]
        self.targets += [value or "" for name, value in attributes if name in ("href", "src")]


def check_lines(text):
    """What is printed, or a file of lines: no character that steers a terminal, or ends a line elsewhere."""
    found = UNSAFE.search(text.replace("\n", "").replace("\t", ""))
    assert not found, (found, text)


def check_markdown(text):
    check_lines(text)
    page = Elements(markdown_it.MarkdownIt("commonmark").enable("table").render(text))
    assert not ELEMENTS & set(page.names) and not [each for each in page.attributes if each.startswith("on")], text
    assert not [each for each in page.targets if not each.startswith(("http://", "https://", "#"))], page.targets


def check_svg(content):
    names = {each.tag.rpartition("}")[2] for each in ElementTree.fromstring(content).iter()}
    assert not names & {"script", "image", "a", "foreignObject"}


def check_json_lines(text):
    for line in text.splitlines():
        json.loads(line)


READERS = {
    ".toml": tomllib.loads,
    ".json": json.loads,
    ".jsonl": check_json_lines,
    ".csv": lambda text: list(csv.reader(io.StringIO(text))),
    ".md": check_markdown,
    ".txt": check_lines,
    ".log": check_lines,
    ".svg": check_svg,
    ".yaml": lambda text: list(yaml.safe_load_all(text)),
    ".yml": lambda text: list(yaml.safe_load_all(text)),
    ".html": Elements,
    ".js": check_lines,
    ".css": check_lines,
}


def check_folder(folder, but=()):
    """Parse every file below a folder; returns how many were read. Others are read as lines.

    Args:
        folder: where the commands wrote.
        but: names of files that the test itself wrote.
    """
    found = 0
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        ending = path.suffix.lower()
        if path.name in but or ending in BINARY or path.name.startswith(("variables.", "events.out", "tf_serving_")):
            continue
        try:
            text = path.read_bytes().decode()
        except UnicodeDecodeError as error:
            raise AssertionError(f"{path} is no UTF-8: {error}") from error
        READERS.get(ending, check_lines)(text)
        found += 1
    return found
