"""The language model against its equation; prompts of all lengths; bounds of learned positions."""

import itertools

import numpy as np
import pytest
from keras import ops

from tests import transformer_oracles
from tests.models.cases import TARGETS, stack
from tests.weights import randomised
from zoo.check.laws import lengths, token_ids
from zoo.check.steps import BOS, check_steps
from zoo.decoding import greedy
from zoo.depth import make_reformer_stack
from zoo.embeddings import ConvolutionalPositions, LearnedPositions, NormalizedPositions, TokenEmbedding
from zoo.models import LanguageModel

TEXT = token_ids(((1, 7), (2, 7)), 7, TARGETS)
POSITIONS = {
    "sinusoidal": lambda: None,
    "learned": lambda: LearnedPositions(11),
    "normalized": lambda: NormalizedPositions(LearnedPositions(11), 1e-12),
}
# Prompts of different lengths, an empty one, ones longer than the 5 tokens that 11 learned positions leave, and none.
PROMPTS = {
    "ragged": (((1, 4), (2, 2), (3, 0)), 4),
    "long": (((1, 9), (2, 6), (3, 5)), 9),
    "empty": (((1, 0), (2, 0), (3, 0)), 0),
    "padded": (((1, 1), (2, 0), (3, 3)), 8),
}


def made(positions="sinusoidal", block="pre_norm", num_layers=2):
    own = TokenEmbedding(TARGETS, 6, False, False, True) if positions == "normalized" else None
    model = LanguageModel(TARGETS, stack(block, num_layers), POSITIONS[positions](), embedding=own)
    return randomised(model, 3, 0.4)


@pytest.fixture(scope="module")
def models():
    return {positions: made(positions) for positions in POSITIONS}


@pytest.mark.parametrize("positions", POSITIONS)
def test_is_the_equation(models, positions):
    model = models[positions]
    received = ops.convert_to_numpy(model({"token_ids": TEXT}))
    for row in range(2):
        expected = transformer_oracles.language_model(model, TEXT[row])
        np.testing.assert_allclose(received[row], expected, atol=1e-4)


EVERY_RUN = {("sinusoidal", "ragged", 5), ("sinusoidal", "empty", None), ("learned", "long", None)}
SITUATIONS = [
    pytest.param(*one, marks=() if one in EVERY_RUN else pytest.mark.slow)
    for one in itertools.product(POSITIONS, PROMPTS, (None, 5))
]


@pytest.mark.release(but=4)
@pytest.mark.parametrize(("positions", "prompts", "max_length"), SITUATIONS)
def test_steps_are_the_full_pass(models, positions, prompts, max_length):
    """Behind any prompt, of beams that change their parents: each has the logits of its own history."""
    rows, time = PROMPTS[prompts]
    source = token_ids(rows, time, TARGETS, noise=5)
    following = token_ids(((7, 12), (8, 12), (9, 12)), 12, TARGETS).reshape(3, 3, 4)
    parents = token_ids(((4, 12), (5, 12), (6, 12)), 12, 3).reshape(3, 3, 4)
    check_steps(models[positions], source, lengths(rows), following, parents, max_length)


def test_the_first_token_is_the_prompts_last_or_bos(models):
    prompt = np.array([[5, 6, 7], [8, 9, 1]], "int32")
    for sizes, expected in (([3, 2], [7, 9]), ([0, 1], [BOS, 8])):
        memory = models["sinusoidal"].encode(prompt, np.array(sizes, "int32"))
        first, _ = models["sinusoidal"].start(memory, beams=2)
        np.testing.assert_array_equal(ops.convert_to_numpy(first), np.repeat(np.array(expected)[:, None], 2, axis=1))


@pytest.mark.slow
def test_learned_positions_bound_a_text(models):
    """11 positions: 5 for the prompt, 6 to write. BOS of an uncut prompt is at position 0."""
    model, prompt = models["learned"], token_ids(((1, 9),), 9, TARGETS)
    assert model.longest_prompt == 5 and models["sinusoidal"].longest_prompt is None
    memory = model.encode(prompt, np.array([9], "int32"))
    greedy(model, memory, 6)
    with pytest.raises(
        ValueError, match="max_length=7 is too long: a model of 11 learned positions.*last 5.*at most 6"
    ):
        greedy(model, memory, 7)
    cut = model.encode(prompt[:, 4:], np.array([5], "int32"))
    for one, other in zip(greedy(model, memory, 6), greedy(model, cut, 6), strict=True):
        np.testing.assert_allclose(ops.convert_to_numpy(one), ops.convert_to_numpy(other), atol=1e-5)
    with pytest.raises(ValueError, match="12 positions is too long"):
        model({"token_ids": np.ones((1, 12), "int32")})


def test_a_model_of_one_position_writes_one_token():
    model = LanguageModel(TARGETS, stack("pre_norm", 1), LearnedPositions(1))
    model.build()
    memory = model.encode(TEXT, np.array([7, 3], "int32"))
    np.testing.assert_array_equal(ops.convert_to_numpy(model.start(memory, 1, 1)[0]), [[BOS]] * 2)
    with pytest.raises(ValueError, match="max_length=2 is too long"):
        greedy(model, memory, 2)


def test_settings_are_checked():
    with pytest.raises(ValueError, match="positive integer as vocab_size. Received: None"):
        LanguageModel(None, stack("pre_norm"))
    with pytest.raises(ValueError, match="must not look ahead.*Received: ConvolutionalPositions"):
        LanguageModel(TARGETS, stack("pre_norm"), ConvolutionalPositions(3))
    with pytest.raises(ValueError, match="needs a memory"):
        LanguageModel(TARGETS, stack("pre_norm", cross=True))({"token_ids": TEXT})


def test_padding_changes_nothing_where_attention_sorts():
    """Several chunks of LSH attention: what stands behind the lengths, and how much, does not matter."""
    model = LanguageModel(TARGETS, make_reformer_stack(1, 6, 2, 8, {"num_buckets": 4, "chunk_length": 3}, seed=1))
    text, length = token_ids(((3, 9),), 9, TARGETS), np.array([9], "int32")
    alone = ops.convert_to_numpy(model({"token_ids": text, "lengths": length}))
    for extra in (1, 7):
        padded = np.concatenate([text, token_ids(((5, extra),), extra, TARGETS)], axis=1)
        padded = ops.convert_to_numpy(model({"token_ids": padded, "lengths": length}))
        np.testing.assert_allclose(padded[:, :9], alone, atol=1e-5)
