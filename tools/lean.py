"""Keeps Keras and TensorFlow from importing what no command uses, so that a command starts sooner.

Both import optional packages when these are installed: Keras pandas, for data frames in `fit`, and Matplotlib, for
galleries of pictures; TensorFlow JAX, for a converter of TensorFlow Lite. That is a third of the time that importing
the two takes. Everybody else imports these packages as before: our figures, readers of Parquet files, layers of a user.

On JAX, Keras imports TensorFlow to ask whether an object is one of TensorFlow's, which takes 2.7 s and 500 MB. Nothing
is, if nobody has imported it.

docs/decisions.md has the text of an issue for Keras. tests/tools/test_lean.py fails when an import is left out that
nobody asks for any more; then it goes from here.
"""

import importlib.abc
import importlib.machinery
import os
import sys

# A package, and the modules, by the beginning of their names, that import it only if it is there.
OPTIONAL = {
    "pandas": ("keras.",),
    "matplotlib": ("keras.",),
    "jax": ("tensorflow.lite.", "keras.src.callbacks."),  # as a backend Keras imports it elsewhere
}
# Modules that ask for it in this way; there it is called `tf`.
ASKING = ("keras.src.saving.serialization_lib", "keras.src.utils.rng_utils")


class IfImported:
    """Keras' TensorFlow, which is imported when it is wanted; here, it is available only if it is imported already."""

    def __init__(self, lazy):
        self._lazy = lazy

    @property
    def available(self):
        return "tensorflow" in sys.modules and self._lazy.available

    def __getattr__(self, name):
        return getattr(self._lazy, name)


class LeaveOut(importlib.abc.MetaPathFinder):
    """Says to the modules in `OPTIONAL` that what they could do without is not installed, and sees to `ASKING`."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname in ASKING:
            return _patch_loader(importlib.machinery.PathFinder.find_spec(fullname, path))
        if _importer().startswith(OPTIONAL.get(fullname.partition(".")[0], ())):
            raise ModuleNotFoundError(f"{fullname} is left out of a command (tools/lean.py).", name=fullname)
        return None


def _patch_loader(spec):
    """The same module, or None, whose `tf` is an `IfImported`."""
    if spec is not None:
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            if "tf" in vars(module):
                module.tf = IfImported(module.tf)

        spec.loader.exec_module = exec_module
    return spec


def _importer():
    """The name of the module that imports something at the moment: the innermost outside of Python's import."""
    frame = sys._getframe(2)
    while frame and frame.f_globals.get("__name__", "").startswith("importlib"):
        frame = frame.f_back
    return frame.f_globals.get("__name__", "") if frame else ""


def lean():
    """From here on Keras and TensorFlow import less. `SEQZOO_DEBUG=1` leaves everything as it is."""
    if not os.environ.get("SEQZOO_DEBUG") and not any(isinstance(each, LeaveOut) for each in sys.meta_path):
        sys.meta_path.insert(0, LeaveOut())
