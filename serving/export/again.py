"""From an artefact: it is checked again (its files, its signatures, its answers), or every form is written again.

`model.keras`, its tokenizers and its manifest are enough for that. An artefact may be light: fetched without its
SavedModel, for instance, which TensorFlow Serving needs.
"""

import dataclasses
import tempfile
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any

from serving.export import strings
from serving.export.forms import FORMS, SOURCE, forms_in
from serving.export.settings import Settings
from serving.export.shortlist import FILE, choose_shortlist, of_artefact
from serving.lazy import later
from serving.runtime.artefact import MANIFEST, Artefact, check_files, read_manifest
from zoo.recipes.files import read_stored
from zoo.text import load_tokenizer

compare = later("serving.export.parity.compare")
kinds = later("serving.export.kinds")
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


def verify(directory, log=lambda stage: None):
    """The parity report of the artefact at `directory`; "extra" lists the files that its manifest does not list.

    First every file is compared with its SHA-256. Then the Keras model in the artefact runs on a grid of inputs, and a
    new process compares the other forms with its results.

    A published artefact may lack what can be made again (`left_out` in its manifest). Then all forms are made again
    from its Keras model, what it has takes the place of what was made, and this is compared; "made_again" has of
    each of its int8 graphs (how many answers to the grid of inputs are the same as those of what
    was made, how many there are).

    Raises:
        ValueError: there is no artefact, a file has other bytes than the manifest records, or `model.keras` asks for
            more than layers of Keras, of the zoo and of packages that are imported.
        ParityError: signatures or results differ.
    """
    directory = Path(directory)
    manifest = read_manifest(directory)
    log("comparing hashes")
    extra = check_files(directory, manifest)
    if extra:
        log(f"note: {MANIFEST} does not list {', '.join(extra)}; these files are never read")
    for form in forms_in(manifest["files"]):
        form.check_safe(directory)
    with compare.checker() as parity:  # its process imports TensorFlow beside this one
        return _compare(parity, directory, manifest, log) | {"extra": extra}


def _compare(parity, directory, manifest, log):
    settings = dataclasses.replace(Settings.of(manifest), shortlist=of_artefact(directory, manifest))
    kind = kinds.kind_of(SOURCE.load(directory), settings)
    tokenizers = [load_tokenizer(directory / manifest["tokenizer"][side]) for side in kind.sides]
    if manifest.get("left_out"):
        return _compare_light(parity, kind, tokenizers, directory, manifest, log)
    log("checking parity in a fresh process")
    report = parity.compare(kind, tokenizers, directory, manifest["texts"])
    if settings.strings:
        log("comparing the graphs of texts with the runtime")
        report["strings"] = strings.compare(kind, directory, manifest["texts"])
    return report


def _compare_light(parity, kind, tokenizers, directory, manifest, log):
    """The report of an artefact without the forms that can be made again."""
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        pipeline.make_again(kind, tokenizers, folder, log)
        made_again = {}
        for form in FORMS:
            made_again |= form.put_published(kind, tokenizers, directory, folder, manifest)
        log("checking parity in a fresh process")
        return parity.compare(kind, tokenizers, folder, manifest["texts"]) | {"made_again": made_again}
