"""A finished run and its artefact, made by hand: it says every text again, so its scores are known without a model."""

import contextlib
import hashlib
import json
import shutil

from serving.hub import Facts, TestSet
from tests.serving import fake_artefact
from tests.tasks import runs

ROWS = [("abc", "abc"), ("a b", "a b"), ("123", "124"), ("fed", "fed"), ("bad cab", "bad"), ("0", "0")]
EXACT, WER, PER = 100 * 4 / 6, 100 * 2 / 6, 100 * (1 + 4) / (3 + 3 + 3 + 3 + 3 + 1)  # counted by hand
FACTS = Facts("Apache-2.0", "six lines", ("CC-BY-4.0",), "The authors of the six lines.", ("de", "en"))
VERSIONS = {"keras": "3.15.0", "tensorflow": "2.21.0", "python": "3.11.0"}


def write(home):
    """`(run, artefact)` in the folder `home`."""
    files = home / "files"
    files.mkdir(parents=True)
    run = runs.write(runs.recipe("transduce", files), home / "run")
    (files / "test.tsv").write_text("".join(f"{one}\t{other}\n" for one, other in ROWS))
    for side in ("source", "target"):
        (run / f"{side}.spm").write_bytes(fake_artefact.tokenizer())
    said = {"steps": 7, "training_seconds": 3600.0, "backend": "jax", "parameters": 1}
    (run / "training.json").write_text(json.dumps(said))
    (run / "data.json").write_text(json.dumps({"licence": "CC0-1.0"}))
    artefact = fake_artefact.write(home / "artefacts" / "echo" / "1")
    shutil.copyfile(artefact / "greedy.onnx", artefact / "greedy.int8.onnx")
    for name in ("model.keras", "recipe.toml"):
        shutil.copyfile(run / name, artefact / name)
    (artefact / "card.md").write_text("# echo\n")
    (artefact / "saved_model.pb").write_bytes(b"a graph")
    parity = {"passed": True, "max_abs_diff": 1e-6, "tolerance": 1e-4, "largest": {}}
    return run, fake_artefact.change(artefact, parity=parity, versions=VERSIONS)


@contextlib.contextmanager
def changing(hub):
    """The index of a hub, which is written again at the end."""
    index = json.loads((hub / "index.json").read_text(encoding="utf-8"))
    yield index
    (hub / "index.json").write_text(json.dumps(index), encoding="utf-8")


def entries(hub):
    """The versions that the index of a hub has."""
    return json.loads((hub / "index.json").read_text(encoding="utf-8"))["models"]


def measure(entry, home):
    """Give an entry the hashes and sizes of its files in a folder."""
    held = {name: (home / name).read_bytes() for name in entry["files"]}
    entry["files"] = {name: hashlib.sha256(content).hexdigest() for name, content in held.items()}
    entry["bytes"] = {name: len(content) for name, content in held.items()}


def files(folder):
    """The names of all files in a folder, and in those inside."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def six(run):
    """The `TestSet` of `ROWS`; the recipe itself names files that may have moved."""
    return TestSet(str(run.parent / "files" / "test.tsv"))
