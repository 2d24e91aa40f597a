"""A trained model -> an artefact directory: written beside, checked there, then renamed into place."""

import os
import shutil
from pathlib import Path

import keras

from serving import saved_model
from serving.int8 import report
from serving.kinds import kind_of
from serving.manifest import write_card, write_manifest
from serving.onnx import convert as onnx_convert
from serving.onnx.quantize import quantize
from serving.parity.compare import compare
from serving.partial import explained, locked, remove_leftovers
from serving.sessions import graph_file
from serving.settings import Settings, Trial

__all__ = ["Settings", "Trial", "export", "newest"]


def export(model, tokenizers, out, settings, version=None, log=lambda stage: None):
    """Write `out/name/version/` and return its path; nothing is left there if any step or the parity check fails.

    What a killed export left in `out/name` is removed.

    Args:
        model: of the zoo, in float32.
        tokenizers: a `zoo.text.Tokenizer` for each of the model's sides: `(source, target)`, or one.
        out: the model repository; TensorFlow Serving's `base_path` is `out/name`.
        settings: `Settings`.
        version: a positive integer; None is one more than the newest there.
        log: called with a line per stage.

    Raises:
        ValueError: the version exists or is not positive, the model is not float32, the backend is not TensorFlow, or
            settings and model do not fit.
        ParityError, ConversionError: see there.
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
    for layer in model._flatten_layers():
        if hasattr(layer, "trim"):
            layer.trim()  # an adaptive span: what no head looks at is not read in the files either
    kind = kind_of(model, settings)
    if len(tokenizers) != len(kind.sides):
        raise ValueError(
            f"{type(model).__name__} needs a tokenizer for {' and '.join(kind.sides)}. Received: {len(tokenizers)}."
        )
    held = {side: tokenizer.vocab_size for side, tokenizer in zip(kind.sides, tokenizers, strict=True)}
    if held != kind.vocabulary():
        raise ValueError(
            f"{type(model).__name__} and its tokenizers disagree: expected the vocabularies {kind.vocabulary()}, "
            f"received {held}. Give the tokenizers that it was trained with."
        )
    home = Path(out) / settings.name
    version = version or newest(home) + 1
    final = home / str(version)
    if final.exists():
        raise ValueError(f"{final} exists. Choose another --version, or leave it out for the next one.")
    partial = home / f".{version}.{os.getpid()}.partial"
    with explained(final):
        home.mkdir(parents=True, exist_ok=True)
        remove_leftovers(home)
        partial.mkdir()
        try:
            with locked(partial):
                _write_files(kind, tokenizers, partial, log)
                # Under another name, to be sure that nothing depends on where it was written.
                partial = partial.rename(home / f".{version}.{os.getpid()}.checked")
                _check(kind, tokenizers, partial, version, log)
                partial.rename(final)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return final


def newest(home):
    """The highest version below `home`, 0 if there is none."""
    versions = [int(path.name) for path in home.glob("*") if path.name.isdecimal() and path.name.isascii()]
    return max(versions, default=0)


def _write_files(kind, tokenizers, directory, log):
    log("writing model.keras and the SavedModel")
    kind.model.save(directory / "model.keras")
    saved_model.write(kind, tokenizers, directory / "saved_model")
    for side, tokenizer in zip(kind.sides, tokenizers, strict=True):
        tokenizer.save(directory / f"{side}.spm")
    (directory / "recipe.toml").write_text(kind.settings.recipe, encoding="utf-8")
    for function in {function.graph: function for function in kind.functions.values() if function.graph}.values():
        log(f"writing {function.graph}")
        graph = onnx_convert.convert(function.function, function.signature, directory / function.graph)
        if kind.settings.int8 and function.int8:
            onnx_convert.write(quantize(graph), directory / graph_file(function.graph, "int8"))


def _check(kind, tokenizers, directory, version, log):
    """Parity, and what int8 changes; both are written down."""
    settings = kind.settings
    write_manifest(kind, directory, version)
    log("checking parity in a fresh process")
    measured = {"parity": compare(kind, tokenizers, directory, list(settings.texts))}
    if settings.int8 and (settings.texts or settings.trial):
        log("measuring int8")
        measured["int8"] = report(directory, settings.texts, settings.trial)
    write_card(kind, directory, version, **measured)
    write_manifest(kind, directory, version, **measured)
