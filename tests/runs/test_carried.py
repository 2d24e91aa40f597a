"""A training that goes on from one file, as on another machine: with the same end, or with one clear error."""

import csv
import json

import numpy as np
import pytest

from tests.shared import python
from tools.cli import main
from zoo import recipes, runs
from zoo.core import array_files
from zoo.recipes.folder import claim, resume_from
from zoo.runs.training import make_parts
from zoo.training import checkpoint_path

SECONDS = ("state.json", "run/metrics.csv")  # which hold what a training took


def contents(run):
    return {name: each for name, each in array_files.read(checkpoint_path(run)).items() if name not in SECONDS}


@pytest.mark.release
@pytest.mark.parametrize("kind", ["classifier", "seq2seq"])
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_what_is_carried_comes_to_the_same_end(tmp_path, kind, backend):
    """With a moving average of the weights and batches in parts (classifier), bit for bit."""
    python("-m", "tests.runs.carry", tmp_path, kind, KERAS_BACKEND=backend)
    whole, there = contents(tmp_path / "whole"), contents(tmp_path / "there")
    assert whole.keys() == there.keys() and any(name.startswith("best/") for name in whole)
    for name, values in whole.items():
        np.testing.assert_array_equal(values, there[name], err_msg=name)
    one, other = (json.loads((tmp_path / run / "training.json").read_text()) for run in ("whole", "there"))
    assert one["valid"] == other["valid"] and one["steps"] == other["steps"] == 9
    one, other = (runs.open_run(tmp_path / run) for run in ("whole", "there"))
    for a, b in zip(one.model.get_weights(), other.model.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    with open(tmp_path / "there" / "metrics.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows if row["loss"]] == list(range(1, 10))
    names = [{path.name for path in (tmp_path / run).iterdir()} for run in ("whole", "there")]
    assert names[0] == names[1]


@pytest.fixture
def carried(tmp_path):
    """A checkpoint of a recipe that reads pairs.tsv, without the weights that an error would not come to."""
    lines = [f"{'ab'[i % 2]} {'cde'[i % 3]} {i}\t{i} {'xy'[i % 2]}\n" for i in range(40)]
    (tmp_path / "pairs.tsv").write_text("".join(lines), encoding="utf-8")
    own = {"corpus": "files", "train": str(tmp_path / "pairs.tsv")}
    text = {"vocab_size": 60, "pieces": "char"}
    one = recipes.make({"name": "own", "task": "transduce", "data": own, "text": text, "model": {"kind": "recurrent"}})
    files = {"recipe.toml": recipes.dumps(one), "data.json": json.dumps({"sha256": make_parts(one).card["sha256"]})}
    arrays = {f"run/{name}": np.frombuffer(text.encode(), "uint8") for name, text in files.items()}
    array_files.save(tmp_path / "carried.npz", arrays | {"state.json": np.array("{}"), "noise": np.arange(999.0)})
    return tmp_path / "carried.npz"


def flipped(content):
    place = len(content) // 2
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


WRONG = {  # what is in the file -> what is told
    "truncated": (lambda content: content[:-100], "is damaged, or not a checkpoint of the zoo"),
    "flipped": (flipped, "is damaged, or not a checkpoint of the zoo"),
    "empty": (lambda content: b"", "is damaged, or not a checkpoint of the zoo"),
    "a text": (lambda content: b"no zip file", "not a checkpoint of the zoo: it is no archive of arrays (.npz)"),
}


def test_one_clear_error_and_nothing_written(carried, tmp_path, capsys):
    content, out = carried.read_bytes(), tmp_path / "there"
    asked = ["train", "--resume", str(carried), "--out", str(out)]

    def refused(why):
        capsys.readouterr()
        assert main(asked) == 2
        (said,) = capsys.readouterr().err.strip().splitlines()[-1:]
        assert why in said, said
        assert not out.exists()

    for harm, why in WRONG.values():
        carried.write_bytes(harm(content))
        refused(why)
    np.savez(carried, weights=np.zeros(3))
    refused("it holds no recipe.toml. Expected a checkpoint as `seqzoo train` keeps it")
    carried.unlink()
    refused("there is no such file")
    carried.write_bytes(content)
    pairs = tmp_path / "pairs.tsv"
    right = pairs.read_text(encoding="utf-8")
    pairs.write_text(right.replace("x", "z"), encoding="utf-8")
    refused("the examples have another SHA-256 than those that it began with: train (")
    pairs.unlink()
    refused(str(pairs))
    pairs.with_name("moved.tsv").write_text(right, encoding="utf-8")
    asked += ["--data", str(pairs.with_name("moved.tsv")), "--set", "model.units=7"]
    refused("was started with other settings: model.units (256 there, 7 here)")
    asked += ["--seeds", "2"]
    refused("one training goes on from it. Leave --seeds and --sweep out.")


def test_what_goes_on_is_the_run_that_is_there_or_the_file(carried, tmp_path):
    (tmp_path / "run").mkdir()
    for resume in (False, True):
        assert resume_from(str(carried), tmp_path / "run", resume) == carried
        assert resume_from("dates-gru-additive", tmp_path / "run", resume) is resume
    one = recipes.load_for_training(carried, ["data.train=moved.tsv"], data="moved.tsv")
    assert one.name == "own"
    claim(one, tmp_path / "run", carried)
    (tmp_path / "run" / "recipe.toml").write_text(recipes.dumps(one), encoding="utf-8")
    assert resume_from(str(carried), tmp_path / "run", True) is True
    claim(one, tmp_path / "run", True)
    with pytest.raises(ValueError, match="holds a run already"):
        claim(one, tmp_path / "run", resume_from(str(carried), tmp_path / "run", False))


def test_a_folder_with_a_checkpoint_alone_goes_on_from_it(carried, tmp_path, capsys):
    """Otherwise the vocabularies would be learnt again, and the weights would go on with other numbers for words."""
    out = tmp_path / "run"
    checkpoint_path(out).parent.mkdir(parents=True)
    carried.rename(checkpoint_path(out))
    assert resume_from("own", out, False) is False
    assert resume_from("own", out, True) == checkpoint_path(out)
    recipe = tmp_path / "own.toml"
    recipe.write_text(recipes.dumps(recipes.load_for_training(checkpoint_path(out))), encoding="utf-8")
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text(pairs.read_text(encoding="utf-8").replace("x", "z"), encoding="utf-8")
    assert main(["train", "--resume", str(recipe), "--out", str(out)]) == 2
    assert "the examples have another SHA-256 than those that it began with: train (" in capsys.readouterr().err
    asked = ["train", "--resume", str(recipe), "--out", str(out), "--set", "model.units=7"]
    assert main(asked) == 2
    assert "was started with other settings: model.units (256 there, 7 here)" in capsys.readouterr().err
    assert [path.name for path in out.iterdir()] == ["checkpoint"]


def test_what_is_kept_small_is_compressed_and_the_rest_is_not(tmp_path):
    draw = np.random.default_rng(1)
    dense, sparse = draw.normal(size=(500, 64)).astype("float32"), np.zeros((5000, 64), "float32")
    sparse[::20] = draw.normal(size=(250, 64))
    arrays = {"dense": dense, "sparse": sparse, "text": np.array("a recipe " * 1000), "count": np.array(3)}
    array_files.save(tmp_path / "state.npz", arrays)
    assert (tmp_path / "state.npz").stat().st_size < dense.nbytes + 0.15 * sparse.nbytes
    found = array_files.read(tmp_path / "state.npz")
    assert found.keys() == arrays.keys()
    for name, values in arrays.items():
        assert found[name].dtype == values.dtype
        np.testing.assert_array_equal(found[name], values)
