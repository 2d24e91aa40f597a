"""Brings one file of a hub into the cache: whatever goes wrong, a file that has its name has its SHA-256.

What arrives is appended to `partial/SHA256.part`, under a lock, and never more than the index declares. After a cut it
goes on where it was (Range, with If-Range where the server names a validator). The whole file is hashed, written to
the disk (fsync) and renamed; one with other bytes is removed.
"""

import hashlib
import logging
import sys
import time

from zoo.hub import cache
from zoo.hub.base import HubError, Interrupted, Unreachable

log = logging.getLogger("seqzoo.hub")
ATTEMPTS = 5  # that bring nothing, one after the other, before the download is given up
MOST_ATTEMPTS = 500  # in all
RESTARTS = 2  # from the beginning, where the pieces of several answers do not fit together
WAIT, LONGEST_WAIT = 0.5, 8.0  # seconds before the second attempt, doubled before each further one, and their maximum
WIDTH, PAUSE = 24, 0.1  # of the bar of progress, in characters, and seconds between two drawings of it


def retry(action, attempts):
    """Call `action()` until it raises no `Interrupted`, at most so often, and return its result.

    Raises:
        Unreachable: every attempt was in vain.
    """
    for number in range(attempts):
        if number:
            time.sleep(min(LONGEST_WAIT, WAIT * 2 ** (number - 1)))
        try:
            return action()
        except Interrupted as error:
            failure = error
    after = f" after {attempts} attempts" if attempts > 1 else ""
    raise Unreachable(f"given up{after}: {failure}") from failure


class Download:
    """The download of one file.

    Args:
        place: the hub.
        path: the file's path in the hub.
        size, digest: its size and SHA-256 by the index.
        report: called with the number of bytes that have arrived, whenever it changes.
    """

    def __init__(self, place, path, size, digest, report):
        self.place, self.path, self.size, self.digest, self.report = place, path, size, digest, report
        self.partial = cache.partial_file(digest)
        self.origin = self.partial.with_suffix(".json")

    def to(self, target):
        """Bring the file to `target`, unless another process does so meanwhile.

        Raises:
            Unreachable: the hub cannot be reached; the bytes that have arrived are kept for the next call.
            HubError: the hub has no such file, or sends other bytes; or the cache cannot be written.
        """
        with cache.explain_write_errors(), cache.lock(self.digest, self.path):
            if cache.fault(target, self.size, self.digest) is None:
                return
            self.partial.parent.mkdir(parents=True, exist_ok=True)
            self._complete()
            cache.give_name(self.partial, target)
            self.origin.unlink(missing_ok=True)

    def _complete(self):
        """Receive until the partial file has its size and its SHA-256."""
        attempts, in_vain, restarts, received = 0, 0, 0, self._count_received()
        in_one_answer = False  # whether one answer brought the whole file
        while True:
            if received == self.size:
                if self._sha256() == self.digest:
                    return
                self._clear()
                if in_one_answer or restarts == RESTARTS:
                    raise self._wrong_bytes()
                restarts += 1  # the pieces of several answers do not fit: another file may lie there by now
                received = self._count_received()
            try:
                self._receive(received)
                in_one_answer, received = received == 0, self.size
                continue
            except Interrupted as error:
                failure = error
            before, received, in_one_answer = received, self._count_received(), False
            in_vain = 0 if received > before else in_vain + 1
            attempts += 1
            if in_vain == ATTEMPTS or attempts == MOST_ATTEMPTS:
                kept = f" {received:,} of {self.size:,} bytes are kept, and the next call goes on from there."
                raise Unreachable(f"given up after {attempts} attempts: {failure}{kept * bool(received)}") from failure
            if in_vain:
                time.sleep(min(LONGEST_WAIT, WAIT * 2 ** (in_vain - 1)))

    def _receive(self, received):
        """Append what one answer brings; raises `Interrupted` unless it completes the file."""
        origin = cache.read_json(self.origin) or {}
        validator = origin.get("validator") if origin.get("address") == self.place.address else None
        with self.place.open(self.path, received, validator) as answer:
            has_changed = validator and answer.validator and answer.validator != validator
            if received and (answer.offset != received or has_changed):  # not the file whose beginning is here
                self._clear()
                if answer.offset != 0:
                    raise Interrupted(f"{self.path} of {self.place.address} has changed meanwhile.")
                received = 0
            elif not received and answer.offset:
                raise Interrupted(f"{self.place.address} sent another part of {self.path} than it was asked for.")
            cache.write_json(self.origin, {"address": self.place.address, "validator": answer.validator})
            with open(self.partial, "ab") as file:
                while received < self.size:
                    block = answer.read(min(cache.BLOCK, self.size - received))
                    if not block:
                        raise Interrupted(
                            f"{self.place.address} ended {self.path} after {received:,} of {self.size:,} bytes."
                        )
                    file.write(block)
                    received += len(block)
                    self.report(received)

    def _count_received(self):
        """The number of bytes that have arrived; a partial file that is too long is removed."""
        try:
            received = self.partial.stat().st_size
        except FileNotFoundError:
            received = 0
            self.partial.touch()
        if received > self.size:
            self._clear()
            received = 0
        self.report(received)
        return received

    def _clear(self):
        self.partial.unlink(missing_ok=True)
        self.origin.unlink(missing_ok=True)
        self.report(0)

    def _sha256(self):
        with open(self.partial, "rb") as file:
            self.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        return self.sha256

    def _wrong_bytes(self):
        return HubError(
            f"{self.place.address} gave other bytes for {self.path} than its index promises: expected SHA-256 "
            f"{self.digest}, received {self.sha256}. They were removed and nothing was used. Tell the hub's owner; "
            "`seqzoo hub validate` checks a hub in a folder."
        )


class Progress:
    """How much of some files has arrived: a bar in plain text on standard error where that is a terminal.

    Args:
        title: what is downloaded.
        total: bytes of all files.
        callback: called as `callback(bytes that are there, total)`; None draws a bar if standard error is a terminal,
            and False shows nothing.
    """

    def __init__(self, title, total, callback=None):
        self.title, self.total = title, total
        self.draws = callback is None and sys.stderr is not None and sys.stderr.isatty()
        self.callback = callback or (self._draw if self.draws else None)
        self.before = self.now = 0  # bytes of the files that are complete, and of the present one
        self.last_drawn = 0.0

    def begin_file(self, size):
        """A function for the next file, of `size` bytes, which takes the number of bytes that are there."""
        self.before, self.now = self.before + self.now, 0

        def report(have):
            self.now = min(have, size)
            if self.callback:
                self.callback(self.before + self.now, self.total)

        return report

    def _draw(self, have, total):
        if time.monotonic() - self.last_drawn < PAUSE and have < total:
            return
        self.last_drawn = time.monotonic()
        full = WIDTH * have // max(1, total)
        bar = "#" * full + "." * (WIDTH - full)
        print(f"\r{self.title} [{bar}] {have / 1e6:.1f} of {total / 1e6:.1f} MB", end="", file=sys.stderr, flush=True)

    def end(self):
        """End the line of the bar."""
        if self.draws and self.last_drawn:
            print(file=sys.stderr)
