"""`encode` and `step` as flat tables: their axes, and more than one beam driven by hand."""

import numpy as np
import pytest

from serving.export.signatures import driver, flatten, named_specs
from tests.serving.conftest import make_seq2seq


def arrays(outputs):
    return {name: np.asarray(leaf) for name, leaf in outputs.items()}


def test_leaves_come_as_keras_visits_them():
    from keras import tree

    structure = {"b": [np.array(1), {"z": np.array(2), "a": np.array(3)}], "a": (np.array(4),)}
    assert [int(leaf) for leaf in flatten(structure).values()] == [int(leaf) for leaf in tree.flatten(structure)]
    assert list(flatten({"state": structure})) == ["state.a.0", "state.b.0", "state.b.1.a", "state.b.1.z"]


def test_an_axis_has_the_name_of_what_it_follows():
    def leaves(batch, steps):
        return {"x": np.zeros((batch, 5, steps + batch), "float32"), "n": np.zeros((), "int32")}

    x, n = named_specs({None: leaves(2, 1), "batch": leaves(3, 1), "steps": leaves(2, 2)})
    assert (x.shape, x.dtype) == (("batch", 5, "past"), "float32")
    assert (n.shape, n.dtype) == ((), "int32")


@pytest.mark.slow
def test_names_and_axes(models, tokenizers):
    def shapes(model, name, side, **kwargs):
        return {spec.name: spec.shape for spec in getattr(driver(model, **kwargs)[name][0], side)}

    transformer = shapes(models["generate"], "step", "outputs")
    assert transformer["next_state.caches.0.keys"] == ("batch", 2, "next_past", 8)
    assert transformer["next_state.seen"] == ("batch", "beams", "next_past")
    assert transformer["next_state.position"] == ()
    assert transformer["logits"] == ("batch", "beams", tokenizers[1].vocab_size)

    language_model = shapes(models["continue"], "step", "inputs", remembers=False)
    assert language_model["state.caches.0.values"] == ("batch", 2, "past", 8)
    assert not [name for name in language_model if name.startswith("memory")]
    assert language_model["state.offset"] == ("batch",)

    recurrent = shapes(make_seq2seq(tokenizers, attention="additive"), "step", "inputs")
    assert recurrent["state.attention"] == ("batch", "beams", "time")
    assert recurrent["memory.values"] == ("batch", "time", 14)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("kind", ["generate", "continue", "recurrent"])
def test_beams_are_driven_by_what_the_axes_say(kind, models, tokenizers):
    """Two beams, then both go on from the second: each beam's logits are those of its own history in one pass."""
    model = make_seq2seq(tokenizers, attention="dot") if kind == "recurrent" else models[kind]
    pair = driver(model, remembers=kind != "continue")
    (encoding, encode), (stepping, step) = pair["encode"], pair["step"]
    beams = {spec.name: spec.shape.index("beams") for spec in stepping.inputs if "beams" in spec.shape}
    assert {spec.name for spec in encoding.outputs} == {spec.name for spec in stepping.inputs[1:]} | {"first_ids"}

    rng = np.random.default_rng(4)
    token_ids, lengths = rng.integers(4, 16, (3, 5)).astype("int32"), np.array([5, 2, 3], "int32")
    known = arrays(encode(token_ids, lengths))
    first = np.repeat(known.pop("first_ids"), 2, axis=1)
    known = {name: np.repeat(leaf, 2, axis=beams[name]) if name in beams else leaf for name, leaf in known.items()}
    targets = rng.integers(4, 16, (3, 2, 4)).astype("int32")
    logits = []
    for position, token in enumerate([first, *np.moveaxis(targets, 2, 0)]):
        found = arrays(step(token, **known))
        logits.append(found.pop("logits"))
        known |= {name.removeprefix("next_"): leaf for name, leaf in found.items()}
        if position == 1:  # the first beam is given up
            parent = np.array([1, 1])
            known = {n: np.take(leaf, parent, axis=beams[n]) if n in beams else leaf for n, leaf in known.items()}
            targets[:, 0, :1] = targets[:, 1, :1]
    for beam in range(2):
        expected = whole(kind, model, token_ids, lengths, targets[:, beam])
        received = np.stack([step_logits[:, beam] for step_logits in logits[2:]], axis=1)
        np.testing.assert_allclose(received, expected[:, 2:], atol=1e-4)


def whole(kind, model, token_ids, lengths, targets):
    """Logits from the first token to write on, row by row, in one pass."""
    if kind != "continue":
        fed = np.pad(targets, ((0, 0), (1, 0)), constant_values=2)
        return np.asarray(model({"source_ids": token_ids, "source_lengths": lengths, "target_ids": fed}))
    rows = []
    for prompt, length, target in zip(token_ids, lengths, targets, strict=True):
        text = np.array([[2, *prompt[:length], *target]], "int32")
        rows.append(np.asarray(model({"token_ids": text}))[0, length:])
    return np.stack(rows)
