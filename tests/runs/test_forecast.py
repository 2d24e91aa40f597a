"""What `seqzoo train --plan` tells: counts against the paper's formula, memory, and refusals in words."""

import json
import os

import pytest

from tests.shared import python
from tools import cli, train
from zoo.attention.multi_head import portable
from zoo.core import devices
from zoo.recipes.mixes import most_layers
from zoo.runs import forecast
from zoo.runs.forecast import ACCELERATORS, FixedLengthTokenizer
from zoo.tasks import TASKS

FOUND = {
    "recipe": "mine",
    "device": "NVIDIA L4",
    "source": "a data sheet",
    "precision": "float32",
    "parameters": 1_234_567,
    "trained": 1_234_567,
    "batch_size": 64,
    "shapes": [
        {"lengths": [24, 12], "share": 0.25, "operations": 2_500_000, "matrix": 2_000_000, "seconds": 1e-4},
        {"lengths": [48, 24], "share": 0.75, "operations": 3.2e12, "matrix": 3.2e12, "seconds": 0.2},
    ],
    "memory": {"weights": 5 << 20, "activations and gradients": 30 << 30},
    "device_memory": 24 << 30,
    "fits": False,
    "utilisation": 0.4,
    "step_seconds": 0.15,
    "steps": 100_000,
    "training_seconds": 15_000.0,
    "assumed": ["no data were read"],
}


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    """The command chooses the backend of its process, which here is that of other tests, too."""
    monkeypatch.setenv("KERAS_BACKEND", os.environ.get("KERAS_BACKEND", "tensorflow"))


def test_a_forecast_is_told_in_lines():
    said = train.describe_plan(FOUND).split("\n")
    assert said[0].startswith("mine on one NVIDIA L4 (a data sheet)") and len(said) == 8
    assert "64 x 24 + 12 tokens" in said[2] and "25% of the steps: 2.5 mega floating-point operations, 80%" in said[2]
    assert "3.2 tera" in said[3] and said[1].split() == ["parameters", "1,234,567,", "computed", "in", "float32"]
    assert "1,234,567, of which 89 are trained, computed" in train.describe_plan(FOUND | {"trained": 89})
    assert "about 30.0 GiB of 24.0 GiB, so it does not fit: lower training.batch_size" in said[4]
    assert "150 ms, if matrix products reach 40% of the peak" in said[5] and "milliseconds" not in said[5]
    assert "100,000 steps" in said[6] and "4.2 hours" in said[6]
    assert "milliseconds" in train.describe_plan(FOUND | {"step_seconds": 1e-4})


def test_the_command_knows_every_accelerator():
    assert train.ACCELERATORS == tuple(ACCELERATORS)
    for each in ACCELERATORS.values():
        assert each.peak.keys() == {"float32", "bfloat16", "float16"} and each.source


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--plan", "a10"], "invalid choice: 'a10'"),
        (["--plan", "l4", "--resume"], "takes no --resume"),
        (["--plan", "l4", "--out", "x", "--devices", "2"], "takes no --out and no --devices"),
        (["--plan", "l4", "--data", "nowhere"], "there is no directory nowhere"),
    ],
)
def test_wrong_use(more, said, capsys, monkeypatch):
    monkeypatch.setattr("zoo.core.devices.backend", lambda: "jax")
    try:
        assert cli.main(["train", "sst2-transformer-macaron", *more]) == 2
    except SystemExit as stop:
        assert stop.code == 2
    assert said in capsys.readouterr().err


def test_tensorflow_is_refused(capsys, monkeypatch):
    monkeypatch.setattr("zoo.core.devices.backend", lambda: "tensorflow")
    assert cli.main(["train", "dates-gru-additive", "--plan", "l4"]) == 2
    assert "the backend is tensorflow. Set KERAS_BACKEND=jax" in capsys.readouterr().err


def test_a_machine_with_a_gpu_says_the_same_as_one_without(monkeypatch):
    """There Keras takes cuDNN's attention, whose calls could not be exported: a plan on an H200 ended with an error."""
    from zoo import recipes

    def make_steps(*_):
        raise AssertionError(portable.value)

    monkeypatch.setattr(forecast, "make_steps", make_steps)
    monkeypatch.setattr(devices, "backend", lambda: "jax")
    with pytest.raises(AssertionError, match="True"):
        forecast.forecast(recipes.load("dates-gru-additive"), "h100")
    assert not portable.value


@pytest.mark.parametrize(
    ("name", "count"),
    [("sst2-lstm", 1), ("dates-gru-additive", 1), ("trec-star", 2), ("multi30k-de-en-transformer-pre-norm", 2)],
)
def test_every_kind_of_model_tells_its_layers(name, count):
    """As often a loop is counted whose length is decided while it runs."""
    from zoo import recipes

    assert most_layers(recipes.load(name)) == count


def test_batches_without_data_have_the_shape_that_the_recipe_allows():
    from zoo import recipes

    recipe = recipes.load("multi30k-en-de-transformer-pre-norm")
    tokenizers = (FixedLengthTokenizer(4_000, recipe.training.max_length - 1),) * 2
    nothing = [""] * recipe.training.batch_size
    batches = TASKS["translate"].batches(recipe, tokenizers, (), (nothing, nothing), training=True)
    ((count, batch),) = batches.by_shape()
    shape = (recipe.training.batch_size, recipe.training.max_length)
    assert count == 1 and batch["source_ids"].shape == batch["target_ids"].shape == shape


@pytest.mark.slow
def test_a_plan_of_a_language_model(tmp_path, monkeypatch):
    """nanoGPT's: 12 units**2 weights a layer and a table; 6 operations a weight and token; float32 four bytes each."""
    monkeypatch.delenv("KERAS_BACKEND", raising=False)
    words = "train tinyshakespeare-gpu-transformer-pre-norm --plan a100 --set model.num_layers=2"
    done = python("-m", "tools", *words.split(), "--set", "training.batch_size=8", "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    units, layers, tokens, context = 384, 2, 8 * 256, 256
    matrices = 12 * units**2 * layers
    assert 1 < found["parameters"] / (matrices + 100 * units) < 1.02  # and biases, norms
    products = 6 * tokens * (matrices + 100 * units) + 12 * layers * tokens * context * units
    (shape,) = found["shapes"]
    assert shape["lengths"] == [context] and 0.97 < shape["matrix"] / products < 1.03
    assert shape["seconds"] == pytest.approx(shape["matrix"] / 156e12 / 0.4)
    assert found["training_seconds"] == pytest.approx(found["steps"] * shape["seconds"])
    assert found["memory"]["weights"] == pytest.approx(2 * 4 * found["parameters"], rel=0.01)
    assert found["memory"]["optimizer"] == pytest.approx(2 * found["memory"]["weights"], rel=0.01)
    assert found["memory"]["activations and gradients"] > 4 * found["parameters"] and found["fits"]
    assert not any(tmp_path.iterdir())
