"""Keras' own suite of tests, `keras.src.testing.TestCase.run_layer_test`, passes for every public layer.

It makes, builds, calls (on symbols and on values), saves, trains and mixes the precision of a layer, and counts its
weights, seed generators and losses. The parameters are counted by the formulas of the papers. Whatever is left out of a
row of the table says there why; on JAX a third of the table runs in a process.
"""

import json
import os
import subprocess
import sys

import keras
import pytest

from tests.house_rules import ROOT
from tests.keras_suite.run import run
from tests.keras_suite.table import CASES, QUICK, SLOW
from tests.shared import mostly_at_releases

# Keras' training check hands a generator to `fit`, which warns that it is not shuffled; some layers have no weights.
pytestmark = [
    pytest.mark.filterwarnings("ignore:`shuffle=True` was passed:UserWarning"),
    pytest.mark.filterwarnings("ignore:The model does not have any trainable weights:UserWarning"),
]


# Keras' loss reads the outputs alone: no exit rule, and not the last relay, which a summary reads. The law "gradients"
# of zoo/check/laws.py asks for all of them.
UNREAD = ("depth-adaptive", "depth-adaptive-sequence", "star-stack")


def row(case, *marks):
    if case.name in UNREAD:
        marks += (pytest.mark.filterwarnings("ignore:Gradients do not exist for variables:UserWarning"),)
    return pytest.param(case, id=case.name, marks=marks)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("case", [*(row(case) for case in QUICK), *(row(case, pytest.mark.release) for case in SLOW)])
def test_on_tensorflow(case):
    run(case)


@pytest.mark.release
@pytest.mark.parametrize("part", mostly_at_releases([2, 0, 1], 1))
def test_on_jax(subtests, part):
    """A third of the rows, in a process of their own."""
    names = [case.name for case in CASES[part::3]]
    done = subprocess.run(
        [sys.executable, "-m", "tests.keras_suite.run", *names],
        cwd=ROOT,
        env={**os.environ, "KERAS_BACKEND": "jax", "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"},  # compiles faster
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.keys() == set(names)
    for name, problem in found.items():
        with subtests.test(name):
            assert problem is None, problem


@pytest.mark.slow
def test_every_public_layer_is_in_the_table():
    used = set()
    for case in CASES:
        layer = case.make()
        used |= {type(each) for each in [layer, *layer._flatten_layers()]}
    registered = keras.saving.get_custom_objects().items()
    public = {cls for name, cls in registered if name.startswith("zoo>") and cls.__module__.startswith("zoo.")}
    missing = {cls.__name__ for cls in public if issubclass(cls, keras.layers.Layer)} - {cls.__name__ for cls in used}
    assert not missing, f"no row of the table has {missing}"
