"""A cache of the test's own, on a path with spaces, and no hub but those that a test names."""

import random

import pytest

from tests.hub import tiny
from tests.hub.server import serving

SIZE = 300_000


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    for name in ("SEQZOO_OFFLINE", "SEQZOO_HUB_KEYS", "SEQZOO_TIMEOUT", "http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SEQZOO_CACHE", str(tmp_path / "a cache"))
    monkeypatch.setenv("SEQZOO_HUB", str(tmp_path / "nowhere"))
    monkeypatch.setattr("zoo.hub.download.WAIT", 0.0)
    return tmp_path / "a cache"


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """The folder of a hub of models that answer."""
    return tiny.write(tmp_path_factory.mktemp("models"))


@pytest.fixture
def big(tmp_path):
    """The folder of a hub of one model, `big`, whose file `model.bin` is larger than one block."""
    home = tmp_path / "hub"
    folder = home / "big" / "1"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text("{}")
    (folder / "model.bin").write_bytes(random.Random(7).randbytes(SIZE))
    tiny.write_index(home, tiny.entry("big", 1, folder))
    return home


@pytest.fixture
def server(big, monkeypatch):
    """A server of `big`, which is the only hub."""
    with serving(big) as running:
        monkeypatch.setenv("SEQZOO_HUB", running.address)
        yield running


@pytest.fixture
def served(models, monkeypatch):
    """A server of the models, which is the only hub."""
    with serving(models) as running:
        monkeypatch.setenv("SEQZOO_HUB", running.address)
        yield running
