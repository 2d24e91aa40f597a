"""The classes of the zoo are there as soon as Keras is, whoever asks for what first."""

import pytest

from tests.shared import python

REGISTERED = "assert any(name.startswith('zoo>') for name in keras.saving.get_custom_objects())"


@pytest.mark.release(but=1)
@pytest.mark.slow
@pytest.mark.parametrize(
    "before", ["import importlib.util as util; util.find_spec('keras')", "import zoo.hub", "import zoo.blocks.residual"]
)
def test_classes_arrive_with_keras(before):
    """To be asked where Keras is, as a check of what is installed does, is not its import."""
    python("-c", f"import zoo; {before}; import keras; {REGISTERED}")
