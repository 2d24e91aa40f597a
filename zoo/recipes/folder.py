"""Run folders: the files of one, checks of what it is used for, and the run that a training begins with."""

import dataclasses
import hashlib
import json
import os
import shlex
from pathlib import Path
from typing import TypedDict

import msgspec
from msgspec import structs

from zoo.hub import resolve
from zoo.recipes.checkpoint import RECIPE, SUFFIX, is_checkpoint, read_file
from zoo.recipes.files import read_stored
from zoo.recipes.recipe import make, plain
from zoo.settings import table

LABELS = "labels.json"
SCOPE = "scope.json"
SHORTLIST = "shortlist.npz"  # of an imported translator, or of an artefact
MODEL, MANIFEST, RECORD = "model.keras", "manifest.json", "init.json"
CARD, METRICS, SUMMARY = "data.json", "metrics.csv", "training.json"
# The settings in [text] that decide a vocabulary; the others say how texts are read.
OF_VOCABULARIES = (
    "vocab_size",
    "pieces",
    "normalization",
    "character_coverage",
    "byte_fallback",
    "target",
    "shared",
)
MAY_CHANGE = {  # on resuming
    "description",
    "data.train",  # the examples themselves are compared by their SHA-256
    "data.valid",
    "data.test",
    "training.steps",
    "training.patience",
    "training.checkpoint_every",
    "training.log_every",
    "training.model_parallel",
    "training.layout",
}


class Scope(TypedDict):
    """What scope.json holds: the label of texts that are out of scope, and the probability below which they are."""

    label: str
    threshold: float


def check_run(directory):
    """The recipe of a finished run, whose files are all there; or that of an artefact with its model.

    Raises:
        ValueError: the directory holds no finished run.
    """
    directory = Path(directory)
    _require(directory, "recipe.toml")
    recipe = read_stored(directory / "recipe.toml")
    own = [] if (directory / MANIFEST).is_file() else [LABELS] * recipe.job.labelled + [SCOPE] * has_threshold(recipe)
    _require(directory, MODEL, *tokenizer_names(recipe), *own)
    return recipe


def has_threshold(recipe):
    """Whether a run of the recipe keeps a threshold."""
    return recipe.scope is not None and recipe.scope.chosen


def tokenizer_names(recipe):
    """The files of a run's tokenizers: source and target, or the only one."""
    return [f"{side}.spm" for side in recipe.job.sides]


def read_labels(directory):
    """The names of the classes, by their ids."""
    return tuple(_read_kept(directory, LABELS, list[str]))


def _read_kept(directory, name, kind):
    """What a file of a run holds, which of an artefact is in the manifest."""
    if (directory / name).is_file() or not (directory / MANIFEST).is_file():
        return read_json(directory, name, kind)
    return read_json(directory, MANIFEST)[Path(name).stem]


def read_json(run, name, kind=dict):
    """What a file of JSON holds that a training wrote into its run, a folder or a checkpoint; None if there is no file.

    Raises:
        ValueError: the file is damaged, or holds something else than a value of this type.
    """
    content = read_file(run, name)
    try:
        return None if content is None else msgspec.convert(json.loads(content), kind)
    except ValueError as error:
        raise ValueError(f"{name} of {run} is damaged: {error}. Copy the run again, or train it again.") from error


def check_ensemble(directories, recipes):
    """Refuse runs that cannot answer together: they need one task that writes, and the same vocabularies.

    Raises:
        ValueError: the runs do not fit; the message says how.
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
    return float(_read_kept(directory, SCOPE, Scope)["threshold"])


def extra_files(recipe):
    """The files of a run's folder that each of its checkpoints holds, too, so that it can be carried alone."""
    return RECIPE, CARD, METRICS, LABELS, RECORD, *tokenizer_names(recipe)


def claim(recipe, directory, resume):
    """Refuse to overwrite a run, to continue one with other settings, and a place where no folder can be.

    Args:
        recipe: of the training.
        directory: where its run is to be.
        resume: whether the run in the directory is continued; or the path of the checkpoint to continue from.
    """
    _check_place(directory)
    exists = (directory / RECIPE).is_file()
    if exists and resume is not True:
        raise ValueError(
            f"{directory} holds a run already. Continue it with --resume, choose another --out, or remove it."
        )
    if not exists:
        refuse_others(directory, (*extra_files(recipe), MODEL, SUMMARY))
    earlier = directory / RECIPE if exists else resume
    if isinstance(earlier, bool):
        return
    read_json(directory, SUMMARY)  # of a run that was finished; a damaged one is told before the training
    settings, stored = (dict(_flatten(plain(each))) for each in (recipe, read_stored(earlier)))
    changed = [
        f"{key} ({stored.get(key)!r} there, {settings.get(key)!r} here)"
        for key in settings | stored
        if stored.get(key) != settings.get(key) and not any(f"{key}.".startswith(f"{each}.") for each in MAY_CHANGE)
    ]
    if changed:
        raise ValueError(
            f"the run in {directory if exists else earlier} was started with other settings: {', '.join(changed)}. "
            "Resume it with its own, or choose another --out."
        )


def resume_from(recipe, directory, resume):
    """The `resume` of `claim`: the checkpoint that is passed as the recipe, unless its run is in the directory.

    A directory that has a checkpoint alone, as somebody may have copied it there, goes on from that checkpoint.

    Args:
        recipe: as of `zoo.recipes.load`.
        directory: where the run is to be.
        resume: whether a run in the directory is continued.
    """
    if resume and (directory / RECIPE).is_file():
        return resume
    if is_checkpoint(recipe):
        return Path(recipe)
    alone = directory / "checkpoint" / f"state{SUFFIX}"
    return alone if resume and alone.is_file() else resume


def check_same_data(run, card):
    """Refuse to go on with other examples than those that a run, or a checkpoint that was carried here, began with.

    Raises:
        ValueError: some splits differ; the message names them.
    """
    earlier = (read_json(run, CARD) or {}).get("sha256", {})
    changed = [split for split, digest in earlier.items() if card["sha256"][split] != digest]
    if changed:
        digests = [f"{split} ({earlier[split][:12]} there, {card['sha256'][split][:12]} here)" for split in changed]
        raise ValueError(
            f"the training of {run} cannot go on with these data: the examples have another SHA-256 than those that it "
            f"began with: {', '.join(digests)}. Bring the former ones back, or choose another --out and begin anew."
        )


def _check_place(directory):
    """Refuse a path that is a file, or lies in one, or where nothing may be written."""
    existing = next(each for each in (directory.absolute(), *directory.absolute().parents) if each.exists())
    if not existing.is_dir():
        raise ValueError(f"a run is a folder, and {existing} is a file. Choose another --out.")
    if not os.access(existing, os.W_OK):
        raise ValueError(f"the run {directory} cannot be written, for nothing may be written in {existing}.")


def refuse_others(directory, names):
    """Refuse a folder without a run where a training would write over files such as data.json."""
    others = [name for name in names if (directory / name).exists()]
    if others:
        raise ValueError(
            f"{directory} is no run, and holds {', '.join(others)}, which a training would write over. Choose another "
            "--out, such as runs/NAME."
        )


def _flatten(settings, before=""):
    """("table.setting", value) of all settings."""
    for key, value in settings.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def _require(directory, *names, message=None):
    """Refuse a folder without these files; the error begins with the message."""
    missing = [name for name in names if not (directory / name).is_file()]
    if missing:
        absent = "it is a file" if directory.is_file() else "there is no such folder"
        reason = f"it lacks {', '.join(missing)}" if directory.is_dir() else absent
        raise ValueError(f"{message or f'{directory} is not a finished run'}: {reason}. {remedy(directory)}")


def remedy(directory):
    """The command that makes a folder a finished run."""
    recipe = directory / "recipe.toml"
    if (directory / "manifest.json").is_file():
        return "It is an artefact, which `seqzoo export` wrote of a run: name that run."
    if not recipe.is_file():
        return "Train one with `seqzoo train RECIPE --out DIR`."
    command = shlex.join(["seqzoo", "train", str(recipe), "--out", str(directory), "--resume"])
    return f"Finish it with `{command}` (and --data, if it was given)."


@dataclasses.dataclass(frozen=True)
class Initial:
    """A finished run or an artefact: its folder, its recipe, and the names of its classes."""

    directory: Path
    recipe: table.Table
    labels: tuple[str, ...]

    @property
    def tokenizers(self):
        """The files of its tokenizers, by side."""
        names = tokenizer_names(self.recipe)
        return {side: self.directory / name for side, name in zip(self.recipe.job.sides, names, strict=True)}

    @property
    def model(self):
        """The file of its model."""
        return self.directory / MODEL

    def digest(self):
        """sha256 of the model and the tokenizers."""
        digest = hashlib.sha256()
        for path in (self.model, *self.tokenizers.values()):
            digest.update(path.read_bytes())
        return digest.hexdigest()


def resolve_initial(recipe):
    """(the recipe as it is trained, its `Initial` or None).

    Where vocabularies are kept, the settings in [text] that decide them are those of the initial run.

    Raises:
        ValueError: there is no such run, its vocabularies cannot be kept, or the recipe asks for others.
    """
    if not recipe.training.init:
        return recipe, None
    initial = find_initial(recipe.training.init)
    here, there = recipe.job.sides, initial.recipe.job.sides
    if recipe.training.vocabulary == "map":
        if len(here) == len(there) == 2 and recipe.text.shared != initial.recipe.text.shared:
            raise ValueError(
                f"training.init: text.shared is {str(initial.recipe.text.shared).lower()} in {initial.directory} and "
                f"{str(recipe.text.shared).lower()} here, so the vocabularies have other matrices. Give both the same."
            )
        return recipe, initial
    if here != there:
        raise ValueError(
            f"training.init: vocabularies of {initial.directory} (task {initial.recipe.task}) cannot be kept: there "
            f"is one of {' and '.join(there)}, and this recipe (task {recipe.task}) needs one of {' and '.join(here)}. "
            'Take training.vocabulary = "map".'
        )
    return make(plain(structs.replace(recipe, text=_keep_vocabularies(recipe.text, initial)))), initial


def _fetch_model(place, setting):
    """The folder of the model of this name, with all its files; None if it is a path."""
    if resolve.is_path(place):
        return None
    try:
        return resolve.fetch(place, "all")
    except ValueError as error:
        raise ValueError(f"{setting}: there is no folder {place}, and {error}") from error


def _keep_vocabularies(text, initial):
    """The `[text]` of a recipe with the vocabularies of the initial run."""
    initial_text = initial.recipe.text
    vocabulary = {}
    for name in OF_VOCABULARIES:
        if name not in table.fields(type(text)) or not hasattr(initial_text, name):
            continue
        own, earlier = getattr(text, name), getattr(initial_text, name)
        if own not in (earlier, table.default(type(text), name)):
            raise ValueError(
                f"text.{name}={own!r} has no effect: the vocabularies of {initial.directory} are kept, where it is "
                f'{earlier!r}. Leave it out, or take training.vocabulary = "map".'
            )
        vocabulary[name] = earlier
    return structs.replace(text, **vocabulary)


def find_initial(place, setting="training.init"):
    """The `Initial` of the folder of a finished run or of an artefact's version, or of the model of this name.

    Raises:
        ValueError: it is none of these; the message begins with the setting.
        zoo.hub.HubError: the model cannot be downloaded.
    """
    directory = _fetch_model(place, setting) or Path(place)
    if not directory.is_dir():
        raise ValueError(
            f"{setting}: there is no folder {directory}. Expected that of a finished run, such as runs/NAME, or of "
            "an artefact's version, such as artefacts/NAME/1."
        )
    versions = sorted(int(each.name) for each in directory.iterdir() if each.name.isdigit() and each.is_dir())
    if versions and not (directory / MODEL).is_file():
        raise ValueError(
            f"{setting}: {directory} has the versions {', '.join(map(str, versions))} of an artefact. Name one, "
            f"such as {directory / str(versions[-1])}."
        )
    message = f"{setting}: {directory} is neither a finished run nor an artefact"
    _require(directory, "recipe.toml", MODEL, message=message)
    try:
        recipe = read_stored(directory / "recipe.toml")
    except ValueError as error:
        raise ValueError(f"{setting}: {directory}/recipe.toml cannot be read: {error}") from error
    _require(directory, *tokenizer_names(recipe), message=message)
    if not recipe.job.labelled:
        return Initial(directory, recipe, ())
    if not (directory / LABELS).is_file():
        _require(directory, MANIFEST, message=message)
    return Initial(directory, recipe, read_labels(directory))


def check_unchanged(initial, run):
    """Refuse to go on with a run, or a checkpoint that was carried here, whose initial run has become another one.

    Raises:
        ValueError: its files are not those that the run began with.
    """
    record = read_json(run, RECORD) if initial else None
    if record and record["sha256"] != initial.digest():
        raise ValueError(
            f"the run in {run} began with weights and vocabularies of {initial.directory}, and these files have "
            "changed since. Bring the former ones back, or choose another --out and begin anew."
        )
