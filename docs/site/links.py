"""Links of the site: a link of a page that leaves docs/ leads to a page of the site, too.

The pages at the top of the checkout become pages of the site; of any other file that a page links to, and of the files
of such a folder, the site has a page that shows it. So every link that works in the checkout works in the site, and in
a site that lies on a disk.
"""

import os.path
import re
from pathlib import Path, PurePosixPath

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
PAGES = {  # of the top of the checkout -> of the site
    "README.md": "overview.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)\s]+)(\))")
FENCE = re.compile(r"^(```|~~~)")
SHOWN = {".md": "markdown", ".mjs": "javascript", ".cpp": "cpp", ".py": "python", ".toml": "toml", ".json": "text"}
SHOWN |= {".yaml": "yaml", ".sh": "bash"}
LARGEST = 64_000  # bytes of a file that is shown; a larger one is a file of the site


def on_files(files, config):
    """Add the pages that lie outside docs/."""
    for name, uri in PAGES.items():
        files.append(File.generated(config, uri, content=(ROOT / name).read_text("utf-8")))
    texts = {_home(file.src_uri): file.content_string for file in files.documentation_pages()}
    linked = {place for home, text in texts.items() for place in map(lambda link: link[0], _links(home, text))}
    for place in sorted(linked):
        if _is_source(place):
            for uri, content in _shown(place):
                if uri not in files.src_uris:
                    files.append(File.generated(config, uri, content=content))
    return files


def on_page_markdown(markdown, page, config, files):
    """Rewrite the links of a page to what they lead to in the site."""
    home = _home(page.file.src_uri)
    if home is None:
        if page.file.src_uri.startswith("source/"):
            page.meta["search"] = {"exclude": True}
        return markdown
    here = PurePosixPath(page.file.src_uri).parent

    def rewritten(match):
        place, heading = _place(home, match[2])
        target = os.path.relpath(_uri(place), here).replace(os.sep, "/")
        return f"{match[1]}{target}{'#' if heading else ''}{heading}{match[3]}"

    return "".join(line if code else LINK.sub(rewritten, line) for code, line in _lines(markdown))


def _home(uri):
    """Where the text of a page of the site lies in the checkout; None of a page that this makes."""
    if uri.startswith(("source/", "api/")):
        return None
    return {own: name for name, own in PAGES.items()}.get(uri, f"docs/{uri}")


def _links(home, text):
    """(what a link leads to, in the checkout, and its heading) for each link of a text that lies at `home`."""
    if home is None:
        return
    for code, line in _lines(text):
        for match in () if code else LINK.finditer(line):
            yield _place(home, match[2])


def _place(home, target):
    file, _, heading = target.partition("#")
    return os.path.normpath(f"{os.path.dirname(home)}/{file}").replace(os.sep, "/").lstrip("/"), heading


def _lines(text):
    """(whether it is in a fenced block, line) for each line."""
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1] == fence:
            fence = ""
        yield bool(fence or mark), line


def _is_source(place):
    return place not in PAGES and (not place.startswith("docs/") or place.endswith((".py", ".toml")))


def _uri(place):
    """The page of the site, by its source, that shows what lies at a place of the checkout."""
    if place in PAGES:
        return PAGES[place]
    if not _is_source(place):
        inside = place.removeprefix("docs").removeprefix("/")
        return f"{inside}/README.md".lstrip("/") if (ROOT / place).is_dir() else inside
    path = ROOT / place
    if path.is_dir():
        return f"source/{place}/index.md"
    return f"source/{place}.md" if _is_shown(path) else f"source/{place}"


def _is_shown(path):
    return path.suffix in SHOWN and path.stat().st_size <= LARGEST


def _shown(place):
    """(page, text) for a file, or for a folder and each of its files."""
    path = ROOT / place
    if path.is_dir():
        inner = sorted(each.relative_to(ROOT).as_posix() for each in path.rglob("*") if each.is_file())
        inner = [each for each in inner if "__pycache__" not in each and Path(each).suffix in SHOWN]
        rows = [f"- [{each}]({os.path.relpath(_uri(each), f'source/{place}')})\n" for each in inner]
        yield _uri(place), f"# {place}\n\n{''.join(rows)}"
        for each in inner:
            yield from _shown(each)
    elif _is_shown(path):
        text = path.read_text("utf-8").rstrip("\n")
        yield _uri(place), f"# {place}\n\n~~~~~{SHOWN[path.suffix]}\n{text}\n~~~~~\n"
    else:
        yield _uri(place), path.read_text("utf-8")
