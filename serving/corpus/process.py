"""From a file of texts to a file of answers, block by block; a run that is killed loses at most one block.

While the answers of OUT are written they lie in the folder OUT.partial. `answers` holds them, a block behind the other.
`journal.jsonl` says what is asked of what (`identity`), and then, in a line for each block, where it ends in the input,
how long `answers` is with it, and the SHA-256 of all of `answers` up to there. The process that writes holds `lock`.

A block counts when its line of the journal is on the disk, which is written when its answers are. Whatever `answers`
holds behind the last block that counts is cut off when the work goes on. At the end `answers` becomes OUT in one step,
and OUT.run.json says what it is.
"""

import hashlib
import json
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from filelock import FileLock, Timeout

from serving.corpus import disk
from serving.corpus.lines import stamp
from serving.runtime.errors import DamagedError, ServingError

CHUNK = 1 << 20


def process(source, out, form, ask, *, identity, resume=False, report=None):
    """Answer every text of a source into the file `out`, in their order. Returns `Done` of the whole.

    The file appears when it is complete, and beside it OUT.run.json, which says what was asked of what. Until then the
    answers lie in the folder OUT.partial.

    Args:
        source: `Lines` or `Rows`.
        out: the path of the answers.
        form: `TextForm` or `ParquetForm`: how answers are written.
        ask: a function from a `Block` to its results, one for each text; a result has an `error` or None.
        identity: what the answers depend on besides the source and the form: the model and the options, as a dict of
            what JSON holds.
        resume: go on with an unfinished run of the same identity; do nothing if it is finished. Without a run it begins
            one.
        report: called as `report(done, share)` at the beginning and after each block, with `Done` and the share of the
            source, 0 to 1.

    Raises:
        ValueError: `out` exists, or an unfinished run, without `resume`; or what is resumed was asked otherwise.
        ServingError: another process is writing the same file, or what is there is damaged.
    """
    out = Path(out)
    folder = partial_of(out)
    identity = {"input": source.identity, "shard": str(source.shard), "form": form.identity, **identity}
    check(out, resume)
    folder.mkdir(exist_ok=True)
    with exclusive(folder):
        if out.exists():  # since another process has finished it, or this one was killed behind the last rename
            done = read_finished(out, identity)
        else:
            with closing(Journal(folder, identity)) as journal:
                try:
                    _answer(source, journal, form, ask, report)
                    done = _finish(out, folder, form, journal.done, identity)
                except BaseException:
                    if not journal.done.texts:  # there is nothing to go on with
                        disk.remove(folder)
                    raise
    disk.remove(folder)
    return done


def partial_of(out):
    """The folder of the answers until `out` is complete."""
    return out.with_name(out.name + ".partial")


def check(out, resume):
    """Refuse to write over what is there. It costs nothing, so that it can run before anything is opened."""
    if not out.absolute().parent.is_dir():
        raise ValueError(f"cannot write {out}: there is no folder {out.parent}.")
    if out.is_dir():
        raise ValueError(f"cannot write {out}: it is a folder; expected the name of a file.")
    if resume:
        return
    if out.exists():
        raise ValueError(f"{out} exists and is not overwritten. Give another name, or remove it.")
    folder = partial_of(out)
    if folder.exists():
        raise ValueError(
            f"{folder} holds an unfinished run. Go on with it by --resume, or remove the folder to begin again."
        )


def record_of(out):
    """The path of the record beside a file of answers."""
    return out.with_name(out.name + ".run.json")


def read_finished(out, identity):
    """`Done` of a file of answers that is complete.

    Raises:
        ValueError: it is not known what it holds, or it was asked otherwise.
        DamagedError: it was changed since.
    """
    path = record_of(out)
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        earlier, counts = record["identity"], record["answers"]
        done = Done(**counts)
    except (OSError, ValueError, KeyError, TypeError):
        raise ValueError(
            f"{out} exists, and no {path.name} beside it says what it holds, so it is not overwritten. Give another "
            "name, or remove it."
        ) from None
    identity = json.loads(json.dumps(identity))
    if earlier != identity:
        raise ValueError(f"{out} is complete, but was asked otherwise: {differences(earlier, identity)}.")
    with open(out, "rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != done.sha256:
            raise DamagedError(f"{out} is not what was written: it was changed since. Remove it to begin again.")
    return done


def _answer(source, journal, form, ask, report):
    done = journal.done
    if report:
        report(done, share_of(source, source.begin if done.position is None else done.position))
    for block in source.blocks(done.position, done.texts):
        results = ask(block)
        if len(results) != len(block.texts):
            raise ValueError(f"expected {len(block.texts)} answers to a block, received {len(results)}.")
        refused = sum(result.error is not None for result in results)
        journal.add(form.encode(block, results), len(results), refused, block.end)
        if report:
            report(journal.done, share_of(source, block.end))
    if stamp(source.path) != source.stamp:
        raise ValueError(f"{source.path} was changed while it was read, so the answers may be to other texts.")


def share_of(source, position):
    """How much of a source lies before a position, 0 to 1."""
    return (position - source.begin) / max(1, source.end - source.begin)


def _finish(out, folder, form, done, identity):
    """Give the answers their final name; steps that a killed process has done are done again."""
    path = form.finish(folder / "answers", folder / "finished")
    with open(path, "rb") as file:
        whole = hashlib.file_digest(file, "sha256").hexdigest()
    done = Done(done.texts, done.refused, done.position, path.stat().st_size, whole)
    record = folder / "record"
    content = json.dumps({"identity": identity, "answers": vars(done)}, indent=1, ensure_ascii=False) + "\n"
    with open(record, "wb") as file:
        disk.append(file, content.encode())
        disk.sync(file)
    disk.rename(record, record_of(out))
    disk.rename(path, out)
    return done


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

    >>> from serving.corpus.process import differences
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
