"""The walk of docs/deploy.md, from an empty folder: deploy, try, promote, take back."""

import json
import shlex

from tests.house_rules import ROOT
from tests.pages.blocks import blocks
from tests.serving.deploy.made import artefacts, saved_model
from tools import cli

COMMANDS = [command for block in blocks(ROOT / "docs" / "deploy.md", "shell") for command in block.commands]


def test_the_walk_of_the_page(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    saved_model(tmp_path / "saved")
    artefacts(tmp_path / "artefacts", (1,), "dates", tmp_path / "saved")
    told = []
    for command in COMMANDS:
        words = shlex.split(command)
        if words[:2] == ["seqzoo", "export"]:  # its next version, without a training
            artefacts(tmp_path / "artefacts", (2,), "dates", tmp_path / "saved")
        elif words[:2] == ["seqzoo", "deploy"]:
            assert cli.main(words[1:]) == 0, command
            told.append(capsys.readouterr().out.strip())
    assert told == [
        "dates: stable is version 1",
        "dates: stable is version 1, canary is version 2",
        "dates: stable is version 2, previous is version 1",
        "dates: stable is version 1",
        "dates: stable is version 2",  # in a cluster, whose folder is another
    ]
    assert json.loads((tmp_path / "server" / "deployment.json").read_text())["models"]["dates"]["stable"] == 1
