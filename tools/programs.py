"""The programs that XLA compiles, kept on disk: what was compiled once need not be compiled again.

XLA compiles a step for each shape of a batch, for which a short training may take longer than for its steps. TensorFlow
and JAX can both keep the programs in a folder and find them again, so that the same training, its continuation, another
seed or an evaluation begins at once. (TensorFlow may order a program in another way in another process, and compiles
it again then.) A program that is read is the one that was compiled: weights are the same bit for bit. The folder is
`compiled` of the cache (SEQZOO_CACHE).
"""

import hashlib
import os
import shutil

from serving.lazy import later

cache, processor, sessions = later("zoo.hub.cache"), later("zoo.core.processor"), later("serving.runtime.sessions")
packages = later("zoo.core.later")

FOLDER = "compiled"
MOST = 2**30  # bytes of all programs; beyond them the folder is emptied
LEAST = 2**28  # bytes that are free on the disk
SECONDS = "0.5"  # a program that JAX compiled in less is not kept
# TensorFlow does not look at the kind of a GPU: it keeps the programs of processors alone.
TENSORFLOW = "--tf_xla_persistent_cache_directory={} --tf_xla_persistent_cache_device_types=CPU"


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
