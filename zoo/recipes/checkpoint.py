"""Checkpoints in the place of a run folder: each holds the small files, too, so that it can move to another machine."""

from pathlib import Path

from zoo.core import array_files

RECIPE = "recipe.toml"
SUFFIX = ".npz"  # the ending of a checkpoint's name, which no recipe has


def is_checkpoint(path):
    """Whether the path that was passed as a recipe is that of a checkpoint."""
    return isinstance(path, str | Path) and Path(path).suffix == SUFFIX


def read_file(run, name):
    """The bytes of a file of a run, which is a folder or a checkpoint; None if there is no such file.

    Raises:
        ValueError: the checkpoint is damaged, or no checkpoint.
    """
    if not is_checkpoint(run):
        return (run / name).read_bytes() if (run / name).is_file() else None
    array = _read(array_files.part, run, f"run/{name}")
    return None if array is None else array.tobytes()


def recipe_text(checkpoint):
    """The text of the recipe that a checkpoint was written with.

    Raises:
        ValueError: the file is damaged, or no checkpoint of a run.
    """
    text = read_file(checkpoint, RECIPE)
    if text is None:
        raise ValueError(_explain(checkpoint, f"it holds no {RECIPE}"))
    return text


def check_checkpoint(checkpoint):
    """Refuse a file that is not a whole checkpoint of a run.

    Raises:
        ValueError: the file is damaged, or no checkpoint of a run.
    """
    _read(array_files.check, checkpoint)


def _read(function, path, *arguments):
    try:
        return function(path, *arguments)
    except OSError as error:
        reason = str(error).rstrip(".") if path.is_file() else "there is no such file"
        raise ValueError(_explain(path, reason)) from error


def _explain(path, reason):
    return (
        f"no training can go on from {path}: {reason}. Expected a checkpoint as `seqzoo train` keeps it, such as "
        f"runs/NAME/checkpoint/state{SUFFIX}, copied whole."
    )
