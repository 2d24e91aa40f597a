"""seqzoo: sequence models in Keras, from paper to production.

After `import zoo` Keras knows every class, so that `keras.models.load_model` finds them. The import itself touches no
network and imports no framework: the classes come as soon as Keras, or a part of `zoo` that needs it, is imported
(`zoo.arrival`). TensorFlow Text and ONNX stay out, and so does TensorFlow where it is not the Keras backend.
"""

import importlib

from zoo.arrival import ROOMS, expect_keras

__all__ = ["attention", "blocks", "depth", "embeddings", "feedforward", "models", "recurrent", "training"]

expect_keras()


def __getattr__(name):
    """A room by its name, imported when it is asked for."""
    if name in ROOMS:
        return importlib.import_module(f"zoo.{name}")
    raise AttributeError(f"module 'zoo' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *ROOMS})
