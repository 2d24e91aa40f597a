"""Checkpoints as the place of a run: each holds its small files, too, so that one can be carried to another machine."""

from pathlib import Path

from zoo.core import array_files

RECIPE = "recipe.toml"
SUFFIX = ".npz"  # with which the name of a checkpoint ends, and no recipe's


def is_checkpoint(place):
    """Whether what stands for a recipe is the path of a checkpoint."""
    return isinstance(place, str | Path) and Path(place).suffix == SUFFIX


def content(run, name):
    """What a file of a run holds, whose place is a folder or a checkpoint; None if there is no such file.

    Raises:
        ValueError: the checkpoint is damaged, or is none.
    """
    if not is_checkpoint(run):
        return (run / name).read_bytes() if (run / name).is_file() else None
    found = _told(array_files.part, run, f"run/{name}")
    return None if found is None else found.tobytes()


def recipe_of(checkpoint):
    """The text of the recipe that a checkpoint was written with.

    Raises:
        ValueError: the file is damaged, or no checkpoint of a run.
    """
    text = content(checkpoint, RECIPE)
    if text is None:
        raise ValueError(_no_checkpoint(checkpoint, f"it holds no {RECIPE}"))
    return text


def check(checkpoint):
    """Refuse a file that is not a whole checkpoint of a run.

    Raises:
        ValueError: likewise.
    """
    _told(array_files.check, checkpoint)


def _told(read, path, *more):
    try:
        return read(path, *more)
    except OSError as error:
        why = str(error).rstrip(".") if path.is_file() else "there is no such file"
        raise ValueError(_no_checkpoint(path, why)) from error


def _no_checkpoint(path, why):
    return (
        f"no training can go on from {path}: {why}. Expected a checkpoint as `seqzoo train` keeps it, such as "
        f"runs/NAME/checkpoint/state{SUFFIX}, copied whole."
    )
