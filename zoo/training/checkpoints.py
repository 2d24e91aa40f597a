"""The whole state of a training in one file, from which it goes on bit for bit, on another machine of this kind, too.

A checkpoint (`zoo.core.array_files`) has every variable of the model (including non-trainable variables and the seed
generators of dropout) and of the optimizer, the best weights that were validated, the state of the loop as JSON, and
the small files of the run's folder: recipe, vocabularies, metrics. A training on one backend can be continued on the
other.

The values are copied first (`snapshot`), so that a thread can write them while the training goes on. Weights that are
split among devices are put together, so a file says nothing of devices.
"""

import json
from concurrent.futures import ThreadPoolExecutor, wait

import numpy as np

from zoo.core import array_files, devices
from zoo.core.array_files import DamagedError

_STATE = "state.json"


def _copy_values(prefix, variables):
    """Copies of the values, named by position, because Keras' own names differ from one process to the next."""
    return {f"{prefix}/{index:05d}": devices.whole(variable.value) for index, variable in enumerate(variables)}


def _assign(prefix, variables, arrays, path):
    names = sorted(name for name in arrays if name.startswith(f"{prefix}/"))
    stored_shapes = [tuple(arrays[name].shape) for name in names]
    expected_shapes = [tuple(variable.shape) for variable in variables]
    if stored_shapes != expected_shapes:
        first = next(
            (i for i, pair in enumerate(zip(stored_shapes, expected_shapes, strict=False)) if pair[0] != pair[1]),
            min(len(stored_shapes), len(expected_shapes)),
        )
        raise ValueError(
            f"{path} does not fit the {prefix}: expected {len(expected_shapes)} variables, received "
            f"{len(stored_shapes)}; they first differ at number {first} (expected "
            f"{expected_shapes[first : first + 1]}, received {stored_shapes[first : first + 1]}). "
            "Build it with the settings that the checkpoint was trained with."
        )
    for name, variable in zip(names, variables, strict=True):
        variable.assign(arrays[name])


def snapshot(model, optimizer, state, best=None):
    """`{name: array}` of a training as it is now.

    Args:
        model, optimizer: their variables are taken.
        state: a JSON value.
        best: `get_weights` of the model at other steps, by step.
    """
    arrays = get_weights(model) | _copy_values("optimizer", optimizer.variables)
    for step, weights in (best or {}).items():
        arrays |= {f"best/{step:08d}/{name}": values for name, values in weights.items()}
    return arrays | {_STATE: np.array(json.dumps(state))}


def get_weights(model):
    """`{name: array}` of the variables of the model alone, as they are now."""
    return _copy_values("model", model.variables)


def set_weights(model, arrays):
    """Assign to a model the values that `get_weights` returned."""
    _assign("model", model.variables, arrays, "the file")


def restore(path, model, optimizer):
    """Assign the values of a `snapshot` to a built model and its optimizer, and return `(state, best)`.

    Raises:
        FileNotFoundError: there is no such file.
        DamagedError: the file is not a checkpoint, or is damaged.
        ValueError: its variables do not fit.
    """
    arrays = array_files.read(path)
    if _STATE not in arrays:
        raise DamagedError(f"{path} is not a checkpoint of the zoo: it lacks {_STATE}.")
    _assign("model", model.variables, arrays, path)
    _assign("optimizer", optimizer.variables, arrays, path)
    best = {}
    for name, values in arrays.items():
        if name.startswith("best/"):
            _, step, weight = name.split("/", 2)
            best.setdefault(int(step), {})[weight] = values
    return json.loads(str(arrays[_STATE])), best


def read_state(path):
    """The `state` of a checkpoint alone.

    Raises:
        DamagedError: the file is not a checkpoint, or is damaged.
    """
    state = array_files.part(path, _STATE)
    if state is None:
        raise DamagedError(f"{path} is not a checkpoint of the zoo: it lacks {_STATE}.")
    return json.loads(str(state))


def average(weights, model):
    """Set the model's variables to the mean over several results of `get_weights`, computed in float64.

    Variables that are not floating-point numbers (seeds, counters) are taken from the first.

    Raises:
        ValueError: `weights` is empty, or some of them do not fit the model.
    """
    weights = list(weights)
    if not weights:
        raise ValueError("expected at least one set of weights to average, received none.")
    for arrays in weights:
        set_weights(model, arrays)  # checks that each of them fits
    first, *others = weights

    def mean(name):
        value = first[name]
        if not np.issubdtype(value.dtype, np.floating):
            return value
        total = sum((other[name].astype("float64") for other in others), value.astype("float64"))
        return (total / len(weights)).astype(value.dtype)

    set_weights(model, {name: mean(name) for name in first})


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
            wait([self._last])  # Ctrl-C may end this; then `__exit__` waits for the write once more
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
