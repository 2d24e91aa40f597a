"""Commands do not import what Keras and TensorFlow could use and no command does; everybody else does."""

import sys

import pytest

from tests.shared import python
from tools.startup import LeaveOut


def imported(name, importer):
    """Whether a module of a package called `importer` can import `name`."""
    try:
        exec(f"import {name}", {"__name__": importer})
    except ModuleNotFoundError as error:
        assert error.name == name
        return False
    return True


def test_only_keras_and_tensorflow_are_told_that_it_is_not_there(monkeypatch):
    for name in [each for each in sys.modules if each.partition(".")[0] == "pandas"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [LeaveOut(), *sys.meta_path])
    assert not imported("pandas", "keras.src.trainers")
    assert imported("wave", "tensorflow.python")
    assert imported("json", "keras.src.trainers")
    assert imported("wave", "keras.src") and imported("colorsys", "somebody")
    assert LeaveOut().find_spec("pandas") is None  # this file asks


ASKED = """
import importlib.abc, os, sys
from tools.startup import ASKING, OPTIONAL, IfImported, LeaveOut, _importer

asked = set()

class Record(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        asked.update((fullname, prefix) for prefix in OPTIONAL.get(fullname, ()) if importer().startswith(prefix))

__name__, importer = "importlib.of_this_test", _importer  # so that it is no importer itself
sys.meta_path.insert(0, LeaveOut())
sys.meta_path.insert(0, Record())
import keras
if keras.backend.backend() == "tensorflow":
    import tensorflow
    wanted = {(name, prefix) for name, prefixes in OPTIONAL.items() for prefix in prefixes}
    assert asked == wanted, f"nobody imports these any more, so they need not be left out: {wanted - asked}"
else:
    for name in ASKING:
        assert isinstance(vars(sys.modules[name]).get("tf"), IfImported), f"{name} no longer asks for TensorFlow"
    from keras.src.utils.module_utils import tensorflow as lazy
    assert lazy.available, "Keras asks TensorFlow only if somebody has imported it, so startup.py need not"
    assert "tensorflow" in sys.modules
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_what_is_left_out_is_still_asked_for(backend):
    """Where this fails, Keras or TensorFlow is better than it was, and a line of tools/startup.py can go."""
    python("-c", ASKED, KERAS_BACKEND=backend)


@pytest.mark.release
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_a_command_trains_without_them_and_others_still_find_them(backend, tmp_path):
    code = f"""
import sys
sys.argv = ["seqzoo", "train", "reversal-gru-none", "--out", "run", *"--set model.units=4 --set data.train_size=40 \
--set data.valid_size=4 --set training.warmup=1 --set training.steps=2 --set training.validate_every=2".split()]
from tools.cli import main
assert main() == 0
unused = {{"pandas", "matplotlib", "jax", "tensorflow"}} - {{{backend!r}}}
assert "keras" in sys.modules and not unused & set(sys.modules), unused & set(sys.modules)
import pandas, matplotlib, keras
keras.layers.StringLookup(vocabulary=["a"])("a")  # needs TensorFlow on every backend
from keras.src.saving import serialization_lib
import tensorflow
assert serialization_lib.tf.available and serialization_lib.tf.TensorShape is tensorflow.TensorShape
assert keras.saving.serialize_keras_object(tensorflow.TensorShape([1])) == [1]
"""
    python("-c", code, cwd=tmp_path, KERAS_BACKEND=backend)
