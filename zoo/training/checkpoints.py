"""The whole state of a training in one file, from which it is restored bit for bit.

A checkpoint is an `.npz` file with every variable of the model (including non-trainable variables and the seed
generators of dropout) and of the optimizer, and with the state of the loop as JSON. A file is written under another
name, flushed to the disk and renamed, so a reader finds either the old file or the new one, never a part of one.
Nothing is pickled, and the file holds the SHA-256 of its content. A training on one backend can be continued on the
other.

The values are copied first (`snapshot`, `weights_of`), so that a thread can write them while the training goes on.
Weights that are split among devices are put together, so a file says nothing of devices.
"""

import contextlib
import hashlib
import json
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np

from zoo.core import devices
from zoo.core.storage import write_atomically

_STATE, _SHA256 = "state.json", "sha256"


class DamagedError(OSError):
    """A file is no checkpoint, or its content is not what was written."""


def _arrays(prefix, variables):
    """Copies of the values, named by position, because Keras' own names differ from one process to the next."""
    return {f"{prefix}/{index:05d}": devices.whole(variable.value) for index, variable in enumerate(variables)}


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


@contextlib.contextmanager
def _open_arrays(path):
    """The arrays of a checkpoint file by name, each of which is read when it is asked for."""
    try:
        # The file is opened here because np.load leaves it open if it is damaged.
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as arrays:
            yield arrays
    except OSError:
        raise
    except Exception as error:  # a wrong bit may be anything: a length, a method of compression, a type
        raise DamagedError(f"{path} is damaged, or not a checkpoint of the zoo: {error}") from error


def _read(path):
    """The arrays of a checkpoint file by name, which are those that were written."""
    with _open_arrays(path) as opened:
        arrays = dict(opened)
        digest = str(arrays.pop(_SHA256))
        if digest != _digest(arrays):
            raise ValueError("its content has not the SHA-256 that it was written with.")
        return arrays


def _digest(arrays):
    """SHA-256 of names, types, shapes and values."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        values = np.ascontiguousarray(arrays[name])
        total.update(f"{name} {values.dtype.str} {values.shape}\n".encode())
        total.update(values.reshape(-1).view("uint8"))
    return total.hexdigest()


def snapshot(model, optimizer, state):
    """`{name: array}` of the variables of model and optimizer, as they are now, and of `state`, a JSON value."""
    arrays = weights_of(model) | _arrays("optimizer", optimizer.variables)
    return arrays | {_STATE: np.array(json.dumps(state))}


def weights_of(model):
    """`{name: array}` of the variables of the model alone, as they are now."""
    return _arrays("model", model.variables)


def save(path, arrays):
    """Write a `snapshot`, or `weights_of` a model, to the file `path`."""
    digest = np.array(_digest(arrays))
    write_atomically(path, lambda file: np.savez(file, **arrays, **{_SHA256: digest}))


def restore(path, model, optimizer):
    """Assign the values of a `snapshot` to a built model and its optimizer, and return `state`.

    Raises:
        FileNotFoundError: there is no such file.
        DamagedError: the file is not a checkpoint, or is damaged.
        ValueError: its variables do not fit.
    """
    arrays = _read(path)
    if _STATE not in arrays:
        raise DamagedError(f"{path} is not a checkpoint of the zoo: it lacks {_STATE}.")
    _assign("model", model.variables, arrays, path)
    _assign("optimizer", optimizer.variables, arrays, path)
    return json.loads(str(arrays[_STATE]))


def read_state(path):
    """Only the `state` of a checkpoint.

    Raises:
        DamagedError: the file is not a checkpoint, or is damaged.
    """
    with _open_arrays(path) as arrays:
        return json.loads(str(arrays[_STATE]))


def check(path):
    """Refuse a file whose content is not what was written.

    Raises:
        DamagedError: likewise.
    """
    _read(path)


def save_weights(path, model):
    """Write only the variables of the model."""
    save(path, weights_of(model))


def load_weights(path, model):
    """Assign the values that `save_weights` wrote. It raises the same errors as `restore`."""
    _assign("model", model.variables, _read(path), path)


def average(paths, model):
    """Set the model's variables to the mean over several weight files, computed in float64.

    Variables that are not floating-point numbers (seeds, counters) are taken from the first file.

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


class Writer:
    """A context in which a thread writes, one write at a time; it ends when the last write has ended.

    An error of a write is raised where the next one begins, or where the context ends. If the context ends with another
    error, that one is raised, with a note of the write; except for Ctrl-C, which promises that the training is saved.
    """

    def __init__(self):
        self._pool, self._last = ThreadPoolExecutor(1, thread_name_prefix="writer"), None

    def begin(self, write):
        """Call `write()` in the thread, as soon as the write before it has ended.

        Raises:
            Exception: what the write before it raised.
        """
        self._wait()
        self._last = self._pool.submit(write)

    def _wait(self):
        if self._last is not None:
            wait([self._last])  # which Ctrl-C may end: then the write is waited for once more at the end
            last, self._last = self._last, None
            last.result()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        try:
            self._wait()
        except Exception as failed:
            if error is None or isinstance(error, KeyboardInterrupt):
                raise
            error.add_note(f"The last checkpoint could not be written either: {failed}")
        finally:
            self._pool.shutdown()
