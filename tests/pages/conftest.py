"""Each page is read by somebody who has read no other: layers that one registers are gone afterwards.

The models of the pages are stand-ins: a hub has `dates`, whose graphs say a text again, and an untrained Keras model.
"""

import sys

import pytest

from tests.hub import tiny
from tests.serving import fake_artefact
from tests.shared import made_once, python
from zoo.settings import occupants


@pytest.fixture(scope="session")
def stand_ins(tmp_path_factory):
    import keras

    home = tmp_path_factory.mktemp("hub")
    folder = fake_artefact.write(home / "dates" / "2")
    fake_artefact.change(folder, name="dates", version=2)
    keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)]).save(folder / "model.keras")
    tiny.write_index(home, tiny.entry("dates", 2, folder))
    return home


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The folder of the site, which mkdocs builds once."""

    def build(folder):
        python("-m", "mkdocs", "build", "--quiet", "--site-dir", folder, NO_MKDOCS_2_WARNING="1")

    return made_once(tmp_path_factory, "site", build)


@pytest.fixture(autouse=True)
def hub(stand_ins, tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SEQZOO_HUB", str(stand_ins))
    monkeypatch.setenv("SEQZOO_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(autouse=True)
def own_layers(monkeypatch):
    monkeypatch.setattr(occupants, "_occupants", {slot: dict(held) for slot, held in occupants._occupants.items()})
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("mine", None)
