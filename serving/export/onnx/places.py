"""Where in the Python code an operation of a traced graph comes from."""

import linecache
import sysconfig
from pathlib import Path

import keras
import tensorflow as tf

# Their lines are in every traceback and say nothing of the model.
LIBRARIES = tuple(Path(module.__file__).resolve().parent for module in (keras, tf))
SERVING = Path(__file__).resolve().parents[2]
PYTHON = Path(sysconfig.get_path("stdlib")).resolve()  # installed packages may lie below it


def places(graph, kinds):
    """`{kind: "file:line, code"}` of the first operation of each kind that TensorFlow knows the place of.

    The place is the innermost line that is neither of Python, Keras and TensorFlow nor of `serving`; None without one.
    """
    first_places = {}
    for operation in operations(graph):
        if operation.type in kinds and first_places.get(operation.type) is None:
            first_places[operation.type] = place(operation)
    return first_places


def operations(graph, seen=()):
    """Those of a graph and of the functions that it calls, as far as they were traced with it."""
    yield from graph.get_operations()
    for function in getattr(graph, "_functions", {}).values():
        inner = getattr(function, "graph", None)
        if inner is not None and inner not in seen:
            yield from operations(inner, (*seen, graph))


def place(operation):
    """Of one operation."""
    for frame in reversed(list(operation.traceback or ())):
        if not passed_through(frame.filename):
            return f"{frame.filename}:{frame.lineno}, {linecache.getline(frame.filename, frame.lineno).strip()!r}"
    return None


def passed_through(filename):
    """Whether a line of this file says nothing of the model."""
    path = Path(filename).resolve()
    of_python = path.is_relative_to(PYTHON) and not {"site-packages", "dist-packages"} & set(path.parts)
    return filename.startswith("<") or of_python or any(map(path.is_relative_to, (*LIBRARIES, SERVING)))
