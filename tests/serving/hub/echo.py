"""A finished run and its artefact, made by hand: it says every text again, so its scores are known without a model."""

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


def six(run):
    """The `TestSet` of `ROWS`; the recipe itself names files that may have moved."""
    return TestSet(str(run.parent / "files" / "test.tsv"))
