"""A run with adapters or a decay of rates by layers: trained, resumed, and an ordinary run behind that."""

import json
import os
import signal

import keras
import numpy as np
import pytest
from keras import ops

from tests.recipes.small import recipe
from tests.runs.conftest import STEPS
from tests.runs.test_initial import same, tuned, weights
from zoo import runs
from zoo.recipes.folder import find_initial
from zoo.runs import forecast
from zoo.runs.takeover import prepare_takeover
from zoo.runs.training import make_parts, make_training_steps
from zoo.tasks.parts.building import build_model
from zoo.training import Interrupted, named_weights, saved_step


@pytest.mark.slow
def test_a_plan_counts_the_optimizer_of_what_is_trained(base):
    run, data = base
    memory = {}
    for rank in (0, 2):
        steps, batches, _ = forecast.make_steps(tuned(run, lora=rank), data)
        trained = sum(np.prod(each.shape) for each in steps.model.trainable_weights)
        memory[rank] = steps.expected_memory(batches.longest())["optimizer"]
        assert memory[rank] == pytest.approx(2 * 4 * trained, abs=32)
    assert memory[2] < memory[0] / 2


@pytest.mark.release
def test_a_run_with_adapters_is_an_ordinary_run_and_resumes_to_the_same_bits(base, tmp_path):
    run, data = base
    one = tuned(run, lora=2, learning_rate=0.05, steps=4, validate_every=2, checkpoint_every=1)
    lines = []
    summary = runs.train(one, tmp_path / "whole", data, log=lines.append)
    before, after = weights(run), weights(tmp_path / "whole")
    assert set(before) == set(after), "the model has the layers that it had"
    changed = set(before) - same(before, after)
    adapted = {f"{layer}/kernel" for layer in summary["lora"]["layers"]}
    assert summary["lora"]["rank"] == 2 and changed == adapted | {"readout/kernel", "readout/bias"}
    for path in adapted:
        assert np.linalg.matrix_rank(after[path] - before[path], tol=1e-5) <= 2, path
    said = [line for line in lines if "weights are trained" in line]
    count = sum(2 * sum(before[path].shape) for path in adapted)
    count += sum(before[path].size for path in ("readout/kernel", "readout/bias"))
    assert said[0].startswith(f"{count:,} of ") and len(said) == 1
    opened = runs.open_run(tmp_path / "whole")
    found = opened.recipe.job.evaluate(opened, opened.recipe.job.read(opened.recipe, "valid", data))
    assert found.scores["accuracy"] == pytest.approx(100 * summary["valid"]["accuracy"])
    assert json.loads((tmp_path / "whole/training.json").read_text())["lora"] == summary["lora"]

    assert 0 < interrupted(one, tmp_path / "parts", data) < 4
    runs.train(one, tmp_path / "parts", data, resume=True)
    assert same(after, weights(tmp_path / "parts")) == set(after)


def interrupted(one, folder, data=None, at=1):
    """The step at which a training was interrupted, when step `at` was over."""

    class Press(keras.callbacks.Callback):
        seen = 0

        def on_train_batch_end(self, batch, logs=None):
            self.seen += 1
            if self.seen == at:
                os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(Interrupted):
            runs.train(one, folder, data, callbacks=[Press()])
    finally:
        signal.signal(signal.SIGINT, before)
    return saved_step(folder)


@pytest.mark.slow
def test_a_decay_of_layers_reaches_the_optimizer_and_multiplies_rates(base):
    """A step of Adam moves a weight by its rate: 1/4 of it below a stack of one block, 1/2 in it, here 3 times that."""
    run, data = base
    one = tuned(run, layer_decay=0.5, rates={"encoder/blocks/0/feedforward": 3.0}, learning_rate=0.01, clip_norm=0)
    initial = find_initial(run)
    takeover = prepare_takeover(one, initial)
    parts = make_parts(one, data, takeover.keep_tokenizers(one))
    model = build_model(one.job, one, *parts.sizes)
    takeover.take(one, model, parts.tokenizers, parts.labels)
    before = {path: ops.convert_to_numpy(weight).copy() for path, weight in named_weights(model).items()}
    steps = make_training_steps(one, model)
    steps.train(parts.train.batch(0))
    steps.sync()
    for path, weight in named_weights(model).items():
        moved = np.abs(ops.convert_to_numpy(weight) - before[path]).max()
        starts = {"embedding": 1 / 4, "encoder/blocks/0/feedforward": 3 / 2, "encoder/blocks/0": 1 / 2, "": 1.0}
        factor = next(factor for start, factor in starts.items() if path.startswith(start))
        if not path.endswith("key_projection/bias"):  # a softmax does not see it
            assert moved == pytest.approx(0.01 * factor, rel=1e-2), path


@pytest.mark.slow
def test_the_body_of_a_network_stays_and_its_head_is_trained(base, tmp_path):
    run, data = base
    runs.train(tuned(run, freeze=["body"], learning_rate=0.05), tmp_path / "run", data)
    before, after = weights(run), weights(tmp_path / "run")
    assert set(before) - same(before, after) == {"readout/kernel", "readout/bias"}


def test_what_has_nothing_to_keep_is_refused():
    with pytest.raises(ValueError, match="lora keeps the weights with which the training begins, and there are none"):
        recipe("classifier", training={**STEPS, "lora": 4})
    with pytest.raises(ValueError, match=r'freeze = \["body"\] keeps the weights'):
        recipe("classifier", training={**STEPS, "freeze": ["body"]})


@pytest.mark.slow
def test_what_does_not_fit_is_refused_before_the_training(base):
    run, data = base
    with pytest.raises(ValueError, match="lora goes with a vocabulary that is kept"):
        tuned(run, lora=4, vocabulary="map")
    with pytest.raises(ValueError, match="training.lora_layers has the pattern 'embedding'"):
        prepare_takeover(tuned(run, lora=4, lora_layers=["embedding"]), find_initial(run))
