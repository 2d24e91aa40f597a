"""Keeps Keras and TensorFlow from importing what no command uses, so that a command starts sooner.

Both import optional packages when these are installed: Keras pandas, for data frames in `fit`, and Matplotlib, for
galleries of pictures; TensorFlow JAX, for a converter of TensorFlow Lite. That is a third of the time that importing
the two takes. Everybody else imports these packages as before: our figures, readers of Parquet files, layers of a user.
"""

import importlib.abc
import os
import sys

# A package, and the modules, by the beginning of their names, that import it only if it is there.
OPTIONAL = {
    "pandas": ("keras.", "tensorflow."),
    "matplotlib": ("keras.",),
    "jax": ("tensorflow.lite.", "keras.src.callbacks."),  # as a backend Keras imports it elsewhere
}


class LeaveOut(importlib.abc.MetaPathFinder):
    """Says to the modules in `OPTIONAL` that what they could do without is not installed."""

    def find_spec(self, fullname, path=None, target=None):
        if _importer().startswith(OPTIONAL.get(fullname.partition(".")[0], ())):
            raise ModuleNotFoundError(f"{fullname} is left out of a command (tools/lean.py).", name=fullname)
        return None


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
