"""The whole state of a training in one file, restored bit for bit.

A checkpoint is an `.npz` of every variable of the model (non-trainable ones and dropout's seed
generators among them) and of the optimizer, with the loop's own state as JSON beside them. Files
appear by rename after an fsync, so a reader sees the old one or the new one, never half of one;
nothing is pickled, and a training on one backend can be continued on the other.
"""

import json
import os
from pathlib import Path

import numpy as np

_STATE = "state.json"


def write_atomically(path, write):
    """Call `write(file)` on a neighbour of `path`, flush it to the disk and rename it to `path`."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.partial")
    with open(beside, "wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)  # the rename itself
    finally:
        os.close(directory)


def _arrays(prefix, variables):
    """Variables by position: their automatic names differ from one process to the next."""
    return {f"{prefix}/{index:05d}": np.asarray(variable.value) for index, variable in enumerate(variables)}


def _assign(prefix, variables, arrays, path):
    names = sorted(name for name in arrays if name.startswith(f"{prefix}/"))
    stored = [tuple(arrays[name].shape) for name in names]
    wanted = [tuple(variable.shape) for variable in variables]
    if stored != wanted:
        first = next(
            (i for i, pair in enumerate(zip(stored, wanted, strict=False)) if pair[0] != pair[1]),
            min(len(stored), len(wanted)),
        )
        raise ValueError(
            f"{path} does not fit the {prefix}: expected {len(wanted)} variables, received "
            f"{len(stored)}; they first differ at number {first} (expected "
            f"{wanted[first : first + 1]}, received {stored[first : first + 1]}). "
            "Build it with the settings that the checkpoint was trained with."
        )
    for name, variable in zip(names, variables, strict=True):
        variable.assign(arrays[name])


def _read(path):
    try:
        with np.load(path, allow_pickle=False) as file:
            return dict(file)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} is not a checkpoint of the zoo: {error}") from error


def save(path, model, optimizer, state):
    """Write model, optimizer and `state` (anything JSON can hold) to the file `path`."""
    arrays = _arrays("model", model.variables) | _arrays("optimizer", optimizer.variables)
    arrays[_STATE] = np.array(json.dumps(state))
    write_atomically(path, lambda file: np.savez(file, **arrays))


def restore(path, model, optimizer):
    """Assign what `save` wrote to a built model and optimizer; returns `state`.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is no checkpoint, or its variables do not fit.
    """
    arrays = _read(path)
    if _STATE not in arrays:
        raise ValueError(f"{path} is not a checkpoint of the zoo: it lacks {_STATE}.")
    _assign("model", model.variables, arrays, path)
    _assign("optimizer", optimizer.variables, arrays, path)
    return json.loads(str(arrays[_STATE]))


def read_state(path):
    """The `state` of a checkpoint alone.

    Raises:
        ValueError: the file is no checkpoint.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            return json.loads(str(file[_STATE]))
    except (ValueError, EOFError, KeyError) as error:
        raise ValueError(f"{path} is not a checkpoint of the zoo: {error}") from error


def save_weights(path, model):
    """Write the model's variables alone."""
    arrays = _arrays("model", model.variables)
    write_atomically(path, lambda file: np.savez(file, **arrays))


def load_weights(path, model):
    """Assign what `save_weights` wrote; raises as `restore` does."""
    _assign("model", model.variables, _read(path), path)


def average(paths, model):
    """Set the model to the mean of several weight files, in float64.

    Variables that are not floating point (seeds, counters) come from the first file.

    Raises:
        ValueError: no paths are given, or a file does not fit the model.
    """
    paths = list(paths)
    if not paths:
        raise ValueError("expected at least one weight file to average, received none.")
    first, *others = (_read(path) for path in paths)
    for path, arrays in zip(paths, [first, *others], strict=True):
        _assign("model", model.variables, arrays, path)  # checks that each of them fits

    def mean(name):
        value = first[name]
        if not np.issubdtype(value.dtype, np.floating):
            return value
        total = sum((other[name].astype("float64") for other in others), value.astype("float64"))
        return (total / len(paths)).astype(value.dtype)

    _assign("model", model.variables, {name: mean(name) for name in first}, "the average")
