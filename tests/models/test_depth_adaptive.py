"""The Depth-Adaptive Transformer: steps with copies are the full pass; what training is given."""

import keras
import numpy as np
import pytest
from keras import ops

from tests import transformer_oracles
from tests.models.cases import SOURCES, TARGETS
from tests.weights import randomised
from zoo.attention import MultiHeadAttention
from zoo.blocks import Macaron, PreNorm
from zoo.check.laws import assert_close, lengths, token_ids
from zoo.check.steps import check_steps
from zoo.depth import (
    ConfidenceExit,
    DepthAdaptiveStack,
    FixedExit,
    GeometricExit,
    MultinomialExit,
    SequenceExit,
    make_depth_adaptive_stack,
    make_stack,
)
from zoo.depth.flops import decoder_flops
from zoo.embeddings import LearnedPositions
from zoo.feedforward import ChunkedFeedForward, FeedForward, ProductKeyMemory
from zoo.models import DepthAdaptiveTransformer, Transformer

ROWS = ((1, 5), (2, 2), (3, 0))
INPUTS = {
    "source_ids": token_ids(ROWS, 5, SOURCES, noise=5),
    "source_lengths": lengths(ROWS),
    "target_ids": token_ids(((4, 7), (5, 7), (6, 7)), 7, TARGETS),
}


def made(rule=None, block="pre_norm", tied=True, paths=0, **settings):
    decoder = make_depth_adaptive_stack(4, 6, 2, 8, rule, block, paths, dropout=0.0, seed=2)
    model = DepthAdaptiveTransformer(
        SOURCES, TARGETS, make_stack(1, 6, 2, 8, block, dropout=0.0), decoder, dropout=0.0, tied=tied, **settings
    )
    return randomised(model)


def arrays(structure):
    return keras.tree.map_structure(ops.convert_to_numpy, structure)


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize(
    ("rule", "block", "tied", "max_length"),
    [
        (lambda: MultinomialExit(4), "pre_norm", False, None),
        pytest.param(lambda: SequenceExit(4), "post_norm", True, 5, marks=pytest.mark.slow),
        pytest.param(lambda: ConfidenceExit(4, [0.3, 0.4, 0.5]), "pre_norm", False, None, marks=pytest.mark.slow),
        pytest.param(lambda: GeometricExit(4), "post_norm", True, 5, marks=pytest.mark.slow),
        pytest.param(lambda: GeometricExit(4), "macaron", False, None, marks=pytest.mark.slow),
        pytest.param(lambda: FixedExit(4, 2), "pre_norm", True, None, marks=pytest.mark.slow),
    ],
    ids=["multinomial", "sequence", "confidence", "geometric", "geometric-macaron", "fixed"],
)
def test_steps_with_copies_are_the_full_pass(rule, block, tied, max_length):
    """Each token at its own depth, whatever way the beams go."""
    model = made(rule(), block, tied)
    exits = arrays(model.think(INPUTS)["exits"])
    assert isinstance(model.decoder.exit, FixedExit) or len(np.unique(exits)) > 1, "tokens leave at different depths"
    following = token_ids(((7, 4), (8, 4), (9, 4)), 4, TARGETS)[:, None].repeat(2, axis=1)
    parents = np.array([[[0, 1, 1, 0]] * 2, [[1, 0, 0, 1]] * 2, [[0, 0, 1, 1]] * 2])
    check_steps(model, INPUTS["source_ids"], INPUTS["source_lengths"], following, parents, max_length)


@pytest.mark.slow
def test_always_the_last_is_a_transformer():
    model = made()
    plain = Transformer(SOURCES, TARGETS, model.encoder, make_stack(4, 6, 2, 8, cross=True), dropout=0.0)
    plain.build()
    pairs = [(model.source_embedding, plain.source_embedding), (model.target_embedding, plain.target_embedding)]
    pairs += zip(model.decoder.blocks, plain.decoder.blocks, strict=True)
    for ours, theirs in [*pairs, (model.decoder.norms[-1], plain.decoder.final_norm)]:
        theirs.set_weights(ours.get_weights())
    assert_close([arrays(model(INPUTS))], [arrays(plain(INPUTS))], 0, 0)
    expected = transformer_oracles.transformer(plain, INPUTS["source_ids"][1, :2], INPUTS["target_ids"][1])
    np.testing.assert_allclose(arrays(model(INPUTS))[1], expected, atol=1e-4)


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("tied", [True, False])
def test_training_gives_each_depth_its_logits(tied):
    model = made(GeometricExit(4), tied=tied)
    outputs = arrays(model(INPUTS, training=True))
    assert outputs["logits"].shape == (3, 4, 7, TARGETS) and outputs["log_exits"].shape == (3, 7, 4)
    for depth in (1, 3, 4):  # nobody leaves before, so it is the pass in which all leave there
        fixed = model.with_exit(FixedExit(4, depth))
        assert_close([outputs["logits"][:, depth - 1]], [arrays(fixed(INPUTS))], 1e-5)
    assert_close([arrays(model.depth_logits(INPUTS))], [outputs["logits"]], 1e-5)
    exits = arrays(model.think(INPUTS)["exits"])
    first = np.take_along_axis(outputs["logits"][:, :, :1], exits[:, None, :1, None] - 1, axis=1)[:, 0]
    assert_close([arrays(model(INPUTS))[:, :1]], [first], 1e-5)  # the first token has no neighbour that left


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("tied", [True, False])
def test_mixed_training_reads_each_token_at_its_own_depth(tied):
    model = made(paths=2, tied=tied)
    drawn, draw = [], model.decoder.draw_exits
    model.decoder.draw_exits = lambda *shape: drawn.append(draw(*shape)) or drawn[-1]
    (logits,) = arrays(model(INPUTS, training=True)).values()
    assert logits.shape == (3, 2, 7, TARGETS) and len(drawn) == 2
    x, given = model._prepare(INPUTS, training=True)
    for path, exits in enumerate(map(arrays, drawn)):
        states = arrays(model.decoder.walk(x, exits, **given))
        for row, token in np.ndindex(*exits.shape):
            depth = exits[row, token] - 1
            weights = model.target_embedding.matrix if tied else model.classifiers[depth].kernel
            matrix = arrays(weights).T if tied else arrays(weights)
            np.testing.assert_allclose(logits[row, path, token], states[row, token] @ matrix, atol=1e-4)


@pytest.mark.slow
def test_with_exit_copies_all_but_the_rule():
    model = made(ConfidenceExit(4, 0.4), tied=False)
    twin = model.with_exit(ConfidenceExit(4, [0.0, 0.5, 0.5]))
    assert arrays(twin.think(INPUTS)["exits"]).max() == 1
    twin.decoder.exit.tau.assign([0.4] * 3)
    assert_close([arrays(twin(INPUTS))], [arrays(model(INPUTS))], 0, 0)
    assert twin.encoder is not model.encoder and twin.decoder.blocks[0] is not model.decoder.blocks[0]


@pytest.mark.slow
def test_report_counts_the_tokens_that_are_there():
    model = made(MultinomialExit(4))
    exits = arrays(model.think(INPUTS)["exits"])
    found = model.report(INPUTS, [7, 3, 0])
    left = np.concatenate([exits[0], exits[1, :3]])
    assert found["tokens"] == 10 and found["average_exit"] == pytest.approx(left.mean())
    assert found["shares"] == pytest.approx([np.mean(left == depth) for depth in (1, 2, 3, 4)])
    flops = decoder_flops(exits[0], 4, 6, 8, 5) + decoder_flops(exits[1, :3], 4, 6, 8, 2)
    full = decoder_flops([4] * 7, 4, 6, 8, 5) + decoder_flops([4] * 3, 4, 6, 8, 2)
    assert (found["flops"], found["full_flops"]) == (pytest.approx(flops / 10), pytest.approx(full / 10))


def with_layers(**parts):
    """An untrained model whose decoder has two blocks of the given feed-forward layers, all tokens leaving at 2."""
    kind = Macaron if "first" in parts else PreNorm
    blocks = [
        kind(attention=MultiHeadAttention(6, 2), cross_attention=MultiHeadAttention(6, 2), **make_parts)
        for make_parts in ({name: make() for name, make in parts.items()} for _ in range(2))
    ]
    model = DepthAdaptiveTransformer(SOURCES, TARGETS, make_stack(1, 6, 2, 8), DepthAdaptiveStack(blocks))
    model.build()
    return model


@pytest.mark.parametrize(
    "parts",
    [
        {"feedforward": lambda: ChunkedFeedForward(FeedForward(6, 8), 2)},
        {"first": lambda: FeedForward(6, 3), "feedforward": lambda: FeedForward(6, 5)},
    ],
)
def test_report_asks_every_feedforward_layer_for_its_width(parts):
    found = with_layers(**parts).report(INPUTS, [7, 3, 0])
    full = decoder_flops([2] * 7, 2, 6, 8, 5) + decoder_flops([2] * 3, 2, 6, 8, 2)
    assert found["flops"] == found["full_flops"] == pytest.approx(full / 10)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("wrap", [lambda memory: memory, lambda memory: ChunkedFeedForward(memory, 2)])
def test_report_refuses_what_the_papers_formula_does_not_count(wrap):
    memory = {"feedforward": lambda: wrap(ProductKeyMemory(6, num_keys=4, num_heads=2, k=2, query_dim=4))}
    with pytest.raises(ValueError, match="FeedForward layers.*Received: .*in block 1"):
        with_layers(**memory).report(INPUTS, [7, 3, 0])
    with pytest.raises(ValueError, match=r"at least one token.*Received: target_lengths=\[0, 0, 0\]"):
        made().report(INPUTS, [0, 0, 0])


@pytest.mark.slow
def test_positions_are_its_own_and_kept():
    model = made(positions=LearnedPositions(9))
    again = type(model).from_config(model.get_config())
    assert isinstance(again.positions, LearnedPositions) and again.source_positions.max_positions == 9
    twin = model.with_exit(FixedExit(4))
    assert_close([arrays(twin.positions.weights)], [arrays(model.positions.weights)], 0, 0)


def test_a_decoder_without_exits_is_refused():
    with pytest.raises(ValueError, match="a DepthAdaptiveStack. Received: Stack; with that, take a Transformer"):
        DepthAdaptiveTransformer(SOURCES, TARGETS, make_stack(1, 6, 2, 8), make_stack(1, 6, 2, 8, cross=True))
