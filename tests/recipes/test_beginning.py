"""`seqzoo new --from`: recipes that begin with a network of somebody else, tiny ones of random weights."""

import dataclasses
import json
from hashlib import sha256

import pytest

from tests.shared import ROOT
from tools.cli import main
from zoo.hub.resolve import find
from zoo.recipes import beginning
from zoo.recipes.files import load
from zoo.recipes.folder import find_initial, resolve_initial
from zoo.recipes.proposal import propose

NETWORKS = ROOT / "tests" / "pretrained" / "data"
TEXTS = ["a good film", "a bad film", "the cat sat", "the dog ran", "nice and warm", "dull and cold"]


def imported(name, folder):
    """The run of a tiny network, without its weights being read."""
    assert main(["import", str(NETWORKS / name), "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    """Runs of an encoder, of a translator and of a language model."""
    home = tmp_path_factory.mktemp("networks")
    return {name: imported(name, home / name) for name in ("minilm", "marian", "gpt2", "bert_tagger")}


def labelled(folder, task):
    """A file of examples of a task."""
    rows = {
        "classify": [f"{text} {number}\t{'pos' if number % 2 else 'neg'}" for number, text in enumerate(TEXTS * 10)],
        "compare": [
            f"{text} {number}\t{text}\t{'yes' if number % 2 else 'no'}" for number, text in enumerate(TEXTS * 10)
        ],
        "embed": [f"{text} {number}\t{text}\t{number % 6}" for number, text in enumerate(TEXTS * 10)],
        "tag": [f"{text} {number}\t{' '.join(['N'] * len(text.split()))} M" for number, text in enumerate(TEXTS * 10)],
        "translate": [f"{text} {number}\tein {text}" for number, text in enumerate(TEXTS * 10)],
        "transduce": [f"{text} {number}\tein {text}" for number, text in enumerate(TEXTS * 10)],
        "continue": TEXTS * 60,
    }[task]
    path = folder / f"{task}.{'txt' if task == 'continue' else 'tsv'}"
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize(
    ("word", "times", "said"),
    [
        ("ดีมาก", 1, "unknown to the vocabulary source.spm, and read alike"),
        ("cat", 600, "100.0 % of the texts are longer than max_input_length = "),
        ("cat", 1, None),
    ],
)
def test_new_says_what_the_network_cannot_read(word, times, said, networks, tmp_path):
    rows = [f"{f'{word} ' * (times + at)}\t{'ab'[at % 2]}" for at in range(20)]
    (tmp_path / "texts.tsv").write_text("\n".join(rows) + "\n")
    _, notes = propose("classify", [tmp_path / "texts.tsv"], "mine", network=networks["minilm"])
    assert not any("are few" in note for note in notes)  # a reason for a model that is not begun
    doubts = [note for note in notes if "longer" in note or "unknown" in note]
    assert len(doubts) == (said is not None) and all(said in note for note in doubts)


def test_weights_are_counted_as_they_are_stored(networks, tmp_path):
    initial = find_initial(networks["minilm"])
    for storage, size in (("float32", 4), ("float16", 2), ("int8", 1)):
        (tmp_path / "manifest.json").write_text(json.dumps({"storage": storage}))
        (tmp_path / "model.keras").write_bytes(bytes(1000 * size))
        assert beginning._count_weights(dataclasses.replace(initial, directory=tmp_path)) == 1000


@pytest.mark.release(but=("classify", "gpt2"))
@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "network"),
    [("classify", "minilm"), ("tag", "minilm"), ("compare", "bert_tagger"), ("translate", "marian"),
     ("continue", "gpt2"), ("embed", "minilm")],
)  # fmt: skip
def test_a_recipe_takes_all_weights_of_its_network_and_trains(task, network, networks, tmp_path):
    settings, notes = propose(task, [labelled(tmp_path, task)], "mine", network=networks[network])
    recipe = load(settings)
    assert any("begins with" in note for note in notes) and recipe.training.init == str(networks[network])
    short = [
        "training.steps=2",
        "training.validate_every=2",
        *(["training.num_buckets=1"] if task != "continue" else []),
    ]
    run = trained(load(settings, short), tmp_path / "run")
    record = json.loads((tmp_path / "run" / "training.json").read_text())["init"]
    heads = {path.partition("/")[0] for path in record["new"]}
    assert heads <= {"classify": {"readout"}, "tag": {"readout"}, "compare": {"readout", "hidden"}}.get(task, set())
    assert not record["differences"] and run.tokenizers[0].vocab_size


def trained(recipe, folder):
    from zoo import runs

    runs.train(recipe, folder)
    return runs.open_run(folder)


@pytest.mark.slow
def test_what_a_task_cannot_begin_with_is_refused_before_training(networks, tmp_path):
    for task, network in (("tag", "marian"), ("classify", "gpt2"), ("translate", "minilm"), ("continue", "minilm")):
        with pytest.raises(ValueError, match=f"--from: the network of .* has learnt the task .*, and {task} cannot"):
            propose(task, [labelled(tmp_path, task)], "mine", network=networks[network])


def test_vectors_begin_with_a_network_alone(tmp_path):
    with pytest.raises(ValueError, match="--from RUN"):
        propose("embed", [labelled(tmp_path, "embed")], "mine")


def test_what_is_no_network_is_refused(tmp_path):
    path = labelled(tmp_path, "classify")
    with pytest.raises(ValueError, match="^--from: there is no folder"):
        propose("classify", [path], "mine", network=tmp_path / "nothing")
    with pytest.raises(ValueError, match="^--from: .* is neither a finished run nor an artefact"):
        propose("classify", [path], "mine", network=tmp_path)


@pytest.mark.parametrize(("examples", "steps"), [(50, 150), (3_400, 420), (15_000, 1_410), (100_000, 6_250)])
def test_the_length_follows_from_the_number_of_examples(examples, steps):
    found = beginning.steps(examples, 32)
    assert found["steps"] == steps and found["warmup"] == found["validate_every"] == steps // 10


def test_a_model_of_the_hub_is_taken_by_its_name(tmp_path, capsys):
    """And is named with its version, not as the folder in which this machine keeps it."""
    path, out, model = labelled(tmp_path, "classify"), tmp_path / "mine.toml", find("intents-en")
    assert main(["new", "classify", str(path), "--from", "intents-en", "--out", str(out)]) == 0
    recipe, initial = resolve_initial(load(out))
    assert recipe.training.init == f"intents-en@{model.entry['version']}"
    assert sha256(initial.model.read_bytes()).hexdigest() == model.entry["files"]["model.keras"]
    assert main(["new", "classify", str(path), "--from", "intents-em", "--out", str(tmp_path / "other.toml")]) == 2
    assert "there is no model 'intents-em'" in capsys.readouterr().err and not (tmp_path / "other.toml").exists()
