"""The gallery in a headless Chromium: the answers of `seqzoo run`, and a page that everybody can use."""

import contextlib
import json
import shutil
import sys

import pytest

from benchmarks.harness import browser as driver
from serving.gallery import write
from serving.runtime import Runtime, Sampling
from tests.gallery.conftest import MODELS, STORY
from tests.house_rules import ROOT
from tests.serving import fake_artefact

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(driver.installed() is None, reason="no Chromium here: apt-get install chromium"),
]
USUAL = {
    "dates": ["3. März 2021", "29.11.1900"],
    "pronounce-hu": ["hozzájárul"],
    "babi-1": [STORY, "Where is Mary?"],
    "pos-en-star": ["Where is the zoo?", "The quick brown fox doesn't jump.", " a\u2028b\x85c  👩‍👩‍👧 "],
    "shakespeare-product-key": ["ROMEO:", "x" * 1500, "日本"],
}
BROKEN = ["a\0b", "\ud800 cat", "\udcff", "e\u0301" * 30, "\u202eabc\u202c"]
HOSTILE = ["", " \u3000", *BROKEN, "cat " * 1400, "日" * 20000, "\t"]


@pytest.fixture(scope="module")
def benchmark():
    """`benchmarks/gallery.py`, which knows what the page is to answer."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        import gallery

        yield gallery
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


def done(page):
    page.until("document.getElementById('results').ariaBusy !== 'true' && document.querySelector('#results .panel')")


def show(page, address, model):
    """Open the page anew, with the answer of a model to its first example."""
    page.open(f"{address}/?{model}#{model}")
    page.run("document.getElementById('run').click()")
    done(page)


@pytest.mark.release(but="babi-1")
@pytest.mark.parametrize("name", MODELS)
def test_answers_are_those_of_seqzoo_run(name, page, address, benchmark):
    asked = USUAL[name] + HOSTILE
    expected = benchmark.Expected(name)
    for text, received in zip(asked, benchmark.ask(page, name, asked), strict=True):
        right = expected(text)
        assert {key: received[key] for key in right} == right, text[:80]
    assert page.errors == [] and all(each.startswith(address) for each in page.requests)


def test_draws_with_the_seeds_of_seqzoo_run(page):
    name, seed, text = "shakespeare-product-key", 2**40 + 3, "ROMEO:\n"
    options = json.dumps({"length": 80, "sampling": {"temperature": 0.8, "topK": 12, "topP": 0.9, "seed": seed}})
    found = page.run(f"seqzoo.run({name!r}, {json.dumps(text)}, {options})")
    sampling = Sampling(temperature=0.8, top_k=12, top_p=0.9, seed=seed)
    assert found["text"] == Runtime(name).run([text], sampling=sampling, length=80)[0].text
    assert len(found["ids"]) == 80


def test_wrong_questions_are_refused(page):
    for asked, said in (
        ("seqzoo.run('dotes', 'a')", "no model dotes; it has dates"),
        ("seqzoo.run('dates', 3)", "must be a string"),
    ):
        assert said in page.run(f"{asked}.then(() => 'answered', (error) => error.message)")


def test_a_changed_file_is_refused(opened, gallery, tmp_path):
    folder = shutil.copytree(gallery, tmp_path / "changed")
    (graph,) = (folder / "models" / "dates").glob("*/model.int8.onnx")
    graph.write_bytes(graph.read_bytes()[:-1] + b"x")
    with driver.served(folder) as (address, _):
        page = opened()
        page.open(f"{address}/")
        said = page.run("seqzoo.run('dates', 'a').then(() => 'answered', (error) => error.message)")
    assert "model.int8.onnx cannot be read, or is not the file that belongs here" in said


def test_a_number_for_a_text(opened, tmp_path):
    folder = str(fake_artefact.write(tmp_path / "echo" / "1", "rate"))
    asked = ["ab", "", "abcde 日本", "a" * 2000]
    with driver.served(write([folder], tmp_path / "out")) as (address, _):
        page = opened()
        page.open(f"{address}/")
        found = page.run(f"Promise.all({json.dumps(asked)}.map((text) => seqzoo.run('echo', text)))")
    expected = Runtime(folder).run(asked)
    assert [each.rating for each in expected] == [2.0, None, 5.0, None]
    for result, received in zip(expected, found, strict=True):
        assert received.get("rating") == result.rating and received["error"] == result.error
        assert received["text"] == ("" if result.rating is None else f"{result.rating:g}")


USUAL_PAIRS = {"texts": 9, "familiarity": -2.5, "pieces": 5, "confidence": 1.1}


@pytest.mark.parametrize("usual", [None, USUAL_PAIRS])
def test_pairs_of_texts(usual, opened, tmp_path):
    folder = fake_artefact.write(tmp_path / "pairs" / "1", "compare")
    folder = str(fake_artefact.change(folder, name="pairs", max_input=12, **({"usual": usual} if usual else {})))
    asked = [
        "ab\tcde",
        "\t",
        "abc\t",
        " ",
        "a b",
        "a\tb\tc 'd'\u200b",
        "abcdefghabcdefgh\ta",
        "a\t\ud800",
        "日" * 9 + "\tab",
        "日" * 9 + "\tabcdefghabcdefgh",
    ]
    with driver.served(write([folder], tmp_path / "out")) as (address, _):
        page = opened()
        page.open(f"{address}/")
        found = page.run(f"Promise.all({json.dumps(asked)}.map((text) => seqzoo.run('pairs', text)))")
    expected = Runtime(folder).run(asked)
    keys = ("text", "error", "warning")
    for text, result, received in zip(asked, expected, found, strict=True):
        assert [received[key] for key in keys] == [result.label, result.error, result.warning], text
    said = "; ".join(result.warning or "" for result in expected)
    assert not usual or all(each in said for each in ("unlike those", "more than the 5", "is unsure")), said


CHECKS = (ROOT / "tests" / "gallery" / "checks.js").read_text(encoding="utf-8")


@pytest.mark.release(but=1)
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["dates-depth-adaptive", "pos-en-star", "shakespeare-adaptive-span", "babi-1"])
def test_the_page_can_be_read(name, dark, opened, address):
    """On a phone's width: nothing is cut off, everything has a name and enough contrast, and is told to readers."""
    page = opened(width=400, dark=dark)
    show(page, address, name)
    page.run("document.querySelectorAll('details').forEach((each) => (each.open = true))")
    width = page.run("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert width[0] == width[1] <= 400
    assert page.run(f"{CHECKS}; [...nameless(), ...faint()]") == []
    nodes = page.ask("Accessibility.getFullAXTree")["nodes"]
    roles = {(each["role"]["value"], each.get("name", {}).get("value", "")) for each in nodes if not each["ignored"]}
    for role, label in (("combobox", "Model"), ("combobox", "Compare with"), ("textbox", "Text"), ("button", "Run")):
        assert (role, label) in roles
    assert {"main", "heading", "status", "form", "region"} <= {role for role, _ in roles}
    unnamed = {
        "button",
        "combobox",
        "textbox",
        "checkbox",
        "spinbutton",
        "region",
        "table",
        "image",
        "DisclosureTriangle",
    }
    assert not {role for role, label in roles if role in unnamed and not label}
    assert page.errors == []


def test_by_keyboard(opened, address):
    page = opened()
    page.open(f"{address}/#dates")
    seen = []
    while "run" not in seen and len(seen) < 40:
        page.press("Tab", 9)
        seen.append(page.run("document.activeElement.id || document.activeElement.textContent"))
    assert seen[1:4] == ["model", "other", "text"] and "run" in seen
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.run("document.getElementById('run').focus()")
    page.press("Enter", 13)
    done(page)
    assert page.run("document.querySelector('#results output').textContent") == "1973-11-07"


def test_two_models_side_by_side(opened, address):
    page = opened()
    page.open(f"{address}/#dates+pronounce-hu")
    page.run("document.getElementById('run').click()")
    page.until("document.getElementById('status').textContent.startsWith('Done')")
    assert page.run("document.getElementById('status').textContent") == "Done. They answer differently."
    lefts = page.run("Array.from(document.querySelectorAll('.panel'), (each) => each.getBoundingClientRect().left)")
    assert len(lefts) == 2 and lefts[0] < lefts[1]


def test_without_a_network(gallery, opened):
    """What was loaded once is there when the server is not."""
    with contextlib.ExitStack() as held:
        address, _ = held.enter_context(driver.served(gallery))
        page = opened()
        page.open(f"{address}/")
        answer = page.run("seqzoo.run('dates', '3. März 2021')")  # before there is a service worker
        page.until("navigator.serviceWorker.controller !== null")
        copied = json.dumps(
            [f"models/dates/2/{name}" for name in ("manifest.json", "model.int8.onnx", "source.spm", "target.spm")]
        )
        page.until(f"Promise.all({copied}.map((file) => caches.match(file))).then((found) => found.every(Boolean))")
    page.open(f"{address}/?again")
    assert page.run("seqzoo.run('dates', '3. März 2021')")["ids"] == answer["ids"]
