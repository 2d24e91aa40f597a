"""From an artefact to an artefact: `model.keras`, its tokenizers and its manifest are enough to write every form again.

An artefact may be light: fetched without its SavedModel, for instance, which TensorFlow Serving needs.
"""

import dataclasses
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from serving.export.forms import SOURCE
from serving.export.settings import Settings
from serving.export.shortlist import FILE, choose_shortlist, of_artefact
from serving.lazy import later
from serving.runtime.artefact import Artefact
from zoo.recipes.files import read_stored
from zoo.text import load_tokenizer

pipeline = later("serving.export.pipeline")
runs = later("serving.export.runs")

RECIPE = "recipe.toml"


def check_artefact(directory):
    """The manifest of an artefact that can be exported again, after a check of the files that this needs.

    Raises:
        ValueError: there is no artefact, or it lacks a file.
        DamagedError: a file has other bytes than the manifest records, or `model.keras` asks for more than layers of
            Keras, of the zoo and of packages that are imported.
    """
    directory, artefact = Path(directory), Artefact(directory)
    needed = [SOURCE.file, RECIPE, *sorted(artefact.manifest["tokenizer"].values())]
    needed += [FILE] if "shortlist" in artefact.manifest else []
    missing = [name for name in needed if not (directory / name).is_file()]
    if missing:
        raise ValueError(
            f"{directory} cannot be exported again: expected {', '.join(needed)} in it, and {', '.join(missing)} "
            f"{'is' if len(missing) == 1 else 'are'} missing. Fetch or copy the artefact with these files."
        )
    for name in needed:
        artefact.read(name)
    SOURCE.check_safe(directory)
    return artefact.manifest


def export_again(
    directory: str | PathLike[str],
    out: str | PathLike[str] = "artefacts",
    version: int | None = None,
    *,
    data: Any = None,
    split: str | None = None,
    log: Callable[[str], object] = lambda stage: None,
    **changes: Any,
) -> Path:
    """Write `out/NAME/VERSION/` of the model of an artefact, with the same settings, and return its path.

    Args:
        directory: an artefact with its `model.keras`, `recipe.toml` and tokenizers; nothing else of it is read.
        out, version, data, split, log: as of `serving.export.export_run`.
        **changes: settings of `serving.export.Settings` to choose instead, such as `storage` or `beams`; `shortlist`
            as of `export_run`. The shortlist of an artefact that has one is kept.

    Raises:
        ValueError: as of `check_artefact`, or of `serving.export.export`.
        DamagedError: as of `check_artefact`.
    """
    directory, manifest = Path(directory), check_artefact(directory)
    changes = {"recipe": (directory / RECIPE).read_text(encoding="utf-8")} | changes
    sides = sorted(manifest["tokenizer"])  # "source" before "target"
    tokenizers = [load_tokenizer(directory / manifest["tokenizer"][side]) for side in sides]
    if data or split or isinstance(changes.get("shortlist"), int):
        recipe = read_stored(directory / RECIPE)
        changes |= choose_shortlist(changes, recipe, tokenizers, data)
        if data or split:
            changes = {
                "trial": runs.trial(recipe, split, data),
                "calibration": runs.calibration(recipe, data),
            } | changes
    changes = {"shortlist": of_artefact(directory, manifest)} | changes
    settings = dataclasses.replace(Settings.of(manifest), **changes)
    return pipeline.export(SOURCE.load(directory), tokenizers, out, settings, version, log=log)
