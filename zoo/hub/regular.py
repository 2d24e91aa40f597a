"""Opens regular files alone: a pipe or a device in a folder must neither be waited for nor read without end."""

import os
import stat


def open_regular(path):
    """The file at `path`, opened for reading bytes.

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
