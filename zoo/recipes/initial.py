"""The run or artefact that a training begins with (`training.init`): found and checked without Keras."""

import dataclasses
import hashlib
import json
from pathlib import Path

from msgspec import structs

from zoo.recipes.files import read_stored
from zoo.recipes.folder import LABELS, remedy, tokenizer_names
from zoo.recipes.recipe import make, plain
from zoo.settings import table

MODEL, MANIFEST, RECORD = "model.keras", "manifest.json", "init.json"
# What decides a vocabulary, of the settings in [text]; the others say how texts are read.
OF_VOCABULARIES = (
    "vocab_size",
    "pieces",
    "normalization",
    "character_coverage",
    "byte_fallback",
    "target",
    "shared",
)


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
        """sha256 of all that is taken from it."""
        total = hashlib.sha256()
        for path in (self.model, *self.tokenizers.values()):
            total.update(path.read_bytes())
        return total.hexdigest()


def adopted(recipe):
    """(the recipe as it is trained, its `Initial` or None).

    Where vocabularies are kept, the settings in [text] that decide them are those of the initial run.

    Raises:
        ValueError: there is no such run, its vocabularies cannot be kept, or the recipe asks for others.
    """
    if not recipe.training.init:
        return recipe, None
    initial = _found(Path(recipe.training.init))
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
    return make(plain(structs.replace(recipe, text=_kept(recipe.text, initial)))), initial


def _kept(text, initial):
    """The `[text]` of a recipe with the vocabularies of the initial run."""
    known = initial.recipe.text
    kept = {}
    for name in OF_VOCABULARIES:
        if name not in table.fields(type(text)) or not hasattr(known, name):
            continue
        own, there = getattr(text, name), getattr(known, name)
        if own not in (there, table.default(type(text), name)):
            raise ValueError(
                f"text.{name}={own!r} has no effect: the vocabularies of {initial.directory} are kept, where it is "
                f'{there!r}. Leave it out, or take training.vocabulary = "map".'
            )
        kept[name] = there
    return structs.replace(text, **kept)


def _found(directory):
    if not directory.is_dir():
        raise ValueError(
            f"training.init: there is no folder {directory}. Expected that of a finished run, such as runs/NAME, or of "
            "an artefact's version, such as artefacts/NAME/1."
        )
    versions = sorted(int(each.name) for each in directory.iterdir() if each.name.isdigit() and each.is_dir())
    if versions and not (directory / MODEL).is_file():
        raise ValueError(
            f"training.init: {directory} has the versions {', '.join(map(str, versions))} of an artefact. Name one, "
            f"such as {directory / str(versions[-1])}."
        )
    _demand(directory, "recipe.toml", MODEL)
    try:
        recipe = read_stored(directory / "recipe.toml")
    except ValueError as error:
        raise ValueError(f"training.init: {directory}/recipe.toml cannot be read: {error}") from error
    _demand(directory, *tokenizer_names(recipe))
    return Initial(directory, recipe, _labels(directory) if recipe.job.labelled else ())


def _labels(directory):
    """The names of the classes: a run's in a file of their own, an artefact's in its manifest."""
    if (directory / LABELS).is_file():
        return tuple(json.loads((directory / LABELS).read_text(encoding="utf-8")))
    _demand(directory, MANIFEST)
    return tuple(json.loads((directory / MANIFEST).read_text(encoding="utf-8"))["labels"])


def _demand(directory, *names):
    missing = [name for name in names if not (directory / name).is_file()]
    if missing:
        raise ValueError(
            f"training.init: {directory} is neither a finished run nor an artefact: it lacks {', '.join(missing)}. "
            f"{remedy(directory)}"
        )


def check_unchanged(initial, directory):
    """Refuse to go on with a run whose initial run has become another one.

    Raises:
        ValueError: its files are not those that the run in `directory` began with.
    """
    path = directory / RECORD
    if initial is None or not path.is_file():
        return
    if json.loads(path.read_text(encoding="utf-8"))["sha256"] != initial.digest():
        raise ValueError(
            f"the run in {directory} began with weights and vocabularies of {initial.directory}, and these files have "
            "changed since. Bring the former ones back, or choose another --out and begin anew."
        )
