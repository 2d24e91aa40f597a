"""The models of the cases, which several files ask."""

import pytest

from tests.models import cases, settings
from zoo.check.laws import build


@pytest.fixture(scope="module")
def models():
    """A function that gives the model of a case by its name, with random weights, built when it is first asked for."""
    built, named = {}, {case.name: case for case in (*cases.CASES, *settings.CASES)}

    def model(name):
        if name not in built:
            built[name] = build(named[name]).layer
        return built[name]

    return model
