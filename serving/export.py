"""A trained model -> an artefact directory: written beside, checked there, then renamed into place."""

import json
import os
import platform
import shutil
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import keras

from serving import saved_model
from serving.artefact import MANIFEST, sha256
from serving.onnx import convert as onnx_convert
from serving.onnx.quantize import quantize
from serving.parity.compare import compare
from serving.signatures import driver, find, generation

PACKAGES = ("keras", "tensorflow", "tensorflow-text", "tf2onnx", "onnx", "onnxruntime", "sentencepiece", "numpy")


@dataclass(frozen=True)
class Settings:
    """How the artefact generates, and what is written down about its making.

    Args:
        name: the directory's name.
        task: such as "translation".
        beams: widths to write graphs for, besides greedy; the first is the default.
        max_length: the longest output in tokens.
        alpha: exponent of the length penalty.
        recipe: text of the resolved recipe.
        scores: what was measured, for the card.
        texts: examples for the text signature's check.
        int8: also write the quantised graphs.
    """

    name: str
    task: str
    beams: tuple = (4,)
    max_length: int = 64
    alpha: float = 0.6
    recipe: str = ""
    scores: dict = field(default_factory=dict)
    texts: tuple = ()
    int8: bool = True

    def __post_init__(self):
        if not self.beams or min(self.beams) < 1:
            raise ValueError(f"Beam widths must be at least 1, and there must be one. Received: {list(self.beams)}.")

    def generation(self, beams=None):
        return {"beams": beams or self.beams[0], "max_length": self.max_length, "alpha": self.alpha}


def export(model, tokenizers, out, settings, version=None, say=lambda stage: None):
    """Write `out/name/version/` and return its path; nothing is left there if any step or the parity check fails.

    Args:
        model: a generating model of the zoo, in float32.
        tokenizers: `(source, target)`.
        out: the model repository; TensorFlow Serving's `base_path` is `out/name`.
        settings: `Settings`.
        version: a positive integer; None is one more than the newest there.
        say: called with a line per stage.

    Raises:
        ValueError: the version exists or is not positive, the model is not float32, the backend is not TensorFlow.
        ParityError, ConversionError: see there.
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
    home = Path(out) / settings.name
    version = version or newest(home) + 1
    final = home / str(version)
    if final.exists():
        raise ValueError(f"{final} exists. Choose another --version, or leave it out for the next one.")
    home.mkdir(parents=True, exist_ok=True)
    partial = home / f".{version}.{os.getpid()}.partial"
    try:
        partial.mkdir()
        _write_files(model, tokenizers, partial, settings, say)
        tables = served(model, settings)
        moved = partial.rename(home / f".{version}.{os.getpid()}.checked")  # nothing may depend on where it was written
        partial = moved
        say("checking parity in a fresh process")
        _write_manifest(partial, settings, version, tables, parity=None)
        parity = compare(model, tokenizers, partial, settings.generation(), list(settings.texts))
        _write_card(partial, settings, version, model, parity)
        _write_manifest(partial, settings, version, tables, parity)
        partial.rename(final)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return final


def newest(home):
    """The highest version below `home`, 0 if there is none."""
    versions = [int(path.name) for path in home.glob("*") if path.name.isdigit()]
    return max(versions, default=0)


def graphs(model, settings):
    """`{file name: (signature, function)}` of every ONNX graph."""
    pair, limits = driver(model, settings.max_length), (settings.max_length, settings.alpha)
    found = {"encoder.onnx": pair["encode"], "step.onnx": pair["step"]}
    for beams in sorted({1, *settings.beams}):
        table = find(model.signatures(), "greedy" if beams == 1 else "tokens")
        signature = table.fix(beams=beams, output_time=settings.max_length)
        found[graph_name(beams, settings)] = signature, generation(model, beams, *limits)
    return found


def served(model, settings):
    """Every signature that leaves the house, with the sizes it leaves with."""
    beams = {"greedy": 1, "tokens": settings.beams[0]}
    pair = driver(model, settings.max_length)
    tables = [
        table.fix(beams=beams[table.name], output_time=settings.max_length) if table.name in beams else table
        for table in model.signatures()
    ]
    return [*tables, pair["encode"][0], pair["step"][0]]


def graph_name(beams, settings):
    if beams == 1:
        return "greedy.onnx"
    return "model.onnx" if beams == settings.beams[0] else f"model.beam{beams}.onnx"


def _write_files(model, tokenizers, directory, settings, say):
    say("writing model.keras and the SavedModel")
    model.save(directory / "model.keras")
    saved_model.write(model, tokenizers, directory / "saved_model", **settings.generation())
    for side, tokenizer in zip(("source", "target"), tokenizers, strict=True):
        tokenizer.save(directory / f"{side}.spm")
    (directory / "recipe.toml").write_text(settings.recipe, encoding="utf-8")
    for name, (signature, function) in graphs(model, settings).items():
        say(f"writing {name}")
        graph = onnx_convert.convert(function, signature, directory / name)
        if settings.int8 and name not in ("encoder.onnx", "step.onnx"):
            onnx_convert.write(quantize(graph), directory / f"{name.removesuffix('.onnx')}.int8.onnx")


def _write_manifest(directory, settings, version, tables, parity):
    step = tables[-1]
    files = sorted(path for path in directory.rglob("*") if path.is_file() and path.name != MANIFEST)
    manifest = {
        "name": settings.name,
        "version": version,
        "task": settings.task,
        "signatures": [table.to_dict() for table in tables],
        "generation": {str(beams): graph_name(beams, settings) for beams in sorted({1, *settings.beams})},
        "default_beam": settings.beams[0],
        "max_length": settings.max_length,
        "alpha": settings.alpha,
        "tokenizer": {"source": "source.spm", "target": "target.spm", "add_eos": True},
        "step": {side: [spec.name for spec in getattr(step, side)] for side in ("inputs", "outputs")},
        "texts": list(settings.texts),
        "scores": settings.scores,
        "parity": parity,
        "versions": {name: metadata.version(name) for name in PACKAGES} | {"python": platform.python_version()},
        "files": {path.relative_to(directory).as_posix(): sha256(path) for path in files},
    }
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (directory / MANIFEST).write_text(text, encoding="utf-8")


def _write_card(directory, settings, version, model, parity):
    scores = "\n".join(f"- {name}: {value}" for name, value in settings.scores.items()) or "- not measured"
    card = f"""# {settings.name}, version {version}

{settings.task}; {type(model).__name__} with {model.count_params():,} parameters.

## Scores
{scores}

## Parity
Keras, SavedModel and ONNX agree: largest difference {parity["max_abs_diff"]:.2g} (allowed {parity["tolerance"]}),
generated tokens identical for greedy and beam {settings.beams[0]}.

## Use
    seqzoo run DIR "text"
    seqzoo verify DIR

The recipe that made it is `recipe.toml`; every file's SHA-256 is in `{MANIFEST}`.
"""
    (directory / "card.md").write_text(card, encoding="utf-8")
