"""A published model as a wheel: installed, it answers without a hub, and it is always the same bytes."""

import base64
import hashlib
import json
import zipfile

import pytest

from tests.house_rules import ROOT
from tests.shared import python
from tools import cli
from zoo.hub.places import installed_hubs


@pytest.fixture
def wheel(whole, tmp_path, capsys):
    assert cli.main(["hub", "package", "echo", "--hub", str(whole), "--out", str(tmp_path / "wheels")]) == 0
    (path,) = (tmp_path / "wheels").iterdir()
    assert capsys.readouterr().out == f"{path}\n"
    return path


def test_it_holds_the_model_and_its_hashes(wheel, whole):
    assert wheel.name == "seqzoo_echo-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    for path in (whole / "echo" / "1").iterdir():
        assert held[f"seqzoo_model_echo/hub/echo/1/{path.name}"] == path.read_bytes()
    rows = [row.split(",") for row in held["seqzoo_echo-1.dist-info/RECORD"].decode().splitlines()]
    assert [row[0] for row in rows] == list(held)
    for name, digest, size in rows[:-1]:
        found = base64.urlsafe_b64encode(hashlib.sha256(held[name]).digest()).decode().rstrip("=")
        assert (digest, int(size)) == (f"sha256={found}", len(held[name]))
    text = held["seqzoo_echo-1.dist-info/METADATA"].decode()
    for line in ("Name: seqzoo-echo", "Version: 1", "License-Expression: Apache-2.0", "Requires-Dist: seqzoo"):
        assert f"\n{line}" in text
    assert "The authors of the six lines." in text


def test_the_same_files_give_the_same_bytes(wheel, whole, tmp_path):
    assert cli.main(["hub", "package", "echo@1", "--hub", str(whole), "--out", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again" / wheel.name).read_bytes() == wheel.read_bytes()


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("hubs", ["", "nowhere"])
def test_once_installed_it_answers_without_any_hub(wheel, hubs, tmp_path, monkeypatch):
    """As pip installs it, into a folder of its own; the package is found and never imported."""
    python("-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", "site", wheel, cwd=tmp_path)
    (tmp_path / "site" / "seqzoo_model_echo" / "__init__.py").write_text("raise SystemExit('imported')\n")
    code = "import sys; from tools.cli import main; sys.exit(main(['run', 'echo', 'bad cab']))"
    monkeypatch.setenv("SEQZOO_HUB", str(tmp_path / hubs) if hubs else "")
    if hubs:
        (tmp_path / hubs).mkdir()
        (tmp_path / hubs / "index.json").write_text(json.dumps({"format": 1, "models": []}))
    monkeypatch.setenv("SEQZOO_OFFLINE", "1")
    assert python("-c", code, cwd=tmp_path, PYTHONPATH=f"{tmp_path / 'site'}:{ROOT}").stdout == "bad cab\n"


def test_other_packages_are_left_alone(tmp_path, monkeypatch):
    """One without a hub, one that is not there, and one whose name would import another package."""
    info = tmp_path / "other-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[seqzoo_models]\na = json\nb = not_there\nc = boom.inside\n")
    (tmp_path / "boom").mkdir()
    (tmp_path / "boom" / "__init__.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert installed_hubs() == []


def test_a_changed_or_withdrawn_model_is_not_packaged(hub, tmp_path, monkeypatch, capsys, caplog):
    words = ["hub", "package", "echo@1", "--hub", str(hub), "--out", str(tmp_path / "wheels")]
    (hub / "echo" / "1" / "card.md").write_bytes(b"x" * (hub / "echo" / "1" / "card.md").stat().st_size)
    assert cli.main(words) == 1
    assert "other bytes than the index says; no wheel was written" in capsys.readouterr().err
    assert cli.main(["hub", "withdraw", "echo@1", "--reason", "Wrong.", "--hub", str(hub)]) == 0
    assert cli.main(words) == 2
    assert "was withdrawn: Wrong. It is not packaged" in capsys.readouterr().err
    monkeypatch.setenv("SEQZOO_HUB", str(hub))
    monkeypatch.setenv("SEQZOO_CACHE", str(tmp_path / "cache"))
    assert cli.main([*words[:3], *words[5:]]) == 1  # its card was changed above
    assert [each.getMessage() for each in caplog.records] == ["echo@1 was withdrawn: Wrong."]
    assert not list((tmp_path).rglob("*.whl*"))
