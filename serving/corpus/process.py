"""From a file of texts to a file of answers, block by block; a run that was killed goes on where it was."""

import hashlib
import json
from contextlib import closing
from pathlib import Path

from serving.corpus import disk
from serving.corpus.journal import Done, Journal, differences, exclusive
from serving.corpus.lines import stamp
from serving.runtime.errors import DamagedError


def process(source, out, form, ask, *, identity, resume=False, report=None):
    """Answer every text of a source into the file `out`, in their order. Returns `Done` of the whole.

    The file appears when it is complete, and beside it OUT.run.json, which says what was asked of what. Until then the
    answers lie in the folder OUT.partial (`serving.corpus.journal`).

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
        report(done, source.done(source.begin if done.position is None else done.position))
    for block in source.blocks(done.position, done.texts):
        results = ask(block)
        if len(results) != len(block.texts):
            raise ValueError(f"expected {len(block.texts)} answers to a block, received {len(results)}.")
        refused = sum(result.error is not None for result in results)
        journal.add(form.encode(block, results), len(results), refused, block.end)
        if report:
            report(journal.done, source.done(block.end))
    if stamp(source.path) != source.stamp:
        raise ValueError(f"{source.path} was changed while it was read, so the answers may be to other texts.")


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
