"""Run folders: what is in one, and whether it is what it is asked for; without Keras."""

import dataclasses
import json
from pathlib import Path

from zoo.recipes.stored import read_stored

TOKENIZERS = ("source.spm", "target.spm")
LABELS = "labels.json"
MAY_CHANGE = {"steps", "patience", "checkpoint_every", "log_every", "description"}  # on resuming


def open_labels(directory):
    """The names of the classes of a classifier's or tagger's run, by their ids; empty for other models.

    Raises:
        ValueError: the directory holds no run.
    """
    directory = Path(directory)
    _demand(directory, "recipe.toml")
    if read_stored(directory / "recipe.toml").model not in ("classifier", "tagger"):
        return []
    _demand(directory, LABELS)
    return json.loads((directory / LABELS).read_text(encoding="utf-8"))


def check_run(directory):
    """The recipe of a finished run, whose files are all there.

    Raises:
        ValueError: the directory holds no finished run.
    """
    directory = Path(directory)
    _demand(directory, "recipe.toml")
    recipe = read_stored(directory / "recipe.toml")
    _demand(directory, "model.keras", *tokenizer_names(recipe))
    return recipe


def tokenizer_names(recipe):
    """The files of a run's tokenizers: source and target, or the only one."""
    return TOKENIZERS if recipe.model in ("seq2seq", "transformer") else TOKENIZERS[:1]


def claim(recipe, directory, resume):
    """Refuse to overwrite a run, or to continue one with other settings."""
    if not (directory / "recipe.toml").is_file():
        return
    if not resume:
        raise ValueError(
            f"{directory} holds a run already. Continue it with --resume, choose another --out, or remove it."
        )
    settings, stored = (dataclasses.asdict(each) for each in (recipe, read_stored(directory / "recipe.toml")))
    changed = [
        f"{key} ({stored[key]!r} there, {value!r} here)"
        for key, value in settings.items()
        if stored[key] != value and key not in MAY_CHANGE
    ]
    if changed:
        raise ValueError(
            f"the run in {directory} was started with other settings: {', '.join(changed)}. "
            "Resume it with its own, or choose another --out."
        )


def _demand(directory, *names):
    missing = [name for name in names if not (directory / name).is_file()]
    if missing:
        raise ValueError(
            f"{directory} is not a finished run: it lacks {', '.join(missing)}. "
            "Train one with `seqzoo train`, or finish it with `seqzoo train --resume`."
        )
