"""What every kind of hub shares: how it fails, `Answer`, which its `open` returns, and the plainest kind, a folder.

The command line exits with 1 for failures of hubs, and with 2 for wrong use, which is a `ValueError`.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO


class HubError(OSError):
    """A hub, or the cache, does not have what its index promises; the message says what to do."""


class Unreachable(HubError):
    """A hub cannot be reached, or may not be, because this process is offline."""


class Untrusted(HubError):
    """No trusted key signed the index of a hub, or the index may not be the newest."""


class Interrupted(Unreachable):
    """A hub stalled, cut the connection or was overloaded: another attempt may succeed."""


def open_regular(path):
    """The file at `path`, opened for reading bytes: a pipe or a device must neither be waited for nor read without end.

    Raises:
        OSError: it cannot be opened, or is not a regular file.
    """
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # opening a pipe must not wait for its writer
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(None, "it is no regular file")
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


@dataclass
class Answer:
    """What a hub answers to a request for a file.

    Attributes:
        file: has `read` and `close`.
        offset: the place in the file at which the answer begins.
        validator: a string that changes with the file, or None.
    """

    file: BinaryIO
    offset: int
    validator: str | None = None

    def read(self, most):
        """At most `most` bytes, fewer if no more have arrived; b"" at the end."""
        try:
            return self.file.read(most)
        except HubError:
            raise
        except OSError as error:
            raise HubError(f"reading a file of the hub failed: {error.strerror or error}.") from error

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()


class Folder:
    """A hub in a folder of this machine.

    Args:
        path: the folder with `index.json`.
        address: its name in messages and in the cache; by default the path.
        own: whether it belongs to this installation, so that its files are used in place and not copied.
    """

    remote = False

    def __init__(self, path, address=None, own=False):
        self.path = Path(path).absolute()
        self.address, self.own = address or str(self.path), own

    def read(self, path, most):
        """At most `most` + 1 bytes of a file."""
        with self.open(path) as answer:
            return answer.read(most + 1)

    def open(self, path, start=0, validator=None):
        """The file `path` of the hub from byte `start` on, as an `Answer`.

        Raises:
            HubError: there is no such file, or it cannot be read.
        """
        whole = self.path / path
        try:
            file = open_regular(whole)
        except OSError as error:
            raise HubError(f"{whole} cannot be read: {error.strerror}. Expected a hub at {self.path}.") from error
        file.seek(start)
        return Answer(file, start)
