"""A working folder with a stranger's module, which leaves a file when anybody imports it."""

import sys

import pytest

from tests.hostile.strings import MODULE

TRACES = ("ran", "touch", "shell", "yaml", "out")  # what the strings would leave if anything of them were run


@pytest.fixture(autouse=True)
def stranger(tmp_path, monkeypatch):
    """The working folder. After the test nothing of it was run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQZOO_CACHE", str(tmp_path / "a cache"))
    monkeypatch.setenv("SEQZOO_HUB", str(tmp_path / "no hub"))
    for name in ("SEQZOO_OFFLINE", "SEQZOO_HUB_KEYS"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / f"{MODULE}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    path = list(sys.path)
    yield tmp_path
    assert MODULE not in sys.modules and sys.path == path
    assert not [name for name in TRACES if (tmp_path / name).is_file()]
