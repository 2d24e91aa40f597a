"""What a training says beforehand: the longest batch, the memory, each shape once, and each retracing."""

import re
from types import SimpleNamespace

import keras
import numpy as np
import pytest

from tests.training.fake import Data, FakeSteps
from zoo.core import devices
from zoo.data import Batches, Windows
from zoo.depth import make_stack
from zoo.models import LanguageModel, Seq2Seq
from zoo.training import SmoothedCrossEntropy, make_steps
from zoo.training.shapes import Shapes, format_bytes
from zoo.training.steps.needs import Operation, peak_bytes


def batch(time):
    return {"token_ids": np.zeros((2, time), "int32"), "weights": np.ones((2, time), "float32")}


def test_each_shape_is_announced_once():
    class Known(Data):
        shapes = ((3,), (5,))

    steps = FakeSteps()
    shapes = Shapes(steps, Known())
    said = [shapes.announce(batch(time), what) for time, what in ((3, ""), (3, ""), (5, ""), (3, "the validation of "))]
    assert said == [
        {"message": "compiling shape 1 of 2: token_ids 2 x 3"},
        {},
        {"message": "compiling shape 2 of 2: token_ids 2 x 5"},
        {"message": "compiling the validation of shape 1: token_ids 2 x 3"},
    ]
    steps.program_key = lambda batch: "other windows"
    assert shapes.announce(batch(5)) == {
        "message": "compiling shape 2 of 2: token_ids 2 x 5, again because the windows of its spans have changed"
    }
    assert re.fullmatch(
        r"first step of shape 2 after \d+\.\d s, loss 2\.5000; this process has taken [\d.]+ .B at most",
        shapes.describe_first_step(np.float32(2.5))["message"],
    )


def test_the_number_of_shapes_may_be_unknown():
    class Longest(Data):
        def longest(self):
            return batch(5)

    steps = FakeSteps()
    steps.expected_memory = lambda batch: {"weights": 4_000_000}
    said = Shapes(steps, Longest()).describe()
    assert said.startswith("the longest batch shape, token_ids 2 x 5; expected memory about ")


def test_the_memory_of_an_accelerator_is_told_and_not_that_of_the_process(monkeypatch):
    """On an H200 a training of 8 GB was told to have taken the 1.8 GB of its Python."""

    class Longest(Data):
        def longest(self):
            return batch(5)

    device = SimpleNamespace(memory_stats=lambda: {"bytes_limit": 112_800_000_000, "peak_bytes_in_use": 4_221_670_912})
    monkeypatch.setattr(devices, "jax", SimpleNamespace(local_devices=lambda: [device]))
    monkeypatch.setattr(devices, "backend", lambda: "jax")
    monkeypatch.setattr(devices, "on_a_processor", lambda: False)
    steps = FakeSteps()
    steps.expected_memory = lambda batch: {"weights": 4_000_000_000}
    shapes = Shapes(steps, Longest())
    assert "expected memory about 4.0 GB of the device's 112.8 GB (an estimate: weights 4.0 GB)" in shapes.describe()
    shapes.announce(batch(5))
    assert shapes.describe_first_step(1.0)["message"].endswith("loss 1.0000; the device has held 4.2 GB at most")
    device.memory_stats = lambda: None
    assert devices.memory() is None and "that the process holds already" in shapes.describe()


@pytest.mark.slow
def test_the_longest_batch_and_its_memory_are_told():
    data = Batches([[4] * 9, [5]] * 8, [[6] * 6, [7]] * 8, batch_size=4, num_buckets=2)
    assert {name: array.shape for name, array in data.longest().items()} == {
        **dict.fromkeys(("source_ids",), (4, 12)),
        **dict.fromkeys(("target_ids", "labels", "weights"), (4, 8)),
        "source_lengths": (4,),
    }
    assert not data.longest()["weights"].any()
    model = Seq2Seq(11, 11, units=8)
    model.build()
    steps = make_steps(model, keras.optimizers.Adam(1e-3), SmoothedCrossEntropy())
    said = Shapes(steps, data).describe()
    assert said.startswith("2 batch shapes, the longest source_ids 4 x 12, target_ids 4 x 8; expected memory about ")
    assert "(an estimate: weights " in said and "activations and gradients" in said
    assert steps.expected_memory(data.longest())["weights"] >= 4 * model.count_params()


def test_windows_know_their_only_shape():
    assert Windows(list(range(4, 30)), context=7, batch_size=3).longest()["token_ids"].shape == (3, 7)


def test_the_most_that_is_held_at_one_time():
    """a (4 bytes) is read last by c, b (2) by nobody, c (8) by d (1), whose loop holds 5 within itself."""
    operations = [
        Operation((), {"a": 4}),
        Operation(("a",), {"b": 2}),
        Operation(("a",), {"c": 8}),
        Operation(("c",), {"d": 1}, inside=5),
    ]
    assert peak_bytes(operations[:2]) == 6
    assert peak_bytes(operations[:3]) == 12  # a and c
    assert peak_bytes(operations) == 14  # c, d and what the loop holds
    assert peak_bytes([]) == 0


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(("units", "factor"), [(16, 1), (32, 2)])
def test_memory_grows_with_the_batch_and_the_model(units, factor):
    """The logits alone, forward and backward, are 8 bytes times batch, time and vocabulary."""
    model = LanguageModel(500, make_stack(1, units, 2, 4 * units))
    model.build()
    steps = make_steps(model, keras.optimizers.Adam(1e-3), SmoothedCrossEntropy())
    data = Windows(list(range(4, 400)), context=32, batch_size=8 * factor)
    found = steps.expected_memory(data.longest())
    assert found["optimizer"] >= 2 * 4 * model.count_params()
    logits = 4 * 8 * factor * 32 * 500
    assert 2 * logits < found["activations and gradients"] < 12 * logits


def test_sizes_in_words():
    assert [format_bytes(size) for size in (1_900_000_000, 350_400_000, 2_000)] == ["1.9 GB", "350 MB", "2 kB"]
