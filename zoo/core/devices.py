"""Many devices: a training whose batches are split among them, on JAX (data parallel).

Every device holds all weights and gets an equal part of each batch; the gradients are summed by the compiled step. The
numbers are those of one device but for the order of sums: dropout's masks are functions of the position in the whole
batch. Large weights may be split, too (`zoo.core.layouts`); then several devices together hold a copy of the model, and
get the same part of each batch. One process may have many devices, and several processes, one for each host, train
together when each of them has the variables of `keras.distribution.initialize`:

| variable | meaning |
|---|---|
| `KERAS_DISTRIBUTION_JOB_ADDRESSES` | `host:port` of process 0, or of all processes, separated by commas |
| `KERAS_DISTRIBUTION_NUM_PROCESSES` | how many processes there are |
| `KERAS_DISTRIBUTION_PROCESS_ID` | the number of this one, from 0 |

Only process 0 writes to the run directory; all of them read it, so it lies on a file system that they share.
"""

import atexit
import contextlib
import json
import os
import sys
from pathlib import Path

import numpy as np

from zoo.core import layouts
from zoo.core.later import later

jax = later("jax")
keras = later("keras")
multihost_utils = later("jax.experimental.multihost_utils")

BACKENDS = ("tensorflow", "jax")  # of Keras, on which recipes are trained and scored
PREFIX = "KERAS_DISTRIBUTION_"
HEARTBEAT = 20  # seconds without a sign of life after which a process counts as lost


class LostError(OSError):
    """Another process of the training has ended, or cannot be reached."""


def settings():
    """`(addresses, processes, number)` from the environment; None if this process trains alone.

    Raises:
        ValueError: a variable is missing or is no number of that range.
    """
    variables = {name: os.environ.get(f"{PREFIX}{name}") for name in ("JOB_ADDRESSES", "NUM_PROCESSES", "PROCESS_ID")}
    if not any(variables.values()):
        return None
    missing = [f"{PREFIX}{name}" for name, value in variables.items() if not value]
    if missing:
        raise ValueError(
            f"A training of several processes needs three variables, and {' and '.join(missing)} is not set: the "
            "address of process 0, the number of processes, and the number of this one."
        )
    try:
        count, number = int(variables["NUM_PROCESSES"]), int(variables["PROCESS_ID"])
    except ValueError:
        count = number = -1
    if not 0 <= number < count:
        raise ValueError(
            f"Expected {PREFIX}NUM_PROCESSES and {PREFIX}PROCESS_ID to be whole numbers, the second below the first; "
            f"received {variables['NUM_PROCESSES']!r} and {variables['PROCESS_ID']!r}."
        )
    return variables["JOB_ADDRESSES"], count, number


def leads():
    """Whether this process writes: it is alone, or number 0."""
    job = settings()
    return job is None or job[2] == 0


def backend():
    """The name of Keras' backend, which need not be imported for it."""
    if "keras" in sys.modules:
        return sys.modules["keras"].backend.backend()
    if os.environ.get("KERAS_BACKEND"):
        return os.environ["KERAS_BACKEND"]
    with contextlib.suppress(OSError, ValueError, AttributeError):
        path = Path(os.environ.get("KERAS_HOME", os.path.expanduser("~/.keras"))) / "keras.json"
        return json.loads(path.read_text(encoding="utf-8")).get("backend", "tensorflow")
    return "tensorflow"


def check_backend():
    """Refuse a backend of Keras on which no recipe is trained or scored.

    Raises:
        ValueError: it is such a one.
    """
    if backend() not in BACKENDS:
        raise ValueError(
            f"recipes are trained and scored on Keras' backends {' and '.join(BACKENDS)}; received {backend()!r}. Set "
            "KERAS_BACKEND to one of them."
        )


def on_a_processor():
    """Whether Keras' backend computes on a processor, for want of an accelerator."""
    return all(name.lower().startswith("cpu") for name in keras.distribution.list_devices())


def memory():
    """`(bytes that an accelerator has for this process, the most that it held)`, as JAX knows them; else None."""
    if backend() != "jax" or on_a_processor():
        return None
    stats = jax.local_devices()[0].memory_stats() or {}
    found = stats.get("bytes_limit"), stats.get("peak_bytes_in_use")
    return None if None in found else found


def check(devices, batch_size, parts=1):
    """Refuse what cannot be trained on many devices, before anything is read.

    Args:
        devices: a number of devices, "all", or None.
        batch_size: examples of a batch.
        parts: devices that hold a copy of the model together.

    Raises:
        ValueError: the backend is not JAX, or devices or the batch cannot be split equally.
    """
    alone = devices is None and settings() is None
    if alone and parts == 1:
        return
    if backend() != "jax":
        raise ValueError(
            f"Training on many devices needs the JAX backend; this one is {backend()}. Keras' distribution does not "
            "support compiled steps on TensorFlow. Set KERAS_BACKEND=jax: the run's model.keras is exported and "
            "served from TensorFlow as always."
        )
    if alone:
        raise ValueError(
            f"training.model_parallel={parts} splits the weights among {parts} devices, and this training has one. "
            f"Give --devices all or a multiple of {parts}, or --set training.model_parallel=1."
        )
    if isinstance(devices, int):
        _check_split(devices, batch_size, parts)


def start(devices, training):
    """Connect the processes, and let Keras place the weights of every model from now on on the devices.

    It is called before anything is computed.

    Args:
        devices: as of `check`; the number is that of all processes together. Where there is no accelerator, so many
            are made of the processor, to try it out.
        training: the table of a recipe, with `batch_size`, `seed`, which is the same in all processes,
            `model_parallel` and `layout`.

    Returns:
        A line about the devices, or None if there is nothing to start.

    Raises:
        ValueError: there are not so many devices, or devices or the batch cannot be split equally.
    """
    group = settings()
    if devices is None and group is None:
        return None
    keras.utils.set_random_seed(training.seed)
    processes = group[1] if group else 1
    if isinstance(devices, int) and devices % processes == 0:
        with contextlib.suppress(RuntimeError):  # devices exist already; there may be enough of them
            jax.config.update("jax_num_cpu_devices", devices // processes)
    if group:
        addresses, count, number = group
        jax.distributed.initialize(
            coordinator_address=addresses.split(",")[0],
            num_processes=count,
            process_id=number,
            heartbeat_timeout_seconds=HEARTBEAT,
        )
    among = f"{processes} process{'es' if processes > 1 else ''}"
    names = keras.distribution.list_devices()
    total = len(names) if devices in (None, "all") else devices
    if total > len(names) or (group and total != len(names)):
        mend = "all: every device of every process takes part" if group else f"all, or a number up to {len(names)}"
        raise ValueError(f"Expected {total} devices, received {len(names)}, in {among}. Give --devices {mend}.")
    parts = training.model_parallel
    copies = _check_split(total, training.batch_size, parts)
    if parts > 1:
        distribution = layouts.split(names[:total], parts, training.layout)
    else:
        distribution = keras.distribution.DataParallel(devices=names[:total], auto_shard_dataset=False)
    keras.distribution.set_distribution(distribution)
    line = f"{total} devices ({jax.devices()[0].device_kind}) in {among}, {training.batch_size // copies} examples of "
    if parts == 1:
        return f"{line}each batch on one"
    return f"{line}each batch on one of the {copies} copies of the model, which have {parts} devices each"


def _check_split(devices, batch_size, parts):
    """The number of copies of the model."""
    if devices % parts:
        raise ValueError(
            f"{devices} devices cannot hold copies of a model of which each is split among {parts} "
            f"(training.model_parallel). Give --devices a multiple of {parts}, or set another training.model_parallel."
        )
    copies = devices // parts
    if batch_size % copies:
        near = [size for size in (batch_size // copies * copies, -(-batch_size // copies) * copies) if size]
        among = f"{copies} devices" if parts == 1 else f"{copies} copies of the model"
        raise ValueError(
            f"A batch of {batch_size} examples cannot be split equally among {among}. Choose another number "
            f"of devices, or --set training.batch_size={' or '.join(map(str, near))}."
        )
    return copies


def whole(value):
    """An array as NumPy's own copy, wherever its parts lie. Of several processes all call it, for all have parts."""
    if settings() is not None and not value.is_fully_replicated:
        value = multihost_utils.process_allgather(value, tiled=True)
    return np.asarray(value).copy()


def by_rows(function, *arrays):
    """`function(*arrays)`, one array or a tuple, whose row i depends on the rows i alone: each device computes its own.

    XLA knows that of most operations. Of the others, such as `top_k`, it gathers the whole batch on every device.
    """
    distribution = keras.distribution.distribution()
    if distribution is None or any(
        array.shape[0] is None or array.shape[0] % distribution.num_model_replicas for array in arrays
    ):
        return function(*arrays)
    places = [distribution.get_data_layout(array.shape).backend_layout for array in arrays]
    rows = jax.sharding.PartitionSpec(places[0].spec[0])
    mapped = jax.shard_map(
        function, mesh=places[0].mesh, in_specs=tuple(place.spec for place in places), out_specs=rows, check_vma=False
    )
    return mapped(*arrays)


@contextlib.contextmanager
def apart():
    """A context in which models are called without splitting their inputs: every device computes the same."""
    distribution = keras.distribution.distribution()
    if distribution is None:
        yield
        return
    keras.distribution.set_distribution(None)
    try:
        yield
    finally:
        keras.distribution.set_distribution(distribution)


def together(what):
    """Wait until all processes are here."""
    if settings() is not None:
        multihost_utils.sync_global_devices(what)


@contextlib.contextmanager
def explain_loss():
    """A context in which the loss of another process is told as that.

    After any error this process ends without waiting for the others, which wait for it, and so learn of it.

    Raises:
        LostError: a sum over all processes failed. A lack of memory of this process stays what it is.
    """
    if settings() is None:
        yield
        return
    try:
        try:
            yield
        except BaseException:
            atexit.register(_end)  # what is registered last comes first: before JAX waits for the others
            raise
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" in str(error):  # this process lacks memory
            raise
        first = " ".join(str(error).split())[:200]
        raise LostError(
            f"Another process of this training has ended, or cannot be reached ({first}). Start all of them again with "
            "--resume; the number of devices and processes may be another one."
        ) from error


def _end():
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)
