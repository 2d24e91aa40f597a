"""The cache of this machine: files of models, each compared with its SHA-256 before it has its name, and indexes.

    models/KEY/entry.json          the entry of one version, and the addresses of the hubs that have it
    models/KEY/NAME/VERSION/FILE   files of it; KEY is a hash of its name, its version and the SHA-256 of all its files
    partial/SHA256.part            what has arrived of a file so far; SHA256.json has its address
    locks/SHA256.lock              held by the process that downloads the file
    indexes/HASH.json              the last index of a hub, and when it was read

By the key, two hubs that have different files under one name share nothing, and two mirrors share everything.
"""

import contextlib
import errno
import hashlib
import json
import logging
import os
import threading
from pathlib import Path

import filelock
import platformdirs

from zoo.core.storage import rename
from zoo.hub.base import HubError, open_regular
from zoo.hub.index import FORMAT, check_index

log = logging.getLogger("seqzoo.hub")
BLOCK = 1 << 16
MOST_BYTES = 2**25  # that are read of a JSON file of the cache


def root():
    """The folder of the cache: SEQZOO_CACHE, or that of the operating system for this user.

    Raises:
        HubError: this user has no home folder, as in a container that runs under a bare number.
    """
    try:
        place = os.environ.get("SEQZOO_CACHE") or platformdirs.user_cache_dir("seqzoo", appauthor=False)
    except RuntimeError as error:
        raise HubError(
            "there is no folder to keep models in: this user has no home folder (HOME). Set SEQZOO_CACHE to a folder "
            "that this process may write, or name the folder of an artefact instead of a model."
        ) from error
    return Path(place).absolute()


def key(entry):
    """A name for the contents of one version of a model."""
    contents = {name: entry[name] for name in ("name", "version", "files")}
    return hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()[:16]


def folder(entry):
    """Where the files of an entry lie; it need not exist."""
    return root() / "models" / key(entry) / entry["name"] / str(entry["version"])


def fault(path, size, digest):
    """What is wrong with a file, in words, or None if it is a regular file of this size and SHA-256."""
    try:
        with open_regular(path) as file:
            found_size = os.fstat(file.fileno()).st_size
            if found_size != size:
                return f"{found_size:,} bytes instead of {size:,}"
            return None if hashlib.file_digest(file, "sha256").hexdigest() == digest else "other bytes"
    except (FileNotFoundError, NotADirectoryError):
        return "missing"
    except OSError as error:
        return f"not readable: {error.strerror}"


def faults(folder, entry, names=None):
    """`{name: what is wrong with it}` of those files of an entry, or of all, that are not in a folder as it says."""
    files = sorted(entry["files"]) if names is None else dict.fromkeys(names)
    states = {name: fault(Path(folder) / name, entry["bytes"][name], entry["files"][name]) for name in files}
    return {name: wrong for name, wrong in states.items() if wrong}


def remember(entry, address):
    """Store an entry beside its files, so that the model can be used when its hub cannot be reached."""
    path = root() / "models" / key(entry) / "entry.json"
    places = (read_json(path) or {}).get("places", [])
    record = {"places": sorted({*places, address}) if isinstance(places, list) else [address], "entry": entry}
    if read_json(path) != record:
        with contextlib.suppress(OSError):  # the files are there; what is lost is the use without the hub
            write_json(path, record)


def entries(address=None):
    """The entries of the models in the cache; with an address, only those from this hub."""
    valid = []
    for path in sorted((root() / "models").glob("*/entry.json")):
        record = read_json(path)
        if record is None and (fault := read_fault(path)):
            log.warning("%s", fault)
        try:
            (entry,) = check_index({"format": FORMAT, "models": [record["entry"]]})["models"]
            if address is None or address in record["places"]:
                valid.append(entry)
        except (TypeError, KeyError, ValueError):
            continue  # another version wrote it: the hub has the entry
    return valid


def partial_file(digest):
    """The path of the partial download of the file with this SHA-256."""
    return root() / "partial" / f"{digest}.part"


def index_file(address):
    """The path of the cached index of the hub at `address`."""
    return root() / "indexes" / f"{hashlib.sha256(address.encode()).hexdigest()[:16]}.json"


def read_json(path):
    """The JSON object in a file of the cache, or None if there is none."""
    try:
        with open(path, "rb") as file:
            value = json.loads(file.read(MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def read_fault(path):
    """Why an existing file of the cache cannot be read, in words; None if it can, or does not exist."""
    try:
        with open(path, "rb"):
            return None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return (
            f"{path} cannot be read: {error.strerror}. Let its owner make it readable, or set SEQZOO_CACHE to a folder "
            "of your own."
        )


def write_json(path, value):
    """Write a JSON file, with the permissions of the umask, so that readers see the old one or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}-{os.getpid()}-{threading.get_ident()}")
    try:
        temporary.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
        give_name(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def give_name(partial, path):
    """Move the complete and checked file `partial` to `path`, in one step that survives a loss of power."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(partial, "rb+") as file:
        os.fsync(file.fileno())
    rename(partial, path)


@contextlib.contextmanager
def lock(digest, what):
    """A context that holds the lock of the file with this SHA-256; the system frees it however the process ends."""
    path = root() / "locks" / f"{digest}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    file_lock = filelock.FileLock(path)
    try:
        file_lock.acquire(timeout=2)
    except filelock.Timeout:
        log.warning("waiting for another process, which downloads %s", what)
        file_lock.acquire()
    try:
        yield
    finally:
        file_lock.release()


@contextlib.contextmanager
def one_at_a_time(name, seconds=5.0):
    """A context for one process at a time; a process goes on without the lock after `seconds`, or if it cannot lock."""
    path = root() / "locks" / f"{name}.lock"
    file_lock = filelock.FileLock(path, timeout=seconds)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file_lock.acquire()
    except OSError:  # filelock.Timeout, or a read-only cache
        pass
    try:
        yield
    finally:
        file_lock.release()


@contextlib.contextmanager
def explain_write_errors():
    """A context in which an `OSError` becomes a `HubError` that says what to do where the cache cannot be written."""
    try:
        yield
    except HubError:
        raise
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        advice = "free some space, and the download goes on from where it is" if full else "choose another one"
        raise HubError(
            f"the cache {root()} cannot be written: {error.strerror or error}. {advice[0].upper()}{advice[1:]}; "
            "SEQZOO_CACHE names the folder of the cache."
        ) from error
