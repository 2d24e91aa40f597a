"""Arrays by name in one file, which is written whole or not at all and holds the SHA-256 of its content.

The file is an `.npz`, which `numpy.load` reads, too. It is written under another name, flushed to the disk and renamed,
so a reader finds either the old file or the new one, never a part of one. Nothing is pickled. An array is compressed
where that makes it smaller by a fifth: texts, and the state of an optimizer for rows that were never read. Trained
weights become 7 % smaller, which is not worth the time.
"""

import contextlib
import hashlib
import zipfile
import zlib

import numpy as np

from zoo.core.storage import write_atomically

_SHA256 = "sha256"
SAMPLE = 2**16  # values of an array that are compressed to see whether it pays


class DamagedError(OSError):
    """A file does not hold what was written, or nothing of this kind."""


def save(path, arrays):
    """Write `{name: array}`."""
    arrays = arrays | {_SHA256: np.array(_digest(arrays))}
    write_atomically(path, lambda file: _write(file, arrays))


def _write(file, arrays):
    with zipfile.ZipFile(file, "w", compresslevel=1) as archive:
        for name, values in arrays.items():
            archive.compression = zipfile.ZIP_DEFLATED if _pays(values) else zipfile.ZIP_STORED
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, values, allow_pickle=False)


def _pays(values):
    """Whether a sample from all over the array becomes smaller by a fifth."""
    sample = values.reshape(-1)[:: max(1, values.size // SAMPLE)].tobytes()
    return len(zlib.compress(sample, 1)) < 0.8 * len(sample)


def read(path):
    """The arrays of a file by name.

    Raises:
        FileNotFoundError: there is no such file.
        DamagedError: its content is not what was written.
    """
    with _open(path) as archive:
        values = {name: archive[name] for name in archive if name != _SHA256}
        _compare(archive, values)
        return values


def check(path):
    """As `read`, but one array after the other is held in memory, and none is returned."""
    with _open(path) as archive:
        _compare(archive, archive)


def part(path, name):
    """One array, or None if the file holds none of this name; the others are not read, nor is the SHA-256 compared.

    Raises:
        DamagedError: the file, or this array, is damaged.
    """
    with _open(path) as archive:
        return archive[name] if name in archive else None


@contextlib.contextmanager
def _open(path):
    """The arrays of a file by name, each of which is read when it is asked for."""
    try:
        # The file is opened here because np.load leaves it open if it is damaged.
        with open(path, "rb") as file:
            if file.read(2) != b"PK":  # or else NumPy takes it for a pickle, and says how to load one
                raise ValueError("it is no archive of arrays (.npz).")
            file.seek(0)
            with np.load(file, allow_pickle=False) as arrays:
                yield arrays
    except OSError:
        raise
    except Exception as error:  # a wrong bit may be anything: a length, a method of compression, a type
        raise DamagedError(f"{path} is damaged, or not a checkpoint of the zoo: {error}") from error


def _compare(archive, arrays):
    if str(archive[_SHA256]) != _digest(arrays):
        raise ValueError("its content has not the SHA-256 that it was written with.")


def _digest(arrays):
    """SHA-256 of names, types, shapes and values."""
    total = hashlib.sha256()
    for name in sorted(arrays):
        if name != _SHA256:
            values = np.ascontiguousarray(arrays[name])
            total.update(f"{name} {values.dtype.str} {values.shape}\n".encode())
            total.update(values.reshape(-1).view("uint8"))
    return total.hexdigest()
