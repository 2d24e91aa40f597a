"""Checks from its bytes whether a `.keras` file is safe to load: nothing of it is executed, and little is read.

A `.keras` file is a zip of `config.json`, which names the classes to build, `metadata.json` and `model.weights.h5`.
Keras builds whatever class the configuration names, and imports its module. So each class must be one of Keras' or of
the zoo's, or of a package whose layers this process has registered already; a `Lambda` is refused; and the zip may hold
nothing else, in no other place and no other size.
"""

import io
import json
import os
import stat
import sys
import zipfile
from importlib import metadata
from pathlib import Path

MEMBERS = {"config.json": 2**24, "metadata.json": 2**16, "model.weights.h5": 2**36}  # with the most bytes of each
RATIO = 200  # times that a member may be larger than its compressed bytes
REFUSED = {  # classes and functions of Keras that run code, or open other files, from a configuration
    "lambda",
    "torchmodulewrapper",
    "tfsmlayer",
    "jaxlayer",
    "flaxlayer",
    "stringlookup",
    "integerlookup",
    "indexlookup",
    "textvectorization",
    "__lambda__",
    "__typespec__",
}
VALUES = ("__tuple__", "__numpy__", "__tensor__", "__slice__", "__ellipsis__", "__keras_tensor__")  # plain data
FUNCTIONS = ("keras.activations", "keras.initializers", "keras.losses", "keras.metrics", "keras.regularizers")
NO_LAYERS = ("keras.utils", "keras.src.utils", "keras.saving", "keras.src.saving")
TOP = ("keras", "zoo", "builtins")
LAYERS = "seqzoo.layers"  # the group of entry points of packages that bring layers, as in `zoo.settings.occupants`
HDF5 = b"\x89HDF\r\n\x1a\n"


class UnsafeError(ValueError):
    """The file is not a model that the zoo could have written, so it was not loaded."""


def check_keras(path, modules=None):
    """Check a `.keras` file before it is loaded.

    Args:
        path: the file.
        modules: names of further packages whose classes it may have, for layers of one's own; by default
            `layer_packages()`.

    Raises:
        UnsafeError: the message says what is wrong.
    """
    path = Path(path)
    try:
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode):
            raise UnsafeError("it is no regular file")
        with zipfile.ZipFile(path) as archive:
            _check_members(archive.infolist(), status.st_size)
            config = _read_json(archive, "config.json")
            _read_json(archive, "metadata.json")
            with archive.open("model.weights.h5") as weights:
                if weights.read(len(HDF5)) != HDF5:
                    raise UnsafeError("model.weights.h5 is no HDF5 file")
                weights.seek(0)
                _check_arrays(weights, status.st_size)
        _check_config(config, (*TOP, *(layer_packages() if modules is None else modules)))
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        # From zipfile: NotImplementedError is an unknown compression, RuntimeError a password.
        raise UnsafeError(_describe_fault(path, f"it is no sound zip file: {error}")) from error
    except UnsafeError as error:
        raise UnsafeError(_describe_fault(path, error)) from None


def layer_packages():
    """The packages whose layers may be in a file: those that have registered classes with Keras in this process, and
    installed plug-ins with layers for the zoo, which register them as soon as Keras is imported."""
    keras = sys.modules.get("keras")
    names = keras.saving.get_custom_objects() if keras else ()
    plugins = {point.module.partition(".")[0] for point in metadata.entry_points(group=LAYERS)}
    return {name.partition(">")[0] for name in names if ">" in name} | plugins


def _describe_fault(path, why):
    mend = "Expected what `seqzoo export` wrote. Fetch it again, from a hub that you trust."
    return f"{path} is not loaded: {why}. {mend}"


def _check_members(members, size):
    names = [each.filename for each in members]
    strange = sorted(set(names) - MEMBERS.keys())
    if strange:
        raise UnsafeError(f"it holds {strange[0]!r}; expected {', '.join(MEMBERS)} and nothing else")
    if sorted(names) != sorted(MEMBERS):
        raise UnsafeError(
            f"it holds {', '.join(sorted(names)) or 'nothing'}; expected each of {', '.join(MEMBERS)} once"
        )
    for each in members:
        kind = stat.S_IFMT(each.external_attr >> 16)
        if kind not in (0, stat.S_IFREG):
            raise UnsafeError(f"{each.filename} is a link or another special file")
        if each.compress_size > size:
            raise UnsafeError(f"{each.filename} says that it has more bytes than the whole file")
        if each.file_size > min(MEMBERS[each.filename], RATIO * each.compress_size + 2**16):
            many = f"{each.compress_size:,} bytes become {each.file_size:,}"
            raise UnsafeError(f"{each.filename} says that its {many}, which is too many")


def _check_arrays(weights, size):
    """Refuse arrays that are much larger than their file: HDF5 has a compression of its own, and empty arrays."""
    try:
        import h5py
    except ImportError:  # then there is no Keras either, which would load them
        return
    total = 0

    def add(_, item):
        nonlocal total
        total += item.size * item.dtype.itemsize if isinstance(item, h5py.Dataset) and item.size else 0

    try:
        with h5py.File(io.BytesIO(weights.read())) as file:
            file.visititems(add)
    except (OSError, RuntimeError, ValueError, TypeError):  # h5py cannot read it, and Keras will say why
        return
    if total > RATIO * size + 2**16:
        raise UnsafeError(f"model.weights.h5 says that its {size:,} bytes become {total:,}, which is too many")


def _read_json(archive, name):
    try:
        return json.loads(archive.read(name).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UnsafeError(f"{name} is no JSON: {error}") from None


def _check_config(config, packages):
    """Refuse a configuration that names what is not a class of an allowed module."""
    if not isinstance(config, dict) or "class_name" not in config:
        raise UnsafeError("config.json names no class")
    waiting = [config]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            _check_class(value, packages)
            waiting += value.values()


def _check_class(value, packages):
    name, module = value.get("class_name"), value.get("module")
    if name is None and module is None:
        return
    registered_name = value.get("registered_name")
    texts = [each for each in (name, module, registered_name) if each is not None]
    if not all(isinstance(each, str) for each in texts):
        raise UnsafeError("config.json has the name of a class that is no text")
    for each in texts:
        if each.lower().rpartition(">")[2].rpartition(".")[2] in REFUSED:
            raise UnsafeError(f"config.json asks for {each!r}, which can run code or read other files")
    if name in VALUES and module is None:
        return
    if name == "function":
        if module not in (None, "builtins") and not (module or "").startswith(FUNCTIONS):
            raise UnsafeError(f"config.json asks for a function of {module!r}")
        return
    package = (registered_name or "").partition(">")[0] if ">" in (registered_name or "") else None
    top = module.partition(".")[0] if module else None
    if top is None and package is None and registered_name is None:
        raise UnsafeError(f"config.json asks for {name!r} and does not say of which module")
    for each in filter(None, (top, package)):
        if each not in packages:
            raise UnsafeError(f"config.json asks for {name!r} of {each!r}, which is neither Keras' nor the zoo's")
    if top == "builtins" or (module or "").startswith(NO_LAYERS):
        if name not in ("dict", "tuple", "slice", "NoneType"):
            raise UnsafeError(f"config.json asks for {name!r} of {module!r}, which is no layer")
