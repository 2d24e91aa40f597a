"""What a command decides before a framework is imported: what is kept in memory and on disk, and what is left out.

**Memory.** Each step of a training frees arrays of tens or hundreds of megabytes that the next one asks for again. By
default the C library gives them back to the kernel, which has to find, clear and map each page anew: a sixth of the
processor time of a step on JAX, and more where the kernel, or the host of a virtual machine, has few pages left. So
arrays below a gigabyte are kept, in one heap that all threads share.

**Programs.** XLA compiles a step for each shape of a batch, for which a short training may take longer than for its
steps. TensorFlow and JAX can both keep the programs in a folder and find them again, so that the same training, its
continuation, another seed or an evaluation begins at once. (TensorFlow may order a program in another way in another
process, and compiles it again then.) A program that is read is the one that was compiled: weights are the same bit for
bit. The folder is `compiled` of the cache (SEQZOO_CACHE).

**Imports.** Keras and TensorFlow import optional packages when these are installed: Keras pandas, for data frames in
`fit`, and Matplotlib, for galleries of pictures; TensorFlow JAX, for a converter of TensorFlow Lite. No command uses
these, and they are a third of the time that importing the two takes. Everybody else imports them as before: our
figures, readers of Parquet files, layers of a user. On JAX, Keras imports TensorFlow to ask whether an object is one of
TensorFlow's, which takes 2.7 s and 500 MB. Nothing is, if nobody has imported it. docs/decisions.md has the text of an
issue for Keras. tests/tools/test_lean.py fails when an import is left out that nobody asks for any more; then it goes
from here.
"""

import contextlib
import ctypes
import hashlib
import importlib.abc
import importlib.machinery
import os
import shutil
import sys

from serving.lazy import later

cache, processor, sessions = later("zoo.hub.cache"), later("zoo.core.processor"), later("serving.runtime.sessions")
packages = later("zoo.core.later")

VARIABLE = "GLIBC_TUNABLES"  # a value that the user has set stays
LARGEST = 2**30  # bytes of an array that is kept; larger ones would be costly if they were kept for nothing
# The settings of glibc's mallopt, by the numbers of malloc.h; they are set before there are threads.
ARENAS, MAPPED, TRIMMED = -8, -3, -1
SETTINGS = {ARENAS: 1, MAPPED: LARGEST, TRIMMED: -1}  # -1: nothing is given back


FOLDER = "compiled"
MOST = 2**30  # bytes of all programs; beyond them the folder is emptied
LEAST = 2**28  # bytes that are free on the disk
SECONDS = "0.5"  # a program that JAX compiled in less is not kept
# TensorFlow does not look at the kind of a GPU: it keeps the programs of processors alone.
TENSORFLOW = "--tf_xla_persistent_cache_directory={} --tf_xla_persistent_cache_device_types=CPU"

# A package, and the modules, by the beginning of their names, that import it only if it is there.
OPTIONAL = {
    "pandas": ("keras.",),
    "matplotlib": ("keras.",),
    "jax": ("tensorflow.lite.", "keras.src.callbacks."),  # as a backend Keras imports it elsewhere
}
# Modules that ask for it in this way; there it is called `tf`.
ASKING = ("keras.src.saving.serialization_lib", "keras.src.utils.rng_utils")


def free_memory():
    """Have TensorFlow give memory back: for a program that holds a network and computes little with it.

    oneDNN keeps what it once had in regions that double; with this it frees arrays.
    """
    os.environ.setdefault("TF_ONEDNN_USE_SYSTEM_ALLOCATOR", "1")


def keep_memory():
    """Tell the C library to keep what is freed, where it has a function for it."""
    if VARIABLE in os.environ:
        return
    with contextlib.suppress(AttributeError, TypeError, OSError):  # of another system
        function = ctypes.CDLL(None).mallopt
        for number, value in SETTINGS.items():
            function(number, value)


def keep_programs():
    """Tell both backends, by variables of the environment that they read when they are imported, to keep programs.

    What the user has set stays: any `TF_XLA_FLAGS`, or a `JAX_COMPILATION_CACHE_DIR`, which is empty for none. Nothing
    is kept where the cache cannot be written, or the disk is nearly full.
    """
    try:
        home = cache.root() / FOLDER
        _empty_if_large(home)
        folder = home / _key()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except (ValueError, OSError):  # there is no home folder, or it cannot be written
        return
    if not os.access(folder, os.W_OK) or shutil.disk_usage(folder).free < LEAST:
        return
    if not any(map(str.isspace, str(folder))):  # it would be two flags
        os.environ.setdefault("TF_XLA_FLAGS", TENSORFLOW.format(folder))
    if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
        os.environ.setdefault("JAX_COMPILATION_CACHE_MAX_SIZE", str(MOST))
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", SECONDS)


def _key():
    """A name for all that machine code depends on and the backends' own keys leave out: the processor, how many cores
    there are, the versions, and the settings of XLA and TensorFlow."""
    parts = [processor.name(), *sorted(processor.instruction_sets()), str(sessions.cores())]
    parts += [f"{name} {packages.installed_version(name)}" for name in ("tensorflow", "jaxlib")]
    parts += sorted(f"{name}={value}" for name, value in os.environ.items() if name.startswith(("TF_", "XLA_")))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _empty_if_large(home):
    if home.is_dir() and sum(path.stat().st_size for path in home.rglob("*") if path.is_file()) > MOST:
        shutil.rmtree(home)


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
            raise ModuleNotFoundError(f"{fullname} is left out of a command (tools/startup.py).", name=fullname)
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
