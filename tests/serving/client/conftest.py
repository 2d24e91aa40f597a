"""A fake server with a model of each kind, for every scheme of an address."""

import pytest

from serving.client import patience
from serving.runtime import Runtime
from tests.serving import fake_artefact
from tests.serving.client.fake_model import Fake
from tests.serving.client.fake_server import Servers

SCHEMES = ["http", "grpc", "tfs+http", "tfs+grpc"]


@pytest.fixture(scope="module")
def runtimes(tmp_path_factory):
    home = tmp_path_factory.mktemp("kinds")
    return {kind: Runtime(fake_artefact.write(home / kind, kind), threads=1) for kind in fake_artefact.KINDS}


@pytest.fixture
def fake(runtimes):
    """Each test has its own, and servers of its own: the late call of another test would take one of its faults."""
    return Fake(runtimes)


@pytest.fixture
def servers(fake):
    with Servers(fake) as servers:
        yield servers


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(patience, "FIRST", 0.01)


@pytest.fixture(params=SCHEMES)
def scheme(request):
    return request.param
