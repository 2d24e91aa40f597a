"""What an artefact says of itself: `manifest.json` for programs, `card.md` for people."""

import json
import math
import platform
from importlib import metadata

import onnx

from serving.artefact import MANIFEST, sha256
from serving.bounds import bounds
from serving.manifest_format import DIGEST, FORMAT, checked, digest_of
from serving.onnx.requirements import requirements

PACKAGES = ("keras", "tensorflow", "tensorflow-text", "tf2onnx", "onnx", "onnxruntime", "sentencepiece", "numpy")


def write_manifest(kind, directory, version, parity=None, int8=None):
    """Everything a program needs to know to use the artefact, the SHA-256 of every other file, and its own."""
    settings = kind.settings
    files = {
        path.relative_to(directory).as_posix(): path
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name != MANIFEST
    }
    manifest = {
        "format": FORMAT,
        "name": settings.name,
        "version": version,
        "task": settings.task,
        "kind": kind.name,
        **kind.facts(),
        "vocabulary": kind.vocabulary(),
        "signatures": [_table(kind, table) for table in (kind.table("serving_default"), *kind.signatures())],
        "graphs": {name: function.graph for name, function in kind.functions.items() if function.graph},
        "onnx": {name: requirements(onnx.load(path)) for name, path in files.items() if path.suffix == ".onnx"},
        "tokenizer": {side: f"{side}.spm" for side in kind.sides},
        "texts": list(settings.texts),
        "scores": settings.scores,
        "parity": parity,
        "int8": int8,
        "versions": {name: metadata.version(name) for name in PACKAGES} | {"python": platform.python_version()},
        "files": {name: sha256(path) for name, path in files.items()},
        "sizes": {name: path.stat().st_size for name, path in files.items()},
    }
    manifest = json.loads(json.dumps(_finite(manifest)))  # as it will be read
    manifest[DIGEST] = digest_of(manifest)
    checked(manifest)
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (directory / MANIFEST).write_text(text, encoding="utf-8")


def _table(kind, table):
    """A signature as a dict; inputs that hold ids or lengths say which they may be."""
    found, vocabulary = table.to_dict(), kind.vocabulary()
    for spec in found["inputs"]:
        limits = bounds(kind.name, table.name, spec["name"], vocabulary)
        spec |= dict(zip(("minimum", "maximum"), limits, strict=True)) if limits else {}
    return found


def _finite(value):
    """The value with null for every number that JSON does not know: a score may be infinite."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_card(kind, directory, version, parity, int8=None):
    """`card.md`: scores, parity, what int8 changes, use."""
    settings = kind.settings
    scores = "\n".join(f"- {name}: {value}" for name, value in settings.scores.items()) or "- not measured"
    card = f"""# {settings.name}, version {version}

{settings.task}; {type(kind.model).__name__} with {kind.model.count_params():,} parameters.

## Scores
{scores}

## Parity
Keras, SavedModel and ONNX agree: largest difference {parity["max_abs_diff"]:.2g} (allowed {parity["tolerance"]}), and
tokens, labels and texts are identical.

{_int8(int8)}## Use
    seqzoo run DIR "text"
    seqzoo verify DIR

At most {kind.bound.max_input:,} tokens of a text are read; of a longer one {_overlong(kind.bound)}.

The recipe that made it is `recipe.toml`; every file's SHA-256 is in `{MANIFEST}`.
"""
    (directory / "card.md").write_text(card, encoding="utf-8")


def _overlong(bound):
    return "no answer is given" if bound.overlong == "refuse" else f"the {bound.side}"


def _int8(report):
    if report is None:
        return ""
    rows = [
        f"| {row['mode']} | {row['megabytes'][0]} / {row['megabytes'][1]} | "
        + " | ".join(f"{one} / {other}" for one, other in row["milliseconds"].values())
        + f" | {row['identical']:.1%} | {row['batch_mates']:.1%} |"
        for row in report["modes"]
    ]
    batches = list(report["modes"][0]["milliseconds"])
    heads = " | ".join(f"ms, batch {batch}" for batch in batches)
    scores = "".join(
        f"- {mode}, {name}: {one} float32, {other} int8\n"
        for mode, pairs in report["scores"].items()
        for name, (one, other) in pairs.items()
    )
    return f"""## int8
float32 / int8, on {report["texts"]} texts and one thread; *identical*: answers that are the same in int8; *batch*: int8
answers that are others in a batch than alone, because int8 scales are those of the whole batch.

| | MB | {heads} | identical | batch |
|---|---|{"---|" * (len(batches) + 2)}
{chr(10).join(rows)}

{scores}
"""
