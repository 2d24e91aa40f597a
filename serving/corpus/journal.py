"""What is done of a file of answers, kept so that a process that is killed at any moment loses at most one block.

While the answers of OUT are written they lie in the folder OUT.partial. `answers` holds them, a block behind the other.
`journal.jsonl` says what is asked of what (`identity`), and then, in a line for each block, where it ends in the input,
how long `answers` is with it, and the SHA-256 of all of `answers` up to there. The process that writes holds `lock`.

A block counts when its line of the journal is on the disk, which is written when its answers are. Whatever `answers`
holds behind the last block that counts is cut off when the work goes on. At the end `answers` becomes OUT in one step,
and OUT.run.json says what it is.
"""

import hashlib
import json
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from serving.corpus import disk
from serving.runtime.errors import ServingError

CHUNK = 1 << 20


@dataclass(frozen=True)
class Done:
    """What is done: `texts` up to `position` of the input, of which `refused` have no answer, in `size` bytes."""

    texts: int = 0
    refused: int = 0
    position: int | None = None
    size: int = 0
    sha256: str = field(default_factory=lambda: hashlib.sha256().hexdigest())


class Journal:
    """The folder of an unfinished file of answers, opened to go on.

    Args:
        folder: OUT.partial; it exists.
        identity: what is asked of what, a dict of what JSON holds.

    Raises:
        ServingError: the answers that are there were changed.
        ValueError: the folder was begun with another identity; the message says what differs.
    """

    def __init__(self, folder, identity):
        self.folder = Path(folder)
        self._answers = self._journal = None
        try:
            self.done = self._open(json.loads(json.dumps(identity)))
        except BaseException:
            self.close()
            raise

    def _open(self, identity):
        path, answers = self.folder / "journal.jsonl", self.folder / "answers"
        earlier, done, length = read_journal(path)
        if earlier is not None and earlier != identity:
            raise ValueError(
                f"{self.folder} was begun otherwise: {differences(earlier, identity)}. Give the same settings again, "
                "or remove this folder to begin again."
            )
        if earlier is None and answers.exists() and answers.stat().st_size:
            raise ServingError(f"{path} is damaged: it does not say what {answers} holds. Remove this folder.")
        self._journal = open(path, "ab")
        self._journal.truncate(length)
        self._answers = open(answers, "ab")
        self._digest = _digest(answers, done)
        self._answers.truncate(done.size)
        if earlier is None:
            self._write(identity)
        return done

    def add(self, content, texts, refused, position):
        """Keep the answers of a block: from now on it is done."""
        disk.append(self._answers, content)
        disk.sync(self._answers)
        self._digest.update(content)
        before = self.done
        self.done = Done(
            before.texts + texts,
            before.refused + refused,
            position,
            before.size + len(content),
            self._digest.hexdigest(),
        )
        self._write(asdict(self.done))

    def _write(self, record):
        disk.append(self._journal, json.dumps(record, ensure_ascii=False).encode() + b"\n")
        disk.sync(self._journal)

    def close(self):
        """Close the files."""
        for file in (self._answers, self._journal):
            if file:
                file.close()


@contextmanager
def exclusive(folder):
    """A context that one process at a time may enter for a folder.

    Raises:
        ServingError: another process is in it.
    """
    lock = FileLock(Path(folder) / "lock", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise ServingError(f"{folder} is being written by another process. Wait for its end, or end it.") from None
    try:
        yield
    finally:
        lock.release()


def read_journal(path):
    """`(identity, Done, length)` of a journal: the last block that counts, and where its line ends.

    A line that was not written to its end, because the process was killed, does not count. The identity is None if
    there is no whole line.
    """
    identity, done, length = None, Done(), 0
    if not path.exists():
        return identity, done, length
    with open(path, "rb") as file:
        for line in file:
            try:
                record = json.loads(line) if line.endswith(b"\n") else None
                if identity is None:
                    identity = dict(record)
                else:
                    done = Done(**record)
            except (TypeError, ValueError):
                break
            length += len(line)
    return identity, done, length


def _digest(path, done):
    """The hash of the answers so far, which must be those that the journal counts."""
    digest, left = hashlib.sha256(), done.size
    with open(path, "rb") as file:
        while left and (piece := file.read(min(CHUNK, left))):
            digest.update(piece)
            left -= len(piece)
    if left or digest.hexdigest() != done.sha256:
        raise ServingError(
            f"{path} was changed or is damaged: its first {done.size:,} bytes are not those that were written. "
            f"Remove {path.parent} to begin again."
        )
    return digest


def differences(old, new):
    """What differs between two identities, in words.

    >>> from serving.corpus.journal import differences
    >>> differences({"options": {"beam": 4}}, {"options": {"beam": 1, "n_best": 2}})
    'options.beam was 4 and is 1; options.n_best was not given and is 2'
    """
    old, new = _flatten(old), _flatten(new)
    names = [*old, *(name for name in new if name not in old)]
    return "; ".join(
        f"{name} was {_describe(old, name)} and is {_describe(new, name)}"
        for name in names
        if old.get(name, ...) != new.get(name, ...)
    )


def _flatten(identity, before=""):
    values = {}
    for name, value in identity.items():
        values |= _flatten(value, f"{before}{name}.") if isinstance(value, dict) else {before + name: value}
    return values


def _describe(identity, name):
    return json.dumps(identity[name], ensure_ascii=False) if name in identity else "not given"
