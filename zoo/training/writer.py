"""Files that a thread writes while the training goes on."""

from concurrent.futures import ThreadPoolExecutor, wait


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
