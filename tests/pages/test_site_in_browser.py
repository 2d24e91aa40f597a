"""Pages of the site in a browser, light and dark: who reads by keyboard or by ear, or sees little, can read them.

What is looked for is what axe-core marked once: faint letters, dialogs and navigation without a name, links that differ
by their colour alone, empty headings of tables, and what scrolls without being reached by the keyboard.
"""

import pytest

from benchmarks.harness import browser as driver
from tests.house_rules import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(driver.installed() is None, reason="needs Chromium: apt-get install chromium"),
]
PAGES = ("index.html", "data.html", "hub.html", "models.html", "gallery.html", "api/zoo.depth.html", "zoo/mixes.html")
CHECKS = (ROOT / "tests" / "gallery" / "checks.js").read_text(encoding="utf-8")
MORE = """
const all = (query) => Array.from(document.querySelectorAll(query)).filter((each) => each.checkVisibility());
const said = (id) => document.getElementById(id)?.textContent.trim();
const named = (each) => each.ariaLabel || said(each.getAttribute("aria-labelledby"));
const plain = (each) => getComputedStyle(each).textDecorationLine === "none";
const unreached = (each) => each.scrollWidth > each.clientWidth && each.tabIndex !== 0;
const marked = [
  ...all("[role=dialog], nav:not([role])").filter((each) => !named(each)),
  ...all("th").filter((each) => !each.textContent.trim()),
  ...all(".md-content :is(p, li, td) a:not([class])").filter(plain),
  ...all("pre > code, .md-typeset__scrollwrap").filter(unreached),
].map((each) => each.outerHTML.slice(0, 200));
all(".md-search, .md-sidebar, .headerlink, .md-top, .md-code__nav").forEach((each) => each.remove());
"""


@pytest.fixture(scope="module")
def address(site):
    with driver.served(site) as (address, _):
        yield address


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_can_be_read(name, dark, address, opened):
    page = opened(dark=dark)
    page.ask("Page.navigate", url=f"{address}/{name}")
    page.until("document.readyState === 'complete' && document.querySelector('.md-content')")
    marked, tries = None, 0
    while marked != [] and tries < 20:  # the theme makes parts of the page after it was loaded
        marked, tries = (
            page.run(f"(() => {{ {CHECKS}; {MORE}; return [...marked, ...(marked.length ? [] : faint())]; }})()"),
            tries + 1,
        )
    assert marked == []
