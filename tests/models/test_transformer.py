"""The Transformer against the papers' equations, its steps, what it sees, and what does not fit together."""

import numpy as np
import pytest
from keras import ops

from tests import transformer_oracles
from tests.decoding.table import EOS, Table, assert_same, everything, rows_of
from tests.models import settings
from tests.models.cases import CASES, SOURCES, TARGETS, stack
from tests.weights import randomised
from zoo.check.laws import lengths, token_ids
from zoo.check.steps import full_pass
from zoo.decoding import beam_search
from zoo.embeddings import SpelledEmbedding, TokenEmbedding
from zoo.models import Transformer

ROWS = ((1, 7), (2, 3), (3, 0))
SOURCE, LENGTHS = token_ids(ROWS, 7, SOURCES, noise=5), lengths(ROWS)
TARGET = token_ids(((4, 5), (5, 5), (6, 5)), 5, SOURCES)  # ids of both vocabularies
INPUTS = {"source_ids": SOURCE, "source_lengths": LENGTHS, "target_ids": TARGET}
CASES = [case for case in (*CASES, *settings.CASES) if case.name.startswith("transformer")]
NAMES = [case.name for case in CASES]


@pytest.mark.slow(but=3)
@pytest.mark.parametrize("name", NAMES)
def test_is_the_papers_model(models, name):
    model = models(name)
    received = ops.convert_to_numpy(model(INPUTS))
    for row, length in enumerate(LENGTHS):
        expected = transformer_oracles.transformer(model, SOURCE[row, :length], TARGET[row])
        np.testing.assert_allclose(received[row], expected, atol=1e-4)


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("growing", [True, False])
def test_wide_enough_a_beam_finds_the_best_of_all_sequences(growing):
    """Of a vocabulary of 5: the full pass over all prefixes, tabulated, and everything enumerated."""
    model = Transformer(SOURCES, 5, stack("post_norm", 1), stack("pre_norm", 2, cross=True))
    randomised(model, 3, 0.4)
    table, full = Table(5, 3), full_pass(model, SOURCE, LENGTHS)
    tabulated = np.zeros((3, table.prefixes, 5), "float32")
    words = [token for token in range(5) if token != EOS]
    prefixes = [(), *((a,) for a in words), *((a, b) for a in words for b in words)]
    for size in range(3):
        chosen = [prefix for prefix in prefixes if len(prefix) == size]
        histories = np.array([[(2, *prefix) for prefix in chosen]] * 3, "int32")
        tabulated[:, [table.number(prefix) for prefix in chosen]] = full(histories)
    found = rows_of(beam_search(model, model.encode(SOURCE, LENGTHS), 3, beams=64, growing=growing))
    for row, received in zip(tabulated, found, strict=True):
        assert_same(received, everything(table, row, 3, 0.6)[:64])


def test_matrices_are_shared_where_one_says_so():
    """The target's embedding is the output matrix in any case, and with `shared` the source's as well."""
    for shared, count in ((False, 2), (True, 1)):
        model = Transformer(13, 13, stack("pre_norm", 1), stack("pre_norm", 1, cross=True), shared)
        model.build()
        shapes = [tuple(weight.shape) for weight in model.trainable_weights]
        assert shapes.count((13, 6)) == count and (6, 13) not in shapes


@pytest.mark.parametrize("shared", [False, True])
def test_embeddings_that_are_given_are_those_of_the_model_and_of_its_copies(shared):
    one = TokenEmbedding(13, 6, scaled=False, output_bias=True)
    other = one if shared else TokenEmbedding(11, 6, scaled=False)
    model = Transformer(other, one, stack("pre_norm", 1), stack("pre_norm", 1, cross=True), shared)
    assert model.target_embedding is one and model.source_embedding is other
    assert (model.source_vocab_size, model.target_vocab_size) == (other.vocab_size, 13)
    twin = Transformer.from_config(model.get_config())
    assert twin.get_config() == model.get_config()
    assert (twin.source_embedding is twin.target_embedding) is shared
    assert twin.target_embedding.output_bias and not twin.source_embedding.scaled


def test_states_are_what_the_logits_are_made_of(models):
    for name in NAMES:
        model, embedding = models(name), models(name).target_embedding
        states = ops.convert_to_numpy(model.states(INPUTS))
        assert states.shape == (3, 5, 6)
        np.testing.assert_allclose(ops.convert_to_numpy(model(INPUTS)), embedding.logits(states), atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((11, 13, stack("pre_norm"), stack("pre_norm", cross=True, units=8)), "same units.*Received: 6 and 8"),
        (
            (11, 13, stack("pre_norm"), stack("pre_norm", cross=True), True),
            "source_vocab_size=11.*target_vocab_size=13",
        ),
        (
            (11, TokenEmbedding(13, 8), stack("pre_norm"), stack("pre_norm", cross=True)),
            "embedding of 6 units, .* with an output .*Received: TokenEmbedding .* of 8 units",
        ),
        (
            (11, SpelledEmbedding(13, 6), stack("pre_norm"), stack("pre_norm", cross=True)),
            "with an output .*Received: SpelledEmbedding",
        ),
        (
            (TokenEmbedding(13, 6), TokenEmbedding(13, 6), stack("pre_norm"), stack("pre_norm", cross=True), True),
            "give one embedding for both",
        ),
        ((0, 13, stack("pre_norm"), stack("pre_norm", cross=True)), "positive integer as vocab_size. Received: 0"),
    ],
)
def test_settings_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        Transformer(*arguments)


@pytest.mark.slow
def test_a_decoder_needs_cross_attention_and_an_encoder_none():
    with pytest.raises(ValueError, match="has no cross_attention but was given a memory"):
        Transformer(SOURCES, TARGETS, stack("pre_norm"), stack("pre_norm"))(INPUTS)
    with pytest.raises(ValueError, match="needs a memory"):
        Transformer(SOURCES, TARGETS, stack("pre_norm", cross=True), stack("pre_norm", cross=True))(INPUTS)
