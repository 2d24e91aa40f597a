"""A tiny hub: models made by hand, whose answers are known (`tests.serving.fake_artefact`), and their index.

`python -m tests.hub.tiny DIR` writes one.
"""

import hashlib
import json
import shutil
import sys
from pathlib import Path

from tests.serving import fake_artefact

FACTS = {
    "system": "recurrent",
    "cell": "gru",
    "attention": "additive",
    "feedforward": None,
    "block": None,
    "depth": None,
    "task": "transduce",
    "kind": "generate",
    "languages": ["de", "en"],
    "description": "Says the text again.",
    "licence": "Apache-2.0",
    "data": "made by hand",
    "data_licence": "CC0-1.0",
    "attribution": "nobody",
    "parameters": 7,
    "scores": {"exact_match": 99.5, "exact_match_interval": [99.0, 100.0]},
    "parity": {"max_abs_diff": 1e-6, "tolerance": 1e-4},
    "int8": None,
    "speed": None,
    "requires": {"seqzoo": ">=0.1", "onnxruntime": ">=1.24"},
    "published": "2026-11-22",
    "withdrawn": None,
}


def entry(name, version=1, folder=None, **facts):
    """An entry; its files are those of `folder`, or else one small manifest that is nowhere."""
    held = {"manifest.json": b"{}"}
    if folder is not None:
        paths = (path for path in sorted(Path(folder).rglob("*")) if path.is_file())
        held = {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
    made = FACTS | {"name": name, "version": version} | facts
    made["bytes"] = {name: len(content) for name, content in held.items()}
    made["files"] = {name: hashlib.sha256(content).hexdigest() for name, content in held.items()}
    return made


def index(*entries):
    return {"format": 1, "models": list(entries)}


def write_index(home, *entries):
    Path(home).mkdir(parents=True, exist_ok=True)
    (Path(home) / "index.json").write_text(json.dumps(index(*entries)), encoding="utf-8")


def write(home, artefact=None):
    """A hub of `echo` in two versions (the second says that int8 loses nothing), and of a classifier `thirds`."""
    home = Path(home)
    for version in (1, 2):
        folder = home / "echo" / str(version)
        if artefact:
            shutil.copytree(artefact, folder)
        else:
            fake_artefact.write(folder)
        if version == 2:  # other bytes under the same names
            fake_artefact.change(folder, version=2)
    fake_artefact.change(fake_artefact.write(home / "thirds" / "1", "classify"), name="thirds")
    write_index(
        home,
        entry("echo", 1, home / "echo" / "1"),
        entry("echo", 2, home / "echo" / "2", int8=True),
        entry("thirds", 1, home / "thirds" / "1", kind="classify", task="classify", languages=["en"], licence="MIT"),
    )
    return home


if __name__ == "__main__":
    write(sys.argv[1])
