"""Each page is read by somebody who has read no other: layers that one registers are gone afterwards."""

import sys

import pytest

from zoo.core import occupants


@pytest.fixture(autouse=True)
def own_layers(monkeypatch):
    monkeypatch.setattr(occupants, "_occupants", {slot: dict(held) for slot, held in occupants._occupants.items()})
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("mine", None)
