"""A SavedModel that is written once, and a folder of versions with it."""

import pytest

from tests.serving.deploy.made import artefacts, saved_model
from tests.shared import made_once


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    return made_once(tmp_path_factory, "deployed-saved-model", saved_model)


@pytest.fixture
def home(tmp_path, saved):
    return artefacts(tmp_path / "artefacts", saved=saved)
