"""A stranger's labels, words and statements go all the way, from `new` to `deploy`: they come back as they are.

Every file that is written on the way is read by a parser that is not ours.
"""

import json
import shutil
import tomllib
from email.parser import Parser
from zipfile import ZipFile

import pytest

from serving import Runtime
from serving.hub.card import card
from tests.hostile.reading import check_folder, check_lines, check_markdown
from tests.hostile.strings import HOSTILE, MODULE
from tests.serving.hub import echo
from tools import cli
from zoo.core.escaping import UNSAFE, in_line
from zoo.recipes.files import read_stored

# What the index of a hub takes: a statement with control characters is refused.
STATED = " ".join(each for each in HOSTILE if not UNSAFE.search(each.replace("\n", "").replace("\t", "")))[:3000]
SMALL = {
    "text": {"pieces": "word", "vocab_size": 60},
    "model": {"units": 4, "num_layers": 1},
    "training": {"steps": 2, "validate_every": 1, "warmup": 0, "batch_size": 16},
}


@pytest.fixture
def seqzoo(capfd):
    """Runs a command that has to succeed, and returns what it printed, which was checked."""

    def run(*words, status=0):
        capfd.readouterr()
        done = cli.main([*map(str, words)])
        told = capfd.readouterr()
        check_lines(told.out)
        check_lines("\n".join(line for line in told.err.split("\n") if line.isprintable() is False))
        assert done == status, told.err
        return told.out

    return run


def small():
    return [
        word
        for table, own in SMALL.items()
        for name, value in own.items()
        for word in ("--set", f"{table}.{name}={value}")
    ]


@pytest.mark.slow
def test_all_the_way(stranger, seqzoo):
    labels = [label for label in HOSTILE if label.strip() and len(label) < 1000]
    rows = [{"text": f"word {row % 9} {label}", "label": label} for row, label in enumerate(labels * 6)]
    (stranger / "all.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    seqzoo("new", "classify", "all.jsonl", "--out", "mine.toml", "--set", f"description={STATED}")
    seqzoo("train", "mine.toml", "--out", "run $x_$", *small())
    assert tomllib.loads((stranger / "run $x_$" / "recipe.toml").read_text())["description"] == STATED
    kept = json.loads((stranger / "run $x_$" / "labels.json").read_text())
    assert len(kept) >= len(labels) - 3
    seqzoo("evaluate", "run $x_$")
    assert (
        len((stranger / "run $x_$" / "test.hypotheses.txt").read_text().splitlines())
        == json.loads((stranger / "run $x_$" / "scores.json").read_text())["count"]
    )
    shutil.copytree(stranger / "run $x_$", stranger / "_hidden")
    for figure, runs in (("confusion", ["_hidden"]), ("training", ["run $x_$", "_hidden"]), ("scores", ["_hidden"])):
        seqzoo("plot", figure, *runs, "--out", f"{figure}.svg", "--title", "$x^$ </text><script>")
    seqzoo("compare", "run $x_$", "_hidden", "--out", "compared.svg")
    artefact = seqzoo("export", "run $x_$", "--out", "models", "--no-int8").strip()
    seqzoo("verify", artefact)
    assert Runtime(artefact).manifest["labels"] == kept
    for more in ([], ["--json"]):
        assert seqzoo("run", artefact, "word 1", *more).count("\n") == 1
    hub = ["--run", "run $x_$", "--hub", "hub", "--licence", "MIT", "--data-licence", "CC0-1.0"]
    seqzoo("hub", "publish", artefact, *hub, "--data", STATED, "--attribution", STATED, "--language", "en")
    entry = json.loads((stranger / "hub" / "index.json").read_text())["models"][0]
    assert entry["description"] == entry["data"] == entry["attribution"] == STATED
    told = seqzoo("hub", "card", "mine", "--hub", "hub")
    check_markdown(told)
    for target in ("kserve", "tf-serving"):
        seqzoo("deploy", "models/mine", "--target", target, "--out", f"deployed {target}")
    seqzoo("hub", "gallery", artefact, "--out", "gallery")
    index = json.loads((stranger / "gallery" / "gallery.json").read_text())
    assert index["models"][0]["name"] == "mine"
    seqzoo("hub", "package", "mine", "--hub", "hub", "--out", "wheels")
    (wheel,) = (stranger / "wheels").glob("*.whl")
    with ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith("METADATA"))
        about = Parser().parsestr(archive.read(name).decode())
    assert about["License-Expression"] == "MIT" and len(about.get_all("Requires-Dist")) == 1
    assert about["Summary"] == in_line(" ".join(STATED.split()))
    check_markdown(about.get_payload())
    read = check_folder(stranger, but=("all.jsonl", f"{MODULE}.py"))
    assert read > 40


@pytest.mark.slow
def test_a_card_of_strange_facts(stranger, tmp_path):
    """Each field of an entry, and each text of a failure, in a card that is Markdown without markup of others."""
    run, artefact = echo.write(tmp_path / "made")
    manifest = json.loads((artefact / "manifest.json").read_text())
    recipe = read_stored(run / "recipe.toml")
    for text in HOSTILE:
        entry = {
            **dict.fromkeys("name version system cell attention feedforward block depth task published".split(), text),
            **dict.fromkeys("description licence data data_licence attribution".split(), text),
            "kind": "generate",
            "languages": [text, text],
            "parameters": 3,
            "scores": {},
            "parity": {"max_abs_diff": 1e-6, "tolerance": 1e-4},
            "speed": {"milliseconds": 1.0, "precision": text, "processor": text},
            "int8": None,
        }
        del entry["name"], entry["version"]
        entry |= {"name": "echo", "version": 1}
        own = manifest | {
            "test": {"count": 2, "precision": text, "split": text, "float32_int8": {}},
            "scores": {"bleu_signature": text},
            "sizes": {text: 1},
            "published": {"training": {"training_seconds": 1.0, "backend": text, "data_sha256": text}},
        }
        answers = [f"{text} {text}", "b"], [text, "b"], ["other" + text, "c"]
        check_markdown(card(entry, own, answers, recipe))
