"""One server of every kind of artefact, for the modules that ask it."""

import grpc
import pytest

from serving.runtime import Runtime
from tests.serving.server import echo

KINDS = echo.KINDS
SERVICE = "/inference.GRPCInferenceService/"


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    """Kind -> its artefact, version 7 of a model that is called like the kind."""
    return echo.write_all(tmp_path_factory.mktemp("models"))


@pytest.fixture(scope="session")
def server(models):
    homes = [folder.parent for folder in models.values()]
    with echo.serving(*homes, "--max-texts", 40, "--max-bytes", 50_000) as running:
        yield running


@pytest.fixture(scope="session")
def runtimes(models):
    return {kind: Runtime(folder) for kind, folder in models.items()}


@pytest.fixture(scope="session")
def call(server):
    """A function that sends a message, or bytes, to a method of the gRPC port, and reads the answer."""
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc}") as channel:

        def called(method, request, answer):
            content = request if isinstance(request, bytes) else request.SerializeToString()
            return answer.FromString(channel.unary_unary(SERVICE + method)(content, timeout=20))

        yield called
