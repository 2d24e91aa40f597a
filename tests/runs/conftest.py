"""One small run that many tests begin with: it is trained once, and only read."""

import pytest

from tests.recipes.small import recipe, write_corpus
from tests.shared import made_once

STEPS = {"steps": 1, "validate_every": 1, "average": 1}


@pytest.fixture(scope="session")
def base(tmp_path_factory):
    """(a finished run of a classifier, its data)."""
    from zoo import runs

    def make(folder):
        one = recipe("classifier", training=STEPS)
        runs.train(one, folder / "run", write_corpus(one, folder / "data"))

    folder = made_once(tmp_path_factory, "classifier-run", make)
    return folder / "run", folder / "data"
