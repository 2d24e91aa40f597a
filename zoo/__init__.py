"""seqzoo: sequence models in Keras, from paper to production.

After `import zoo` Keras knows every class, so that `keras.models.load_model` finds them. The import itself touches no
network and imports no framework: the classes come as soon as Keras, or a part of `zoo` that needs it, is imported
(`zoo.core.arrival`). TensorFlow Text and ONNX stay out, and so does TensorFlow where it is not the Keras backend.
"""

import importlib
from typing import TYPE_CHECKING, Any

from zoo.core.arrival import ROOMS, expect_keras

if TYPE_CHECKING:  # what `__getattr__` imports, for type checkers and editors
    from zoo import (
        attention as attention,
        blocks as blocks,
        depth as depth,
        embeddings as embeddings,
        feedforward as feedforward,
        hub as hub,
        models as models,
        pretrained as pretrained,
        recurrent as recurrent,
        training as training,
    )
    from zoo.hub.resolve import load as load, path as path
    from zoo.runs.python import (
        evaluate as evaluate,
        open_run as open,  # noqa: F401
        train as train,
    )
    from zoo.settings.occupants import register as register

_HOMES = {  # what is used most, from where it is
    "evaluate": ("zoo.runs.python", "evaluate"),
    "load": ("zoo.hub.resolve", "load"),
    "open": ("zoo.runs.python", "open_run"),
    "path": ("zoo.hub.resolve", "path"),
    "register": ("zoo.settings.occupants", "register"),
    "train": ("zoo.runs.python", "train"),
}
__all__ = [
    *ROOMS,
    "evaluate",
    "hub",
    "load",
    "path",
    "pretrained",
    "register",
    "train",
]  # not `open`, which is Python's, too


def __getattr__(name: str) -> Any:
    """A room by its name, or a function for users, imported when it is asked for."""
    if name in (*ROOMS, "hub", "pretrained"):
        return importlib.import_module(f"zoo.{name}")
    if name in _HOMES:
        home, own = _HOMES[name]
        return getattr(importlib.import_module(home), own)
    raise AttributeError(f"module 'zoo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *ROOMS, *_HOMES, "hub", "pretrained"})


expect_keras()  # last, for a package that brings layers may import zoo while this runs
