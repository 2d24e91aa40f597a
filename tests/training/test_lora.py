"""Low-rank adapters: where they go, that nothing else is trained, and that merging them changes no output."""

import keras
import numpy as np
import pytest
from keras import ops

from tests.shared import once_more_on_jax
from tests.training.test_selection import classifier, labelled
from zoo.training import SmoothedCrossEntropy, make_steps
from zoo.training.selection import adapt, decay_factors, merge_adapters, named_weights

pytestmark = pytest.mark.slow  # each compiles training steps
PROJECTIONS = ["*/query_projection", "*/value_projection"]


def body(model):
    return [path for path in named_weights(model) if not path.startswith("readout")]


def values(model):
    return {path: ops.convert_to_numpy(weight).copy() for path, weight in named_weights(model).items()}


def trained(model, steps=3):
    of_loss = make_steps(model, keras.optimizers.Adam(0.05), SmoothedCrossEntropy())
    for step in range(steps):
        of_loss.train(labelled(step))
    of_loss.sync()


@pytest.mark.parametrize("patterns", [["*"], PROJECTIONS])
def test_only_adapters_and_the_head_change_and_merged_outputs_are_those_of_the_training(patterns):
    model, batch = classifier(), labelled(9)
    inputs = {name: batch[name] for name in ("token_ids", "lengths")}
    first, before = values(model), ops.convert_to_numpy(model(inputs))
    adapted = adapt(model, 2, patterns, body(model), seed=1)
    dense = {path.rpartition("/")[0] for path in first if path.endswith("/kernel") and not path.startswith("readout")}
    assert set(adapted) == (
        dense if patterns == ["*"] else {each for each in dense if each.endswith(("ry_projection", "ue_projection"))}
    )
    np.testing.assert_array_equal(ops.convert_to_numpy(model(inputs)), before)

    trained(model)
    found = values(model)
    changed = {path for path in found if path not in first or not np.array_equal(first[path], found[path])}
    expected = {f"{layer}/lora_kernel_{part}" for layer in adapted for part in "ab"}
    assert changed == expected | {"readout/kernel", "readout/bias"}

    merged, plain = merge_adapters(found), classifier()
    for path, weight in named_weights(plain).items():
        factors = [found.get(f"{path.rpartition('/')[0]}/lora_kernel_{part}") for part in "ab"]
        by_hand = found[path] + (factors[0] @ factors[1] if path.removesuffix("/kernel") in adapted else 0)
        np.testing.assert_allclose(merged[path], by_hand, atol=1e-6)
        weight.assign(merged.pop(path))
    assert not merged
    after = ops.convert_to_numpy(model(inputs))
    assert np.abs(after - before).max() > 1e-2
    np.testing.assert_allclose(ops.convert_to_numpy(plain(inputs)), after, atol=1e-5)


def test_the_first_step_is_that_of_the_factors_by_hand():
    """With gradient G of the whole kernel, B moves against A^T G, and A, beside B = 0, does not move."""
    model, batch = classifier(), labelled(0)
    place = "encoder/blocks/0/attention/query_projection"
    adapt(model, 2, [place], body(model), seed=1)
    before, twin = values(model), classifier()
    for path, weight in named_weights(twin).items():
        weight.assign(before[path])
    for one in (model, twin):
        step = make_steps(one, keras.optimizers.SGD(1.0), SmoothedCrossEntropy())
        step.train(batch)
        step.sync()
    gradient = before[f"{place}/kernel"] - values(twin)[f"{place}/kernel"]
    after = values(model)
    np.testing.assert_allclose(
        after[f"{place}/lora_kernel_b"], -before[f"{place}/lora_kernel_a"].T @ gradient, atol=1e-6
    )
    np.testing.assert_array_equal(after[f"{place}/lora_kernel_a"], before[f"{place}/lora_kernel_a"])
    assert np.abs(gradient).max() > 1e-4


def test_the_seed_decides_the_adapters():
    first, again, other = (values_of(seed) for seed in (1, 1, 2))
    assert all(np.array_equal(first[path], again[path]) for path in first)
    assert any(not np.array_equal(first[path], other[path]) for path in first)


def values_of(seed):
    model = classifier()
    adapt(model, 2, ["*"], body(model), seed=seed)
    return {path: value for path, value in values(model).items() if "lora" in path}


def test_what_cannot_have_adapters_is_refused():
    model = classifier()
    with pytest.raises(
        ValueError, match=r"the pattern 'embedding', and none of its weights can have.*blocks/\*/attent"
    ):
        adapt(model, 2, ["embedding"], body(model), what="training.lora_layers")
    with pytest.raises(ValueError, match="has the pattern 'readout', which none of the"):
        adapt(model, 2, ["readout"], body(model), what="training.lora_layers")


def test_the_decay_of_layers_by_hand():
    """A stack of two blocks: its embeddings have d^3, the blocks d^2 and d, and what is above 1."""
    model, plain = classifier(), keras.layers.Dense(2)
    plain.build((None, 3))
    found, weights = decay_factors(model, 0.5), named_weights(model)
    for path, weight in weights.items():
        starts = {"embedding": 1 / 8, "encoder/blocks/0": 1 / 4, "encoder/blocks/1": 1 / 2}
        expected = [factor for start, factor in starts.items() if path.startswith(start)] or [1]
        assert found.get(id(weight), 1) == expected[0], path
    with pytest.raises(ValueError, match="layer_decay is for a stack of blocks"):
        decay_factors(plain, 0.5)


@pytest.mark.release
def test_the_same_on_jax():
    once_more_on_jax(__file__, "same_on_jax")
