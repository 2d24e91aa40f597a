"""Slots of a recipe: what every layer of `SLOTS` builds, and how a recipe says so."""

import inspect
from pathlib import Path

import numpy as np
import pytest

from tests.recipes.small import KINDS, recipe
from zoo import recipes
from zoo.models import DepthAdaptiveTransformer
from zoo.recipes import files
from zoo.recipes.layers import LAYERED, LAYERS, SLOTS
from zoo.recipes.models import make_model
from zoo.recipes.optimisation import make_loss
from zoo.recipes.slots import MAKERS, OF_THE_PLACE, READ_ELSEWHERE, SHARED, make_layer, parameters
from zoo.training import DepthAdaptiveLoss

SMALL = {
    "lsh": {"num_buckets": 4, "chunk_length": 4},
    "multi_linear": {"rank": 3, "max_time": 8},
    "adaptive_span": {"max_span": 6, "ramp": 2},
    "product_key": {"num_keys": 4, "k": 2, "query_dim": 4},
    "universal": {"halting": "accumulated"},
    "axial": {"columns": 3},
}
CASES = [
    (model, slot, layer)
    for slot, choices in SLOTS.items()
    for model in LAYERED
    for layer in choices[model]
    if layer != choices[model][0]
]


def settings(layer):
    return {"layer": layer} | SMALL.get(layer, {})


@pytest.mark.parametrize(("model", "slot", "layer"), CASES)
def test_each_layer_builds_the_model_it_is_allowed_in(model, slot, layer):
    one = recipe(model, **{slot: settings(layer), "num_layers": 2})
    sizes = {"transformer": (9, 9), "language_model": (9,)}.get(model, (9, 3))
    found = make_model(one, *sizes)
    ids, lengths = np.full((2, 5), 4, "int32"), np.array([5, 3], "int32")
    names = ("source_ids", "source_lengths") if model == "transformer" else ("token_ids", "lengths")
    inputs = dict(zip(names, (ids, lengths), strict=True)) | ({"target_ids": ids} if model == "transformer" else {})
    assert found(inputs).shape[-1] == sizes[-1]
    made = {type(each).__name__ for each in found._flatten_layers()}
    expected = MAKERS[slot][layer]
    assert getattr(expected, "__name__", "").startswith(layer.split("_")[0]) or expected.__name__ in made


def test_every_name_has_a_maker():
    named = {slot: set().union(*(choices[model] for model in LAYERED)) for slot, choices in SLOTS.items()}
    assert named == {slot: set(layers) for slot, layers in MAKERS.items()}
    everything = {slot: set().union(*choices.values()) for slot, choices in SLOTS.items()}
    assert everything == {slot: set(layers) for slot, layers in LAYERS.items()}


@pytest.mark.parametrize(("slot", "layer"), [(slot, layer) for slot, layers in MAKERS.items() for layer in layers])
def test_the_schema_is_what_the_constructors_take(slot, layer):
    """`zoo.recipes.layers` may not import the layers, so it says a second time what they take, and the defaults."""
    maker, described = MAKERS[slot][layer], LAYERS[slot][layer]
    taken = [name for name in parameters(maker) if name not in OF_THE_PLACE]
    assert set(described.takes) == {name for name in taken if name in SHARED}
    own = [name for name in taken if name not in SHARED]
    assert list(described.own) == [*own, *READ_ELSEWHERE.get(layer, ())]
    defaults = {name: each.default for name, each in inspect.signature(maker).parameters.items()}
    if layer == "depth_adaptive":
        for reader in (DepthAdaptiveLoss, DepthAdaptiveTransformer):
            defaults |= {name: each.default for name, each in inspect.signature(reader).parameters.items()}
    assert {name: each.default for name, each in described.own.items()} == {one: defaults[one] for one in described.own}


def test_encoder_and_decoder_of_a_universal_transformer_draw_the_same_offsets():
    model = make_model(recipe("transformer", depth={"layer": "universal", "max_offset": 5}), 9, 9)
    assert model.encoder.max_offset == model.decoder.max_offset == 5
    assert model.encoder.seed == model.decoder.seed is not None


def test_some_blocks_may_have_another_layer():
    one = recipe("language_model", num_layers=3, feedforward=settings("product_key") | {"blocks": [2]})
    kinds = [type(block.feedforward).__name__ for block in make_model(one, 9).decoder.blocks]
    assert kinds == ["FeedForward", "ProductKeyMemory", "FeedForward"]


def test_macarons_half_steps_share_the_width():
    block = make_model(recipe("language_model", block="macaron", hidden_units=6), 9).decoder.blocks[0]
    assert (block.first.hidden_units, block.feedforward.hidden_units) == (3, 3)


def test_a_layers_own_settings_reach_it():
    one = recipe("language_model", attention=settings("lsh") | {"rounds": 3}, seed=5)
    layer = make_layer(one, "attention")
    assert (layer.rounds, layer.num_buckets, layer.seed, layer.units) == (3, 4, 5, one.units)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"attention": {"layer": "lsh", "round": 2}},
            "'lsh', its attention, has no setting 'round'. Did you mean 'rounds'[?] It takes num_buckets, chunk_length",
        ),
        ({"attention": {"layer": "lsh", "units": 8}}, "has no setting 'units'"),
        ({"depth": {"steps": 2}}, "'stack', its depth, has no setting 'steps'. It takes none"),
        ({"attention": {"layer": "lsh", "blocks": [0]}}, "must list numbers from 1 to num_layers=1; received .0."),
        ({"attention": {"layer": "lsh", "blocks": 1}}, "must list numbers from 1 to num_layers=1; received 1."),
        ({"depth": {"layer": "universal", "blocks": [1]}}, "has no setting 'blocks'"),
    ],
)
def test_wrong_settings_of_a_layer_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        recipe("language_model", **changes)


def test_training_refuses_what_is_not_there_before_it_writes_anything(tmp_path):
    one = recipe("language_model")
    with pytest.raises(ValueError, match="there is no directory .*nowhere; expected one with files such as input.txt"):
        recipes.train(one, tmp_path / "run", tmp_path / "nowhere")
    with pytest.raises(ValueError, match="No train split in .*: looked for train.txt"):
        recipes.train(one, tmp_path / "run", tmp_path)
    with pytest.raises(ValueError, match="more steps than those; received steps=4 and warmup=4"):
        recipes.train(recipe("language_model", schedule="linear", warmup=4), tmp_path / "run", tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_command_line_fills_a_slot_and_changes_what_is_in_it(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(recipes.dumps(recipe("reformer")), encoding="utf-8")
    changed = recipes.load(path, ["attention.rounds=4", "attention.resample=true", "depth.activations=plain"])
    assert changed.attention == KINDS["reformer"]["attention"] | {"rounds": 4, "resample": True}
    assert changed.depth == {"layer": "reversible", "activations": "plain"}
    assert recipes.load(path, ["attention=multi_head"]).attention == {"layer": "multi_head"}
    assert recipes.load(path, ["feedforward.blocks=[1]"]).feedforward["blocks"] == [1]


def test_a_table_without_a_layer_goes_on_with_the_one_it_extends(tmp_path):
    (tmp_path / "base.toml").write_text(recipes.dumps(recipe("reformer", name="base")))
    (tmp_path / "more.toml").write_text('extends = "base"\n[attention]\nrounds = 5\n')
    (tmp_path / "other.toml").write_text('extends = "base"\n[attention]\nlayer = "multi_linear"\n')
    assert recipes.load(tmp_path / "more.toml").attention == KINDS["reformer"]["attention"] | {"rounds": 5}
    assert recipes.load(tmp_path / "other.toml").attention == {"layer": "multi_linear"}


def test_the_readme_example_builds(tmp_path):
    """Its TOML beside the recipe it extends, smaller."""
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    example = text.split("```toml\n")[1].split("```")[0]
    (tmp_path / "mine.toml").write_text(example)
    for name in ("gutenberg-9-transformer", "gutenberg-9-reformer"):
        (tmp_path / f"{name}.toml").write_text((files.HERE / f"{name}.toml").read_text())
    one = recipes.load(tmp_path / "mine.toml", ["units=8", "feedforward.num_keys=4", "feedforward.k=2"])
    blocks = make_model(one, 9).decoder.blocks
    assert [type(block.feedforward).__name__ for block in blocks] == [
        "FeedForward",
        "ProductKeyMemory",
        "FeedForward",
        "FeedForward",
    ]
    assert {(type(block.attention).__name__, block.attention.rounds) for block in blocks} == {("LSHAttention", 4)}


def test_the_readme_names_every_layer():
    text = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    for slot, choices in SLOTS.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| `{slot}` |"))
        assert {name for names in choices.values() for name in names if name != "none"} <= set(row.split("`"))


def test_a_depth_adaptive_decoder_has_its_own_model_and_loss():
    table = {"layer": "depth_adaptive", "exit": "sequence", "tied": False, "oracle": "correctness", "price": 0.3}
    one = recipe("transformer", num_layers=2, depth=table, label_smoothing=0.2)
    model, loss = make_model(one, 9, 9), make_loss(one)
    assert type(model).__name__ == "DepthAdaptiveTransformer" and len(model.classifiers) == 2
    assert type(model.encoder).__name__ == "Stack" and type(model.decoder.exit).__name__ == "SequenceExit"
    assert (loss.oracle, loss.price, loss.width, loss.alpha, loss.smoothing) == ("correctness", 0.3, 0.0, 0.1, 0.2)
    mixed = recipe("transformer", num_layers=2, depth={"layer": "depth_adaptive", "exit": "last", "paths": 3})
    assert make_model(mixed, 9, 9).decoder.paths == 3
    for wrong, message in (
        ({"depth": {"layer": "depth_adaptive", "exit": "never"}}, "must be one of last, sequence, .*received 'never'"),
        ({"depth": table, "loss_chunks": 2}, "logits of all its depths at once. Expected loss_chunks = 1; .*=2"),
        ({"depth": {"layer": "depth_adaptive", "paths": 2}}, "Expected depth.paths = 0"),
        ({"depth": {"layer": "depth_adaptive", "exit": "last", "price": 0.3}}, "price=0.3 has no effect: .*sequence"),
        ({"depth": table | {"width": 1.0}}, "depth.width=1.0 has no effect"),
    ):
        with pytest.raises(ValueError, match=message):
            recipe("transformer", num_layers=2, **wrong)


def test_files_with_the_former_name_of_activations_load(tmp_path):
    path = tmp_path / "old.toml"
    path.write_text('extends = "gutenberg-9-reformer"\n[depth]\nlayer = "reversible"\nmemory = "plain"\n')
    for base in ("gutenberg-9-reformer", "gutenberg-9-transformer", "tinyshakespeare-transformer-pre-norm"):
        (tmp_path / f"{base}.toml").write_text((recipes.files.HERE / f"{base}.toml").read_text(encoding="utf-8"))
    assert recipes.load(path).depth == {"layer": "reversible", "activations": "plain"}
