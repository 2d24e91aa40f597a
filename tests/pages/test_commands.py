"""Every command, recipe and piece of output on the pages: run from an empty folder, as a reader pastes it.

Training takes hours as it stands on the pages, so a stand-in for `seqzoo` adds the settings of `TINY` to `seqzoo train`
and changes nothing else. The folder that the pages call DIR holds a corpus of a few lines.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib

import pytest

from tests.house_rules import ROOT
from tests.pages.blocks import PAGES, blocks
from tests.serving import fake_artefact
from tools import cli
from zoo import recipes
from zoo.recipes.files import merge
from zoo.recipes.recipe import plain

SHELL = [(block, command) for page in PAGES for block in blocks(page, "shell") for command in block.commands]
SEQZOO = [(str(block), command) for block, command in SHELL if "seqzoo " in command]
README = {block.commands[0].split(" -")[0]: block for block in blocks(ROOT / "README.md", "shell")}
ANSWERS, PIPELINE = '.venv/bin/seqzoo run build/demo "the 3rd of March 1999" "8 мая 1945 г."', "seqzoo list"
EVERY = "training.steps=2 training.validate_every=1 training.warmup=0 training.batch_size=4 model.units=8"
SMALL = f"{EVERY} training.num_buckets=1 search.max_output_length=6 text.vocab_size=40"
LAYERED = f"{EVERY} model.num_heads=2 model.hidden_units=16 model.num_layers=1"
TEXT = f"{LAYERED} text.vocab_size=30"
TINY = {  # recipe -> settings under which it trains in seconds
    "multi30k-de-en-gru-additive": f"{SMALL} text.target.vocab_size=40",
    "multi30k-de-en-transformer-pre-norm": f"{SMALL} {LAYERED}",
    "tinyshakespeare-transformer-macaron": f"{TEXT} model.context=16",
    "duplication-reformer": f"{LAYERED} data.train_size=40 data.valid_size=8 data.test_size=8",
    "gutenberg-9-product-key": f"{TEXT} model.context=16 model.num_layers=2",
    "gutenberg-9-reformer": f"{TEXT} model.context=128",
    "trec-star": f"{EVERY} model.num_heads=2 model.num_layers=1 text.vocab_size=40",
    "trec-transformer-pre-norm": f"{EVERY} model.num_layers=1 text.vocab_size=40",
    "trec-tuned": f"{EVERY} model.num_layers=1 text.vocab_size=40",
    # Of a file the name that it says, which those of the pages are saved under, too:
    "novels-with-memory": f"{TEXT} model.context=128 model.num_layers=2",
    "reviews": f"{EVERY} text.vocab_size=40",
    "pairs": f"{LAYERED} text.vocab_size=40",
    "stars": f"{LAYERED} text.vocab_size=60",
    "names": f"{EVERY} text.vocab_size=60",
    "rhyme": f"{LAYERED} model.context=16",
    "lexicon": f"{EVERY} training.num_buckets=1",
    "g2p-best": f"{EVERY} training.num_buckets=1",
    "small": f"{SMALL} text.target.vocab_size=40",
    "captions-lstm": f"{SMALL} text.target.vocab_size=40",
    "shakespeare-mine": f"{TEXT} model.context=128 model.num_layers=2",
}
ELSEWHERE = {  # what no test here runs -> the test that does, or why none does
    "make demo": "tests/tools/test_calm.py runs the demo on tiny settings; .ci/run has the whole of it as a slow test",
    "make test": "this is it",
    "make test-arithmetic": ".ci/run does it",
    "make test-slow": "this is it",
    "make lint": ".ci/run",
    "make docs": "tests/pages/test_site.py builds the site",
    ".ci/run": "it runs every test, this one, too",
    "pip install": "tests/tools/test_own.py installs the wheel, and .ci/run each of the extras",
    ".venv/bin/pip install": "see pip install",
    "python -m http.server": "tests/gallery/test_browser.py serves a gallery",
    "python benchmarks": "they take hours",
    "python docs/reproduce.py": "tests/pages/test_reproduce.py compares the page with what it writes",
    "python docs/questions": "tests/pages/test_questions.py draws, and compares what was measured with the pages",
    "server/start.sh": "tests/serving/deploy/test_targets.py starts a stand-in for the server",
    "docker ": "the files that it reads are compared with their schemas in tests/serving/deploy",
    "kubectl ": "see docker",
    "python -m zoo.check": "tests/check",
    "python -m maintenance.release": "tests/tools/test_release.py",
    "export KERAS_BACKEND": "it sets a variable",
    "openssl": "tests/serving/hub/test_signing.py makes such keys",
    "curl": "tests/serving/server/test_page.py and tests/serving/client/test_other_languages.py",
    "node": "tests/serving/client/test_other_languages.py",
    "g++": "tests/serving/client/test_other_languages.py",
}


def test_every_block_is_of_a_kind_that_is_tested():
    for page in PAGES:
        for block in blocks(page):
            # "py" is Python that needs a process of its own: tests/serving/export, test_strings.py and test_forms.py
            assert block.kind in ("python", "py", "toml", "shell", "json", "formula", "tree"), (
                f"{block} is marked {block.kind!r}"
            )
            if block.kind == "tree":  # tests/serving/export/test_export.py compares its names
                assert "└── " in block.text
            if block.kind == "formula":
                explains = page.parent.name in ("zoo", "questions") or page.name == "serving.md"
                assert explains and "seqzoo" not in block.text, f"what is {block}?"


@pytest.mark.parametrize(("block", "command"), SEQZOO, ids=[f"{block}-{line[:40]}" for block, line in SEQZOO])
def test_a_seqzoo_command_is_right_use(block, command):
    words = shlex.split(command.partition(" < ")[0])
    args = cli.parse(words[1:])  # an unknown command or option exits
    if words[1] == "train" and not args.recipe.endswith((".toml", ".npz")):  # which other commands write
        recipes.load(args.recipe, args.set)


def test_other_commands_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    targets = [line.partition(":")[0] for line in (ROOT / "Makefile").read_text(encoding="utf-8").splitlines()]
    for block, command in SHELL:
        if "seqzoo " in command:
            continue
        assert command.startswith(tuple(ELSEWHERE)), f"{block}: no test runs {command!r}"
        if command.startswith("make "):
            assert command.split()[1] in targets, block
        for word in shlex.split(command):
            if word.startswith(".["):
                assert set(word[2:-1].split(",")) <= extras.keys(), block
            if word.endswith((".txt", ".py")) or word == ".ci/run":
                assert (ROOT / word).is_file(), block


def paste(text, folder):
    """Run a block in a shell, in a folder where `seqzoo` and `.venv/bin/seqzoo` are this checkout's."""
    program = folder / ".venv" / "bin" / "seqzoo"
    program.parent.mkdir(parents=True)
    program.write_text(
        f"#!{sys.executable}\nimport sys, tomllib\nsys.path[:1] = [{str(ROOT)!r}]\nfrom tools.cli import main\n"
        f"tiny = {TINY!r}\nif sys.argv[1] == 'train':\n    name = sys.argv[2]\n    if name.endswith('.toml'):\n"
        "        name = tomllib.load(open(name, 'rb'))['name']\n"
        "    for setting in [] if name.endswith('.npz') else tiny[name].split():\n"
        "        sys.argv += ['--set', setting]\nsys.exit(main())\n"
    )
    program.chmod(0o755)
    environment = os.environ | {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": ""}
    done = subprocess.run(["bash", "-e"], input=text, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def write_corpus(folder):
    """What the recipes of the pages read."""
    folder.mkdir()
    for split, count in (("train", 40), ("val", 6), ("test_2016_flickr", 12)):
        words = [("ein Hund", "a dog"), ("zwei Katzen", "two cats"), ("im Schnee", "in the snow")]
        chosen = [[words[number % 3], words[number * number % 3]] for number in range(count)]
        for side, suffix in enumerate(("de", "en")):
            lines = (" ".join(pair[side] for pair in row) + " .\n" for row in chosen)
            (folder / f"{split}.{suffix}").write_text("".join(lines), encoding="utf-8")
    kinds = [("LOC:x", "Where is it ?"), ("HUM:x", "Who is it ?"), ("NUM:x", "How many ?")]
    for split, count in (("train", 30), ("test", 6)):
        (folder / f"TREC.{split}").write_text("".join(f"{' '.join(kinds[each % 3])} {each}\n" for each in range(count)))
    (folder / "input.txt").write_text("To be, or not to be.\n" * 300)
    return folder


def test_the_artefact_of_the_demo_answers(tmp_path):
    fake_artefact.write(tmp_path / "build" / "demo" / "dates" / "1")
    out = paste(README[ANSWERS].text, tmp_path).splitlines()
    assert len(out) == 3 and len(json.loads(out[2])["n_best"]) == 3
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_from_a_corpus_to_a_server(tmp_path):
    write_corpus(tmp_path / "DIR")
    (tmp_path / "german.txt").write_text("ein Hund im Schnee .\n\nzwei Katzen .\n", encoding="utf-8")
    out = paste(README[PIPELINE].text, tmp_path)
    assert "runs/de-en: 2 steps in " in out and "is intact: largest difference" in out
    english = (tmp_path / "english.txt").read_text(encoding="utf-8").split("\n")
    assert len(english) == 4 and english[1] == english[3] == ""
    assert (tmp_path / "lengths.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_the_page_of_hubs(tmp_path):
    (block,) = blocks(ROOT / "docs" / "hub.md", "shell")
    out = paste(block.text, tmp_path)
    assert "dates, version 2, of " in out and "dates@2 in the cache: runs here" in out
    assert len(re.findall("^3.*2021$", out, re.M)) == 2


def write_reviews(folder):
    """A file of one's own, as the pages call it."""
    rows = [f"Film {number} is {('bad', 'good')[number % 2]},{number % 2}\n" for number in range(40)]
    (folder / "reviews.csv").write_text("review,stars\n" + "".join(rows))


@pytest.mark.release(but=1)
@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/recipes.md"])
def test_your_own_data_in_two_commands(page, tmp_path):
    (two,) = (block for block in blocks(ROOT / page, "shell") if block.commands[0].startswith("seqzoo new classify"))
    assert len(two.commands) == 2
    write_reviews(tmp_path)
    assert "runs/reviews: 2 steps in " in paste(two.text, tmp_path)


TRAINED = {command for _, command in SEQZOO if command.startswith("seqzoo train")} - set(README[PIPELINE].commands)
TRAINED = {command for command in TRAINED if ".toml" not in command}  # those are made by other blocks
TRAINED -= {command for block, command in SHELL if block.page.parent.name == "tasks"}  # tests/pages/test_walks.py
STORY = ROOT / "docs" / "training.md"  # whose commands go on from each other
TRAINED -= {command for block in blocks(STORY, "shell") for command in block.commands}
MANY = ROOT / "docs" / "devices.md"  # whose commands need the backend that its blocks set
TRAINED -= {command for block in blocks(MANY, "shell") for command in block.commands}


@pytest.mark.release
def test_the_page_of_training(tmp_path):
    """One shell runs all of its commands; the fine-tuned run is that of its recipe."""
    (block,) = blocks(STORY, "toml")
    save(block, tmp_path)
    write_corpus(tmp_path / "DIR")
    commands = [command for each in blocks(STORY, "shell") for command in each.commands]
    out = paste("\n".join(commands), tmp_path)
    for run in ("trec", "tuned", "trec-lstm"):
        assert f"runs/{run}: 2 steps in " in out
    rows = [line.split()[0] for line in out.splitlines() if line.startswith(("seed-", "mean", "deviation"))]
    assert rows == ["seed-1", "seed-2", "seed-3", "mean", "deviation"]
    assert len(list((tmp_path / "runs/trec-sweep/tried").iterdir())) == 2 and "the best by accuracy" in out
    summary = json.loads((tmp_path / "runs/tuned/training.json").read_text())
    assert summary["init"]["new"] == [] and len(summary["frozen"]) == 17
    assert recipes.check_run(tmp_path / "runs/trec-sweep").name == "trec-transformer-pre-norm"


@pytest.mark.release
@pytest.mark.parametrize("block", [each for each in blocks(MANY, "shell") if "--devices" in each.text], ids=str)
def test_the_page_of_many_devices(block, tmp_path):
    write_corpus(tmp_path / "DIR")
    assert ": 2 steps in " in paste(block.text, tmp_path)


@pytest.mark.release(but=1)
@pytest.mark.slow
@pytest.mark.parametrize("command", sorted(TRAINED))
def test_what_the_pages_train_trains(command, tmp_path, monkeypatch, capsys):
    write_corpus(tmp_path / "DIR")
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command)[1:]
    settings = [word for setting in TINY[words[1]].split() for word in ("--set", setting)]
    assert cli.main([*words, *settings]) == 0
    assert ": 2 steps in " in capsys.readouterr().out


GRID = "model_parallel"  # needs several devices: tests/core/test_layouts.py trains such recipes
RECIPES = [block for page in PAGES for block in blocks(page, "toml") if "[project" not in block.text]


def save(block, folder):
    """The recipe, and the page's layer of one's own, if it has one, under the names that the page gives them.

    Returns the modules to ask for.
    """
    (folder / "mine.toml").write_text(block.text, encoding="utf-8")
    for code in blocks(block.page, "python"):
        if "@zoo.register(" in code.text:
            (folder / "mine.py").write_text(code.text, encoding="utf-8")
            return ["mine"]
    return []


@pytest.mark.parametrize("block", RECIPES, ids=str)
def test_a_recipe_saved_in_an_empty_folder_is_one(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    modules = save(block, tmp_path)
    settings = tomllib.loads(block.text)
    recipe = recipes.load("mine.toml", imports=modules)
    said = plain(recipe)
    assert recipe.name == settings["name"]
    assert merge(said, {key: own for key, own in settings.items() if isinstance(own, dict)}) == said


@pytest.mark.release(but=1)
@pytest.mark.slow
@pytest.mark.parametrize(
    "block", [block for block in RECIPES if block.page != STORY and GRID not in block.text], ids=str
)
def test_a_recipe_saved_in_an_empty_folder_trains(block, tmp_path):
    asked = "".join(f" --import {module}" for module in save(block, tmp_path))
    write_reviews(write_corpus(tmp_path / "DIR"))
    out = paste(f"seqzoo train mine.toml --data DIR{asked}\n", tmp_path)
    assert ": 2 steps in " in out and (tmp_path / "runs" / tomllib.loads(block.text)["name"] / "model.keras").is_file()


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:|#)([^)]+)\)", page.read_text(encoding="utf-8")):
            file, _, heading = target.partition("#")
            path = page.parent / file
            assert path.exists(), f"{page.name} links to {file}, which is not there"
            assert not heading or heading in anchors(path), f"{page.name} links to {target}, which has no such heading"


def anchors(path):
    """The names under which a page's headings are reached."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
