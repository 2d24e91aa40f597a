"""An artefact on disk, as its reader sees it; needs nothing but the standard library."""

import hashlib
import json
from pathlib import Path

from serving.errors import DamagedError

MANIFEST = "manifest.json"
REQUIRED = ("name", "version", "kind", "graphs", "tokenizer", "files")


def read_manifest(directory):
    """The manifest of the artefact at `directory`, a dict.

    Raises:
        ValueError: no such directory, no manifest in it, or a manifest that cannot be read.
    """
    directory = Path(directory)
    if not directory.is_dir():
        raise ValueError(
            f"No artefact at {directory}: there is no such directory. "
            "Expected what `seqzoo export RUN --out DIR` wrote."
        )
    path = directory / MANIFEST
    if not path.is_file():
        raise ValueError(f"{directory} is not an artefact: it holds no {MANIFEST}." + _suggestion(directory))
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(
            f"{path} is damaged: expected JSON, and reading it says: {error}. Export again, or copy the artefact again."
        ) from error
    missing = [key for key in REQUIRED if not isinstance(manifest, dict) or key not in manifest]
    if missing:
        raise ValueError(
            f"{path} is not an artefact's manifest: it lacks {missing}. Export again with "
            "`seqzoo export RUN --out DIR`."
        )
    return manifest


def _suggestion(directory):
    """Where the artefacts below `directory` are, at most two levels down (`name/version/`)."""
    found = sorted((*directory.glob(f"*/{MANIFEST}"), *directory.glob(f"*/*/{MANIFEST}")))
    if found:
        return " Did you mean " + " or ".join(str(path.parent) for path in found[:5]) + "?"
    if (directory / "recipe.toml").is_file():
        return f" It is a training run: export it with `seqzoo export {directory} --out DIR`."
    return " Expected what `seqzoo export RUN --out DIR` wrote."


def resolve(directory):
    """The artefact at `directory` or, where there is just one name below it, that one's newest version.

    Raises:
        ValueError: there is none, or the choice is not clear.
    """
    directory = Path(directory)
    if (directory / MANIFEST).is_file():
        return directory
    found = [*directory.glob(f"*/{MANIFEST}"), *directory.glob(f"*/*/{MANIFEST}")]
    homes = {path.parent.parent for path in found}
    numbered = [path.parent for path in found if path.parent.name.isdigit()]
    if len(homes) == 1 and numbered:
        return max(numbered, key=lambda path: int(path.name))
    read_manifest(directory)  # says what is there and what was expected
    return directory


def sha256(path):
    """Hexadecimal SHA-256 of a file's bytes."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_files(directory, manifest):
    """Compare every file with the hash in the manifest.

    Raises:
        DamagedError: names every file that is missing or has other bytes.
    """
    directory = Path(directory)
    wrong = [
        f"{name} ({'other bytes' if (directory / name).is_file() else 'missing'})"
        for name, expected in sorted(manifest["files"].items())
        if not (directory / name).is_file() or sha256(directory / name) != expected
    ]
    if wrong:
        raise DamagedError(
            f"{directory} is damaged: expected the bytes whose SHA-256 {MANIFEST} records, found "
            f"otherwise: {', '.join(wrong)}. Copy the artefact again, or export it again."
        )


def find(directory, name):
    """The path of file `name` in the artefact.

    Raises:
        ValueError: there is none; the message lists what is there.
    """
    path = Path(directory) / name
    if path.is_file():
        return path
    held = sorted(item.name for item in Path(directory).iterdir() if item.suffix == path.suffix)
    mend = "Export again with int8 graphs, or use float32." if ".int8." in name else "Export again."
    raise ValueError(f"{directory} holds no {name}; of its kind it holds {held}. {mend}")


def damaged(path, error):
    """The error for a file that its library cannot read."""
    return DamagedError(
        f"{path} is damaged or of a newer format: {error}. `seqzoo verify {Path(path).parent}` "
        "checks every file; copy or export the artefact again."
    )
