"""Slots of a recipe: what every layer of a slot builds, and how a recipe says so."""

import re

import numpy as np
import pytest

from tests.house_rules import ROOT
from tests.recipes.small import KINDS, recipe
from zoo import recipes, runs
from zoo.models import DepthAdaptiveTransformer
from zoo.recipes import files
from zoo.recipes.recipe import plain
from zoo.runs.training import make_loss
from zoo.tasks import TASKS
from zoo.tasks.parts.building import build_model, make_layer

SMALL = {
    "lsh": {"num_buckets": 4, "chunk_length": 4},
    "local": {"chunk_length": 2, "hashed": {"blocks": [2], "num_buckets": 4, "chunk_length": 3}},
    "multi_linear": {"rank": 3, "max_time": 8},
    "adaptive_span": {"max_span": 6, "ramp": 2},
    "product_key": {"num_keys": 4, "k": 2, "query_dim": 4},
    "universal": {"halting": "accumulated"},
    "axial": {"columns": 3},
    "mean": {"dense": "relu"},
    "first": {"dense": "tanh"},
    "concatenated": {"max_positions": 8, "columns": 3},
}
OF_TASK = {
    "translate": "transformer",
    "transduce": "transformer",
    "continue": "language_model",
    "classify": "classifier",
    "compare": "pairs",
    "tag": "tagger",
    "rate": "classifier",
    "rate_pairs": "pairs",
}
COST = {"compare": [pytest.mark.release], "tag": []}  # pairs are read as a classifier reads; of the rest one is quick
CASES = [
    pytest.param(task, slot, layer, marks=COST.get(task, [pytest.mark.slow]))
    for task in OF_TASK
    for slot, choices in TASKS[task].models["transformer"].slots.items()
    for layer in choices[1:]
    if task not in ("transduce", "rate", "rate_pairs")  # which are built as translate, classify and compare are
]


def settings(layer):
    return {"layer": layer} | SMALL.get(layer, {})


def made(one, *sizes):
    return build_model(one.job, one, *sizes)


def test_every_task_that_is_trained_is_built_below():
    assert set(OF_TASK) == {name for name, task in TASKS.items() if not task.init_needed}


@pytest.mark.slow(but=("tag-attention", "tag-block", "tag-depth"))
@pytest.mark.parametrize(("task", "slot", "table"), CASES)
def test_each_layer_builds_the_model_it_is_allowed_in(task, slot, table):
    layer = table.__struct_config__.tag
    one = recipe(OF_TASK[task], **{slot: settings(layer), "model": {"num_layers": 2}})
    sizes = {"translate": (9, 9), "continue": (9,)}.get(task, (9, 3))
    found = made(one, *sizes)
    # Where one is not, Keras calls the model eagerly before each batch that it predicts: JAX compiles its loops anew.
    assert [each.name for each in found._flatten_layers() if not each.built] == []
    ids, lengths = np.full((2, 5), 4, "int32"), np.array([5, 3], "int32")
    inputs = {
        "translate": {"source_ids": ids, "source_lengths": lengths, "target_ids": ids},
        "compare": {"first_ids": ids, "first_lengths": lengths, "second_ids": ids, "second_lengths": lengths},
    }.get(task, {"token_ids": ids, "lengths": lengths})
    assert found(inputs).shape[-1] == sizes[-1]
    there = {type(each).__name__ for each in found._flatten_layers()}
    expected = table.source.rpartition(".")[2]
    assert expected in there or expected.startswith("make_") or layer in ("sinusoidal", "tokens")


def test_encoder_and_decoder_of_a_universal_transformer_draw_the_same_offsets():
    model = made(recipe("transformer", depth={"layer": "universal", "max_offset": 5}), 9, 9)
    assert model.encoder.max_offset == model.decoder.max_offset == 5
    assert model.encoder.seed == model.decoder.seed is not None


@pytest.mark.parametrize("depth", ["stack", "reversible"])
def test_a_decoder_may_be_shallower_than_its_encoder_or_deeper(depth):
    for layers, decoder in ((3, 1), (1, 2)):
        model = made(recipe("transformer", depth=depth, model={"num_layers": layers, "decoder_layers": decoder}), 9, 9)
        assert (len(model.encoder.blocks), len(model.decoder.blocks)) == (layers, decoder)


def test_a_block_of_the_deeper_one_may_be_named():
    memory = settings("product_key") | {"blocks": [3]}
    model = made(recipe("transformer", model={"num_layers": 1, "decoder_layers": 3}, feedforward=memory), 9, 9)
    kinds = [type(block.feedforward).__name__ for block in model.encoder.blocks + model.decoder.blocks]
    assert kinds == ["FeedForward"] * 3 + ["ProductKeyMemory"]
    with pytest.raises(ValueError, match="must list numbers from 1 to decoder_layers=3; received .4."):
        recipe("transformer", model={"decoder_layers": 3}, feedforward=memory | {"blocks": [4]})


def test_some_blocks_may_have_another_layer():
    memory = settings("product_key") | {"blocks": [2]}
    one = recipe("language_model", model={"num_layers": 3}, feedforward=memory)
    kinds = [type(block.feedforward).__name__ for block in made(one, 9).decoder.blocks]
    assert kinds == ["FeedForward", "ProductKeyMemory", "FeedForward"]


def test_only_the_target_has_an_output():
    output = {"output": "own", "output_bias": True, "scaled": False}
    model = made(recipe("transformer", text={"shared": False}, embedding=output), 9, 8)
    assert [len(each.weights) for each in (model.source_embedding, model.target_embedding)] == [1, 3]
    assert not model.source_embedding.scaled and not model.target_embedding.scaled
    shared = made(recipe("transformer", embedding={"output_bias": True}), 9, 9)
    assert shared.source_embedding is shared.target_embedding and shared.target_embedding.output_bias


def test_attention_over_a_source_has_heads_like_the_others():
    one = recipe("transformer", attention={"layer": "relative", "head_units": 3}, positions="none")
    over = made(one, 9, 9).decoder.blocks[0].cross_attention
    assert type(over).__name__ == "MultiHeadAttention" and over.head_dim == 3 and not over.use_bias
    one = recipe("transformer", attention={"head_units": 3, "use_bias": False}, model={"num_heads": 3})
    over = made(one, 9, 9).decoder.blocks[0].cross_attention
    assert over.head_dim == 3 and over.use_bias, "as in every recipe before it had a setting"


def test_an_output_reads_as_much_as_the_decoder_gives():
    wide = {"layer": "reversible", "joined": "both"}
    for more in ({}, {"embedding": {"output_bias": True}}, {"embedding": {"output": "own", "scaled": False}}):
        model = made(recipe("language_model", depth=wide, **more), 9)
        assert model.embedding.output_matrix.shape == (9, 8) and model.embedding.matrix.shape == (9, 4)
        assert model({"token_ids": np.full((2, 5), 4, "int32")}).shape == (2, 5, 9)


def test_macarons_half_steps_share_the_width():
    block = made(recipe("language_model", block="macaron", model={"hidden_units": 6}), 9).decoder.blocks[0]
    assert (block.first.hidden_units, block.feedforward.hidden_units) == (3, 3)


def test_a_layers_own_settings_reach_it():
    one = recipe("language_model", attention=settings("lsh") | {"rounds": 3}, training={"seed": 5})
    layer = make_layer(one, "attention")
    assert (layer.rounds, layer.num_buckets, layer.seed, layer.units) == (3, 4, 5, one.model.units)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"attention": {"layer": "lsh", "round": 2}},
            "attention = 'lsh' has no setting 'round'. Did you mean 'rounds'[?] It takes num_buckets, chunk_length",
        ),
        ({"attention": {"layer": "lsh", "units": 8}}, "has no setting 'units'"),
        ({"depth": {"steps": 2}}, "depth = 'stack' has no setting 'steps'. It takes none"),
        (
            {"attention": {"rounds": 2}},
            "'multi_head' has no setting 'rounds'. It is one of attention = 'lsh'. It takes",
        ),
        (
            {"attention": {"layer": "lsh", "blocks": [0]}},
            "blocks must be a list, each item a whole number of at least 1",
        ),
        ({"attention": {"layer": "lsh", "blocks": [2]}}, "must list numbers from 1 to num_layers=1; received .2."),
        (
            {"attention": {"layer": "lsh", "blocks": 1}},
            "blocks must be a list, each item a whole number .*; received 1.",
        ),
        ({"depth": {"layer": "universal", "blocks": [1]}}, "has no setting 'blocks'"),
    ],
)
def test_wrong_settings_of_a_layer_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        recipe("language_model", **changes)


def test_training_refuses_what_is_not_there_before_it_writes_anything(tmp_path):
    one = recipe("language_model")
    with pytest.raises(ValueError, match="there is no directory .*nowhere; expected one with files such as input.txt"):
        runs.train(one, tmp_path / "run", tmp_path / "nowhere")
    with pytest.raises(ValueError, match="No train split in .*: looked for train.txt"):
        runs.train(one, tmp_path / "run", tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_command_line_fills_a_slot_and_changes_what_is_in_it(tmp_path):
    path = tmp_path / "small.toml"
    path.write_text(recipes.dumps(recipe("reformer")), encoding="utf-8")
    changed = recipes.load(path, ["attention.rounds=4", "attention.resample=true", "depth.activations=plain"])
    before = plain(recipe("reformer"))
    assert plain(changed)["attention"] == before["attention"] | {"rounds": 4, "resample": True}
    assert plain(changed)["depth"] == {"layer": "reversible", "activations": "plain", "joined": "sum"}
    usual = plain(recipes.load(path, ["attention=multi_head"]))["attention"]
    assert usual == {"layer": "multi_head", "use_bias": True}, "another layer begins with its own defaults"
    assert recipes.load(path, ["feedforward.blocks=[1]"]).feedforward.blocks == [1]


def test_a_table_without_a_layer_goes_on_with_the_one_it_extends(tmp_path):
    (tmp_path / "base.toml").write_text(recipes.dumps(recipe("reformer", name="base")))
    (tmp_path / "more.toml").write_text('extends = "base"\n[attention]\nrounds = 5\n')
    (tmp_path / "other.toml").write_text('extends = "base"\n[attention]\nlayer = "multi_linear"\n')
    found = plain(recipes.load(tmp_path / "more.toml"))["attention"]
    assert found.items() >= (KINDS["reformer"]["attention"] | {"rounds": 5}).items()
    other = recipes.load(tmp_path / "other.toml")
    assert other.attention == recipe("language_model", attention="multi_linear").attention


PAGE = (ROOT / "docs" / "recipes.md").read_text(encoding="utf-8")
EXAMPLE = next(each for each in re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL) if "gutenberg-9" in each)


def test_the_example_of_the_page_builds(tmp_path):
    """Its TOML beside the recipe it extends, smaller."""
    (tmp_path / "mine.toml").write_text(EXAMPLE)
    for name in ("gutenberg-9-transformer", "gutenberg-9-reformer"):
        (tmp_path / f"{name}.toml").write_text((files.CATALOGUE / f"{name}.toml").read_text())
    one = recipes.load(tmp_path / "mine.toml", ["model.units=8", "feedforward.num_keys=4", "feedforward.k=2"])
    blocks = made(one, 9).decoder.blocks
    assert [type(block.feedforward).__name__ for block in blocks] == [
        "FeedForward",
        "ProductKeyMemory",
        "FeedForward",
        "FeedForward",
    ]
    assert {(type(block.attention).__name__, block.attention.rounds) for block in blocks} == {("LSHAttention", 4)}


@pytest.mark.slow
def test_a_depth_adaptive_decoder_has_its_own_model_and_loss():
    table = {"layer": "depth_adaptive", "exit": "sequence", "tied": False}
    learns = {"oracle": "correctness", "price": 0.3, "label_smoothing": 0.2}
    one = recipe("transformer", model={"num_layers": 2}, depth=table, loss=learns)
    model, loss = made(one, 9, 9), make_loss(one)
    assert isinstance(model, DepthAdaptiveTransformer) and len(model.classifiers) == 2
    assert type(model.encoder).__name__ == "Stack" and type(model.decoder.exit).__name__ == "SequenceExit"
    assert (loss.oracle, loss.price, loss.width, loss.alpha, loss.smoothing) == ("correctness", 0.3, 0.0, 0.1, 0.2)
    mixed = recipe(
        "transformer", model={"num_layers": 2}, depth={"layer": "depth_adaptive", "exit": "last", "paths": 3}
    )
    assert made(mixed, 9, 9).decoder.paths == 3


@pytest.mark.parametrize(
    ("depth", "loss", "message"),
    [
        ({"exit": "never"}, {}, "depth.exit must be one of .*last, .*sequence.*; received 'never'"),
        ({}, {"chunks": 2}, "loss = 'depth_adaptive' has no setting 'chunks'. It is one of loss = 'cross_entropy'"),
        ({}, {"kind": "cross_entropy", "chunks": 2}, "counts all its depths"),
        ({"paths": 2}, {}, "Expected paths = 0, or exit = \"last\"; received paths=2, exit='geometric'"),
        (
            {"exit": "last"},
            {"price": 0.3},
            "loss.price=0.3 has no effect: it is read where depth.exit is 'sequence' or",
        ),
        ({"exit": "sequence"}, {"width": 1.0}, "loss.width=1.0 has no effect: .*; received 'sequence'"),
    ],
)
def test_what_a_depth_adaptive_decoder_cannot_have(depth, loss, message):
    with pytest.raises(ValueError, match=message):
        recipe("transformer", model={"num_layers": 2}, depth={"layer": "depth_adaptive"} | depth, loss=loss)


def test_some_blocks_of_local_attention_may_hash():
    own = settings("local") | {"before": 2, "head_units": 3}
    two = {"attention": own, "model": {"num_layers": 2}}
    first, second = (block.attention for block in made(recipe("language_model", **two), 9).decoder.blocks)
    assert (type(first).__name__, first.chunk_length, first.looks) == ("LocalAttention", 2, (2, 0))
    assert (type(second).__name__, second.chunk_length, second.looks) == ("RingLSHAttention", 3, (1, 0))
    assert all(each.padded_to == 6 and each.head_dim == 3 for each in (first, second))
    own["hashed"] = own["hashed"] | {"blocks": [3]}
    with pytest.raises(ValueError, match="local needs hashed.blocks that are numbers of its blocks"):
        recipe("language_model", **two)


def test_rows_of_a_grid_may_have_a_width_of_their_own():
    positions = {"layer": "axial", "columns": 3, "row_units": 1}
    assert made(recipe("language_model", positions=positions), 9).positions.rows.shape[1] == 1
    with pytest.raises(ValueError, match="or row_units below them"):
        recipe("language_model", positions=positions | {"row_units": 4})
