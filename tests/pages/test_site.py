"""The site: its links and anchors resolve, nothing of it comes from elsewhere, and its search answers questions."""

import json
import os
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.house_rules import ROOT
from tests.shared import NODE

HERE = Path(__file__).parent
QUESTIONS = {  # what a reader asks -> the page that answers
    "How do I train on my CSV?": "tasks/classify.html",
    "Which file do I give to TF Serving?": "deploy.html",
    "What does this layer cost?": "zoo/index.html",
    "How do I translate German to English?": "tasks/translate.html",
    "Which formats of data can be read?": "data.html",
    "How do I write my own attention layer?": "own-layers.html",
    "How do I use several GPUs?": "devices.html",
    "How do I continue an interrupted training?": "training.html",
    "How do I fine-tune a model?": "training.html",
    "What is a BLEU score?": "scores.html",
    "How do I compare two models?": "scores.html",
    "How do I use a model with Keras fit and callbacks?": "inside-keras.html",
    "Why is there a training loop beside fit?": "decisions.html",
    "How do I run a model without TensorFlow?": "index.html",
    "How do I answer a large file?": "corpus.html",
    "How long may a text be?": "serving.html",
    "How do I tag names in sentences?": "tasks/tag.html",
    "Why does attention need positions?": "questions/positions.html",
    "Why divide by the square root of d?": "questions/scale.html",
    "What does a gate do?": "questions/gates.html",
    "How do I publish a model?": "publishing.html",
    "Is it safe to load a model of a stranger?": "security.html",
    "What are the arguments of MultiHeadAttention?": "api/zoo.attention.html",
}


class Read(HTMLParser):
    """The anchors of a page, and what it refers to."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        own = dict(attributes)
        self.anchors |= {own[name] for name in ("id", "name") if own.get(name)}
        if tag == "a" and own.get("href") is not None:
            self.links.append(own["href"])
        if own.get("src"):
            self.loaded.append(own["src"])
        if tag == "link" and own.get("href") and own.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(own["href"])


@pytest.fixture(scope="module")
def pages(site):
    return {path: Read(path) for path in site.rglob("*.html") if path.name != "404.html"}


def broken(pages):
    """(page, link) for each link inside the site that leads nowhere."""
    for path, page in pages.items():
        for link in page.links + page.loaded:
            if re.match(r"[a-z][a-z0-9+.-]*:", link):  # of another place
                continue
            file, _, anchor = unquote(link).partition("#")
            target = Path(os.path.normpath(path.parent / file.partition("?")[0])) if file else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file() or (anchor and target in pages and anchor not in pages[target].anchors):
                yield path.name, link


@pytest.mark.slow
def test_every_link_and_anchor_leads_somewhere(pages):
    assert len(pages) > 80 and sum(len(page.links) for page in pages.values()) > 5_000
    assert not sorted(set(broken(pages)))


def test_a_broken_link_is_found(tmp_path):
    (tmp_path / "a.html").write_text('<h1 id="top">A</h1><a href="b.html#here">b</a><a href="#top">a</a>')
    (tmp_path / "b.html").write_text('<a href="c.html">c</a><a href="a.html#low">a</a><a href="https://x.org">x</a>')
    found = broken({path: Read(path) for path in tmp_path.glob("*.html")})
    assert sorted(found) == [("a.html", "b.html#here"), ("b.html", "a.html#low"), ("b.html", "c.html")]


@pytest.mark.slow
def test_nothing_comes_from_elsewhere(pages):
    loaded = {link for page in pages.values() for link in page.loaded}
    assert not [link for link in loaded if re.match(r"(https?:)?//", link)]


@pytest.mark.slow
def test_every_page_of_the_checkout_is_there(site):
    for page in ROOT.glob("docs/**/*.md"):
        own = page.relative_to(ROOT / "docs").with_suffix(".html")
        assert (site / (own.with_name("index.html") if own.stem == "README" else own)).is_file(), own


@pytest.mark.slow
def test_the_first_page_that_the_search_gives_answers(site):
    """The very worker of the site's search is asked, in Node."""
    (worker,) = site.glob("assets/javascripts/workers/search.*.min.js")
    ask = [NODE, str(HERE / "search.cjs"), str(worker), str(site / "search" / "search_index.json"), *QUESTIONS]
    done = subprocess.run(ask, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    wrong = {question: pages[:3] for question, pages in found.items() if pages[:1] != [QUESTIONS[question]]}
    assert len(QUESTIONS) >= 20 and not wrong, json.dumps(wrong, indent=1)
