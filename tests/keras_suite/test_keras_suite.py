"""Keras' own suite of tests, `keras.src.testing.TestCase.run_layer_test`, passes for every case of the battery.

It makes, builds, calls (on symbols and on values), trains and mixes the precision of a layer, and reads its config
back. The parameters are counted by the formulas of the papers. On JAX a third of the cases runs in a process.
"""

import json

import pytest

from tests.all_cases import OF_SLOTS
from tests.keras_suite.parameters import FIXED, TRAINED
from tests.keras_suite.run import ASKED, run
from tests.shared import mostly_at_releases, python

ROWS = [pytest.param(name, marks=() if case in OF_SLOTS else pytest.mark.release) for name, case in ASKED.items()]
# Keras hands a generator to `fit`, which warns that it is not shuffled, and its loss reads the outputs alone. Which
# weights have a gradient the laws of zoo/check ask.
pytestmark = [
    pytest.mark.filterwarnings("ignore:`shuffle=True` was passed:UserWarning"),
    pytest.mark.filterwarnings("ignore:The model does not have any trainable weights:UserWarning"),
    pytest.mark.filterwarnings("ignore:Gradients do not exist for variables:UserWarning"),
]


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("name", ROWS)
def test_on_tensorflow(name):
    run(name)


@pytest.mark.release
@pytest.mark.parametrize("part", mostly_at_releases([2, 0, 1], 1))
def test_on_jax(subtests, part):
    """A third of the cases, in a process of their own."""
    names = list(ASKED)[part::3]
    quicker = {"KERAS_BACKEND": "jax", "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}  # to compile
    done = python("-m", "tests.keras_suite.run", *names, seconds=1800, **quicker)
    problems = json.loads(done.stdout.splitlines()[-1])
    assert problems.keys() == set(names)
    for name, problem in problems.items():
        with subtests.test(name):
            assert problem is None, problem


def test_the_formulas_are_of_cases():
    assert FIXED.keys() <= TRAINED.keys() <= ASKED.keys() and len(TRAINED) > 0.9 * len(ASKED)
