"""What docs/server.md asks with curl, asked of a server of a stand-in for `dates`."""

import json
import shutil
import subprocess

import pytest

from tests.house_rules import ROOT
from tests.hub import tiny
from tests.pages.blocks import blocks
from tests.serving.server import echo

CURLS = [
    command
    for block in blocks(ROOT / "docs" / "server.md", "shell")
    for command in block.commands
    if command.startswith("curl")
]


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl: apt-get install curl")
def test_what_the_page_asks_is_answered(tmp_path, monkeypatch):
    folder = echo.write(tmp_path / "dates" / "1", name="dates")
    tiny.write_index(tmp_path, tiny.entry("dates", 1, folder))
    monkeypatch.setenv("SEQZOO_HUB", str(tmp_path))
    monkeypatch.setenv("SEQZOO_CACHE", str(tmp_path / "cache"))
    assert len(CURLS) == 6
    with echo.serving("dates") as running:
        said = []
        for command in CURLS:
            text = command.replace("localhost:8080", f"127.0.0.1:{running.http}")
            said.append(
                subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True, timeout=60).stdout
            )
    rows = json.loads(said[0])["predictions"]
    assert len(rows) == 2 and rows[0]["output_text"] and rows[0]["errors"] == ""
    assert len(json.loads(said[1])["outputs"]["output_text"][0]) == 2
    assert json.loads(said[2])["outputs"][0]["data"] == [rows[0]["output_text"]]
    assert json.loads(said[3])["name"] == "dates" and "seqzoo_texts_total" in said[4]
    assert said[5] == said[3]
