"""What the site shows otherwise than the checkout does: tabs, a gallery where there is one, and a search of questions.

Between the lines `<!-- tabs -->` and `<!-- end of tabs -->` of a page each heading of the second level begins a tab.
"""

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
TABS = re.compile(r"<!-- tabs -->\n(.*?)<!-- end of tabs -->\n", re.DOTALL)
BOOSTS = {  # more for the pages that lead through something, less for those that have the words of all others
    "api/": 0.55,
    "changelog.md": 0.4,
    "architecture.md": 0.4,
    "contributing.md": 0.4,
    "corpus.md": 1.7,
    "data.md": 1.15,
    "deploy.md": 1.6,
    "glossary.md": 1.5,
    "hub.md": 0.8,
    "models.md": 0.4,
    "overview.md": 0.4,
    "own-layers.md": 1.6,
    "publishing.md": 0.8,
    "questions/": 0.8,
    "scores.md": 1.7,
    "security.md": 1.6,
    "serving.md": 1.2,
    "settings.md": 0.4,
    "tasks/": 1.5,
    "training.md": 1.9,
    "zoo/README.md": 1.7,
}
OPTIONAL = ("gallery.md",)  # pages of the navigation that a checkout may lack


def on_config(config):
    docs = Path(config.docs_dir)
    missing = [name for name in OPTIONAL if not (docs / name).exists()]
    config.nav = _without(config.nav, missing)
    return config


def _without(nav, missing):
    if isinstance(nav, list):
        return [_without(each, missing) for each in nav if each not in missing and not _names(each, missing)]
    return {name: _without(each, missing) for name, each in nav.items()} if isinstance(nav, dict) else nav


def _names(entry, missing):
    return isinstance(entry, dict) and all(isinstance(each, str) and each in missing for each in entry.values())


def on_page_markdown(markdown, page, config, files):
    boost = next((own for start, own in BOOSTS.items() if page.file.src_uri.startswith(start)), None)
    if boost is not None:
        page.meta["search"] = {"boost": boost}
    return TABS.sub(lambda match: _tabs(match[1]), markdown)


def _tabs(text):
    _, *parts = re.split(r"^## (.+)\n", text, flags=re.MULTILINE)
    return "".join(
        f"/// tab | {title}\n{body.rstrip()}\n///\n\n" for title, body in zip(parts[::2], parts[1::2], strict=True)
    )


def on_page_content(html, page, config, files):
    """The corner of a table that names its rows is no heading: there would be nothing to read aloud."""
    return re.sub(r"<th( [^>]*)?></th>", r"<td\1></td>", html)


def on_post_build(config):
    """Put what makes a query of a question before the worker of the search."""
    (worker,) = Path(config.site_dir).glob("assets/javascripts/workers/search.*.min.js")
    worker.write_text((HERE / "search.js").read_text("utf-8") + worker.read_text("utf-8"), encoding="utf-8")
