"""What an artefact says of itself: `manifest.json` for programs, `card.md` for people."""

import json
import platform
from importlib import metadata

from serving.artefact import MANIFEST, sha256

PACKAGES = ("keras", "tensorflow", "tensorflow-text", "tf2onnx", "onnx", "onnxruntime", "sentencepiece", "numpy")


def write_manifest(kind, directory, version, parity=None, int8=None):
    """Everything a program needs to know to use the artefact, and the SHA-256 of every other file."""
    settings = kind.settings
    files = sorted(path for path in directory.rglob("*") if path.is_file() and path.name != MANIFEST)
    manifest = {
        "name": settings.name,
        "version": version,
        "task": settings.task,
        "kind": kind.name,
        **kind.facts(),
        "signatures": [table.to_dict() for table in (kind.table("serving_default"), *kind.signatures())],
        "graphs": {name: function.graph for name, function in kind.functions.items() if function.graph},
        "tokenizer": {side: f"{side}.spm" for side in kind.sides},
        "texts": list(settings.texts),
        "scores": settings.scores,
        "parity": parity,
        "int8": int8,
        "versions": {name: metadata.version(name) for name in PACKAGES} | {"python": platform.python_version()},
        "files": {path.relative_to(directory).as_posix(): sha256(path) for path in files},
    }
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (directory / MANIFEST).write_text(text, encoding="utf-8")


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

The recipe that made it is `recipe.toml`; every file's SHA-256 is in `{MANIFEST}`.
"""
    (directory / "card.md").write_text(card, encoding="utf-8")


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
