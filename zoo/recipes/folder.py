"""Run folders: what is in one, and whether it is what it is asked for; without Keras."""

import json
import os
import shlex
from pathlib import Path

from zoo.recipes.files import read_stored
from zoo.recipes.recipe import plain

LABELS = "labels.json"
SCOPE = "scope.json"
MAY_CHANGE = {  # on resuming
    "description",
    "training.steps",
    "training.patience",
    "training.checkpoint_every",
    "training.log_every",
    "training.model_parallel",
    "training.layout",
}


def check_run(directory):
    """The recipe of a finished run, whose files are all there.

    Raises:
        ValueError: the directory holds no finished run.
    """
    directory = Path(directory)
    _demand(directory, "recipe.toml")
    recipe = read_stored(directory / "recipe.toml")
    labels, scope = [LABELS] * recipe.job.labelled, [SCOPE] * has_threshold(recipe)
    _demand(directory, "model.keras", *tokenizer_names(recipe), *labels, *scope)
    return recipe


def has_threshold(recipe):
    """Whether a run of the recipe keeps a threshold."""
    return recipe.scope is not None and recipe.scope.chosen


def tokenizer_names(recipe):
    """The files of a run's tokenizers: source and target, or the only one."""
    return [f"{side}.spm" for side in recipe.job.sides]


def read_labels(directory):
    """The names of the classes, by their ids."""
    return tuple(json.loads((directory / LABELS).read_text(encoding="utf-8")))


def check_ensemble(directories, recipes):
    """Refuse runs that cannot answer together: they need one task that writes, and the same vocabularies.

    Raises:
        ValueError: what does not fit, in words.
    """
    first, directory = recipes[0], directories[0]
    if first.search is None or len(first.job.sides) != 2:
        raise ValueError(
            f"An ensemble searches for an output, and {directory} is of the task {first.task}. Expected runs of a task "
            "that reads one text and writes another, such as translate or transduce."
        )
    for recipe, other in zip(recipes[1:], directories[1:], strict=True):
        if recipe.task != first.task:
            what = f"it is of the task {recipe.task}, and not {first.task}"
        else:
            names = tokenizer_names(first)
            different = [name for name in names if (directory / name).read_bytes() != (other / name).read_bytes()]
            what = f"their {' and '.join(different)} differ" if different else ""
        if what:
            raise ValueError(
                f"{other} cannot answer together with {directory}: {what}. Train both with the same recipe and data, "
                "and another training.seed."
            )


def read_threshold(directory):
    """The probability below which a text is out of scope."""
    return float(json.loads((directory / SCOPE).read_text(encoding="utf-8"))["threshold"])


def claim(recipe, directory, resume):
    """Refuse to overwrite a run, to continue one with other settings, or a place where no folder can be."""
    _check_place(directory)
    if not (directory / "recipe.toml").is_file():
        return
    if not resume:
        raise ValueError(
            f"{directory} holds a run already. Continue it with --resume, choose another --out, or remove it."
        )
    settings, stored = (dict(_flat(plain(each))) for each in (recipe, read_stored(directory / "recipe.toml")))
    changed = [
        f"{key} ({stored.get(key)!r} there, {settings.get(key)!r} here)"
        for key in settings | stored
        if stored.get(key) != settings.get(key) and key not in MAY_CHANGE
    ]
    if changed:
        raise ValueError(
            f"the run in {directory} was started with other settings: {', '.join(changed)}. "
            "Resume it with its own, or choose another --out."
        )


def _check_place(directory):
    """Refuse what is a file, or lies in one, or where nothing may be written."""
    there = next(each for each in (directory.absolute(), *directory.absolute().parents) if each.exists())
    if not there.is_dir():
        raise ValueError(f"a run is a folder, and {there} is a file. Choose another --out.")
    if not os.access(there, os.W_OK):
        raise ValueError(f"the run {directory} cannot be written, for nothing may be written in {there}.")


def _flat(settings, before=""):
    """("table.setting", value) of all settings."""
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _demand(directory, *names):
    missing = [name for name in names if not (directory / name).is_file()]
    if missing:
        there = "it is a file" if directory.is_file() else "there is no such folder"
        why = f"it lacks {', '.join(missing)}" if directory.is_dir() else there
        raise ValueError(f"{directory} is not a finished run: {why}. {remedy(directory)}")


def remedy(directory):
    """The command that makes a folder a finished run."""
    recipe = directory / "recipe.toml"
    if (directory / "manifest.json").is_file():
        return "It is an artefact, which `seqzoo export` wrote of a run: name that run."
    if not recipe.is_file():
        return "Train one with `seqzoo train RECIPE --out DIR`."
    command = shlex.join(["seqzoo", "train", str(recipe), "--out", str(directory), "--resume"])
    return f"Finish it with `{command}` (and --data, if it was given)."
