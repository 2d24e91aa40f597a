"""Writes a trained model as an artefact directory, under a temporary name until it has passed all checks."""

import contextlib
import shutil
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import keras

from serving.export import storage, strings
from serving.export.forms import forms_to_write
from serving.export.kinds import kind_of
from serving.export.manifest import write_card, write_manifest
from serving.export.measuring import ENOUGH, measure_usual, report
from serving.export.parity.compare import checker
from serving.export.partial import explain_full_disk, reserve
from serving.export.settings import Settings
from serving.export.shortlist import FILE
from zoo.core.protocols import Attention, find_declaring


def export(
    model: Any,
    tokenizers: Sequence[Any],
    out: str | PathLike[str],
    settings: Settings,
    version: int | None = None,
    log: Callable[[str], object] = lambda stage: None,
) -> Path:
    """Write `out/name/version/` and return its path. If a step or the parity check fails, no file is left behind.

    Temporary files of killed exports in `out/name` are removed.

    Args:
        model: a model of the zoo, in float32. With a `storage` of 16 or 8 bits its weights are rounded while it is
            exported, and are afterwards as they were.
        tokenizers: a `zoo.text.Tokenizer` for each of the model's sides: `(source, target)`, or one.
        out: the model repository; TensorFlow Serving's `base_path` is `out/name`.
        settings: `Settings`.
        version: a positive integer; None is one more than the newest version.
        log: a function that is called with a line about each stage.

    Raises:
        ValueError: the version exists or is not positive, the model is not float32, the backend is not TensorFlow,
            the settings or the tokenizers do not fit the model, or float16 cannot hold a weight well.
        ParityError: the exported forms give other results than the Keras model.
        ConversionError: the model cannot be converted to ONNX.
        UnsupportedError: the version of TensorFlow Serving that the settings name cannot load the SavedModel.
        ServingError: the disk is full.
    """
    if keras.backend.backend() != "tensorflow":
        raise ValueError(
            f"Export needs the tensorflow backend; this process runs on {keras.backend.backend()}. Set "
            "KERAS_BACKEND=tensorflow: a model trained on another backend loads there."
        )
    if version is not None and version < 1:
        raise ValueError(f"A version is a positive integer. Received: {version}. Leave it out for the next one.")
    if model.compute_dtype != "float32":
        raise ValueError(
            f"Export needs a float32 model; this one computes in {model.compute_dtype}. Load it with a float32 policy: "
            "weights are stored in float32 under mixed precision."
        )
    with storage.round_weights(model, settings.storage):
        return _export(model, tokenizers, out, settings, version, log)


def _export(model, tokenizers, out, settings, version, log):
    for layer in find_declaring(model, Attention):
        if layer.traits.trims:
            layer.trim()  # of an adaptive span, only the positions that a head reads are exported
    kind = kind_of(model, settings)
    if len(tokenizers) != len(kind.sides):
        raise ValueError(
            f"{type(model).__name__} needs a tokenizer for {' and '.join(kind.sides)}. Received: {len(tokenizers)}."
        )
    sizes = {side: tokenizer.vocab_size for side, tokenizer in zip(kind.sides, tokenizers, strict=True)}
    if sizes != kind.vocabulary():
        raise ValueError(
            f"{type(model).__name__} and its tokenizers disagree: expected the vocabularies {kind.vocabulary()}, "
            f"received {sizes}. Give the tokenizers that it was trained with."
        )
    for form in forms_to_write(settings):
        form.check_search(settings.task, kind.searches)
    if settings.strings:
        strings.check_model(kind, tokenizers)
    most = kind.bound.max_input
    full_sides = [side for side, tokenizer in zip(kind.sides, tokenizers, strict=True) if tokenizer.around.size >= most]
    if full_sides:
        raise ValueError(
            f"max_input={most} leaves no room for a text between what its tokenizer puts around it. Ask for more."
        )
    home = Path(out) / settings.name
    with contextlib.ExitStack() as locks:
        with explain_full_disk(home):
            version, partial = locks.enter_context(reserve(home, version))
        final = home / str(version)
        with explain_full_disk(final), checker() as parity:
            try:
                _write_files(kind, tokenizers, partial, log)
                # It is checked under another name, to be sure that nothing depends on where it was written.
                partial = partial.rename(partial.with_suffix(".checked"))
                _check(kind, tokenizers, partial, version, log, parity)
                partial.rename(final)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    return final


def make_again(kind, tokenizers, directory, log=lambda stage: None):
    """Write all forms of a model to an empty directory, with a manifest of version 1; nothing is checked or measured.

    The arguments are those of `serving.export.forms.base.Form.write`.
    """
    _write_files(kind, tokenizers, directory, log)
    write_manifest(kind, directory, 1)


def _write_files(kind, tokenizers, directory, log):
    for side, tokenizer in zip(kind.sides, tokenizers, strict=True):
        tokenizer.save(directory / f"{side}.spm")
    (directory / "recipe.toml").write_text(kind.settings.recipe, encoding="utf-8")
    if kind.settings.shortlist is not None:
        kind.settings.shortlist.save(directory / FILE)
    for form in forms_to_write(kind.settings):
        form.write(kind, tokenizers, directory, log)
    if kind.settings.strings:
        log("writing the graphs of texts")
        strings.write(kind, tokenizers, directory, log)


def _check(kind, tokenizers, directory, version, log, parity):
    """Check parity and measure int8; both results go into the manifest and the card."""
    settings = kind.settings
    write_manifest(kind, directory, version)
    log("checking parity in a fresh process")
    reports = {"parity": parity.compare(kind, tokenizers, directory, list(settings.texts))}
    if settings.strings:
        log("comparing the graphs of texts with the runtime")
        reports["strings"] = strings.compare(kind, directory, settings.texts)
    if settings.int8 and (settings.texts or settings.trial):
        log("measuring int8")
        reports["int8"] = report(directory, settings.texts, settings.trial, kind.large)
    reports["usual"] = settings.usual
    if len(settings.calibration) >= ENOUGH:
        log(f"measuring what is usual with {len(settings.calibration):,} validation texts")
        reports["usual"] = measure_usual(directory, settings.calibration, kind.large)
    elif not settings.usual:
        log(f"no text will be told to be unusual: {len(settings.calibration)} texts validate, and {ENOUGH} are needed")
    write_card(kind, directory, version, **reports)
    write_manifest(kind, directory, version, **reports)
