"""The pages that lead from a file to answers: every block of them, one after the other, in one empty folder.

Commands run in this process, so that a framework is imported once; trainings take two small steps.
"""

import contextlib
import io
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from tests.house_rules import ROOT
from tests.pages.blocks import blocks, execute
from tests.pages.test_commands import TINY, write_reviews
from tests.pretrained.test_firefox import publish
from tests.shared import python
from tools import cli

START = ROOT / "docs" / "README.md"
WALKS = [START, ROOT / "docs" / "firefox.md", *(page for page in sorted(ROOT.glob("docs/tasks/*.md")) if blocks(page))]
NOT_RUN = {  # what no walk runs -> why
    "pip": "it needs a network",
    "seqzoo serve": "it does not end; tests/serving/server starts it",
}


def walk(command, monkeypatch):
    """What a command prints."""
    command, _, file = command.partition(" < ")
    words = shlex.split(command)[1:]
    if words[0] == "train":
        words += [word for setting in TINY[words[1].removesuffix(".toml")].split() for word in ("--set", setting)]
    if file:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(Path(file).read_bytes())))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert cli.main(words) == 0, command
    return printed.getvalue()


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("page", WALKS, ids=lambda page: page.stem)
def test_every_block_of_the_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQZOO_HUB", str(ROOT / "hub"))  # a page may run a published model
    if page == START:
        write_reviews(tmp_path)
    elif page.stem == "embed":  # a tiny network in the place of the real one
        shutil.copytree(ROOT / "tests" / "pretrained" / "data" / "minilm", tmp_path / "all-MiniLM-L6-v2")
    elif page.stem == "firefox":
        publish(tmp_path / "ende")
    names, printed = {"__name__": "__main__"}, {}
    for block in blocks(page):
        if block.kind == "python":
            execute(block, names)
        if block.kind == "py":  # in a process of its own
            python("-c", block.text, cwd=".")
        for command in block.commands if block.kind == "shell" else ():
            if not command.startswith(tuple(NOT_RUN)):
                printed[command] = walk(command, monkeypatch)
    answers = [out for command, out in printed.items() if command.startswith("seqzoo run artefacts")]
    assert answers and all(out.endswith("\n") for out in answers)  # after two steps a model may write nothing
    scored = any("accuracy" in out or "interval" in out or "%" in out or "per " in out for out in printed.values())
    assert scored or page.stem == "firefox"  # of which nothing is trained here
