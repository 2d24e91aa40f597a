"""The pages of the systems, with the models of the hub that are made of each: a table of hub/index.json."""

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BEFORE = "## Cost\n"  # where a page has such a heading; else the table comes last
SYSTEMS = {"recurrent": "seq2seq"}  # of the index -> its page, where the name is another
TASKS = {"pronunciation": "transduce"}  # pages of a task's models


def on_page_markdown(markdown, page, config, files):
    folder, _, name = page.file.src_uri.removesuffix(".md").rpartition("/")
    if folder != "zoo" or name in ("README", "mixes"):
        return markdown
    own = [each for each in _entries() if _belongs(each, name)]
    if not own:
        return markdown
    before, heading, after = markdown.partition(f"\n{BEFORE}")
    return f"{before.rstrip()}\n\n{table(own)}{heading}{after}"


def table(entries):
    """The section of a page."""
    models = _models()
    rows = [
        f"| `{each['name']}` | {models.cell(each['description'])} | {models.scored(each)} "
        f"| {models.number(models.megabytes(each))} | `{models.command(each)}` |\n"
        for each in sorted(entries, key=lambda each: (each["task"], models.quality(each)))
    ]
    head = "| model | what it does | score | MB | command |\n|---|---|---|---|---|\n"
    return f"## Models of the hub\n\n{head}{''.join(rows)}\n[All trained models](../models.md) has their tests.\n"


def _belongs(entry, name):
    system = entry["system"].replace(" ", "-")
    return SYSTEMS.get(system, system) == name or entry["task"] == TASKS.get(name)


def _models():
    spec = importlib.util.spec_from_file_location("models_page", ROOT / "docs" / "models.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _entries():
    return _models().read(ROOT / "hub")
