"""The run and the artefact that say every text again, and a hub that has them."""

import shutil

import pytest

from serving.hub import publish
from tests.serving.hub import echo
from tests.shared import made_once


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.delenv("SEQZOO_OFFLINE", raising=False)
    monkeypatch.delenv("SEQZOO_HUB_KEYS", raising=False)
    monkeypatch.setenv("SEQZOO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SEQZOO_HUB", str(tmp_path / "hub"))


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """`(run, artefact)`; nobody changes them."""
    home = made_once(tmp_path_factory, "echo", lambda folder: echo.write(folder / "echo")) / "echo"
    return home / "run", home / "artefacts" / "echo" / "1"


@pytest.fixture(scope="session")
def whole(made, tmp_path_factory):
    """The folder of a hub that has `echo`; nobody changes it."""
    run, artefact = made

    def write(folder):
        publish(artefact, run, folder / "hub", echo.FACTS, test=echo.six(run))

    return made_once(tmp_path_factory, "echo-hub", write) / "hub"


@pytest.fixture
def copied(made, tmp_path):
    """The same as `made`, to be changed."""
    for each in made:
        shutil.copytree(each, tmp_path / each.name)
    return tmp_path / "run", tmp_path / "1"


@pytest.fixture
def hub(whole, tmp_path):
    """A hub that has `echo`, to be changed."""
    shutil.copytree(whole, tmp_path / "hub")
    return tmp_path / "hub"
