"""Sums and counts along the time are right in 16 bits, too: what is alike everywhere has the mean of one of it."""

import keras
import numpy as np
import pytest
from keras import ops

from zoo.attention import AdditiveAttention, DotProductAttention, MultiLinearAttention
from zoo.attention.alignment import additive_scores
from zoo.core.masks import masked_mean
from zoo.depth import MultinomialExit, SequenceExit, make_star_stack
from zoo.embeddings import NoPositions, SentenceEmbedding, SpelledEmbedding
from zoo.gradients.rows import mixed_rows
from zoo.models import Classifier
from zoo.training import SmoothedCrossEntropy
from zoo.training.losses import token_sums

POLICIES = ("mixed_float16", "mixed_bfloat16")
LONG = (3_001, 70_000)


@pytest.fixture(params=POLICIES)
def policy(request):
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(request.param)
    yield request.param.removeprefix("mixed_")
    keras.config.set_dtype_policy(before)


def number(x):
    """Of a tensor of equal numbers."""
    found = np.unique(ops.convert_to_numpy(ops.cast(x, "float32")))
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("time", LONG)
def test_a_mean_of_ones_is_1(policy, time, masked):
    x = ops.ones((2, time, 3), policy)
    mean = masked_mean(x, np.ones((2, time), bool) if masked else None)
    assert keras.backend.standardize_dtype(mean.dtype) == policy and number(mean) == 1.0


@pytest.mark.parametrize("time", LONG)
def test_a_star_begins_with_the_mean(policy, time, monkeypatch):
    """Its blocks out of the way, a summary is the mean and the maximum of the positions."""
    stack = make_star_stack(1, 4, 1)
    stack.build((None, None, 4))
    monkeypatch.setattr(type(stack.blocks[0]), "call", lambda self, states, x, relay, mask=None, **_: (states, relay))
    x, mask = ops.ones((1, time, 4), policy), np.ones((1, time), bool)
    assert number(stack(x, summary=True)) == number(stack(x, mask=mask, summary=True)) == 2.0


def near(one, other, policy):
    tolerance = 4e-3 if policy == "float16" else 3e-2
    np.testing.assert_allclose(*(ops.convert_to_numpy(ops.cast(each, "float32")) for each in (one, other)), tolerance)


class AsItIs(keras.layers.Layer):
    """An encoder that changes nothing."""

    units, built, supports_masking = 4, True, True

    def call(self, x, mask=None, training=None):
        return x


def test_a_text_of_one_word_has_the_summary_of_that_word(policy):
    """Without positions or attention, 3,001 times the same is the same."""
    model = Classifier(5, 3, AsItIs(), NoPositions())
    texts = {"token_ids": np.full((2, 3_001), 2, "int32"), "lengths": np.array([3_001, 1], "int32")}
    many, one = ops.convert_to_numpy(ops.cast(model.summarise(texts), "float32"))
    np.testing.assert_array_equal(many, one)


@pytest.mark.parametrize("make", [AdditiveAttention, DotProductAttention])
def test_attention_to_3001_equals_is_attention_to_one(policy, make):
    layer, x = make(4), np.random.default_rng(0).normal(size=(1, 1, 4))
    many = ops.cast(np.repeat(x, 3_001, axis=1), policy)
    near(layer(many[:, :1], many), layer(many[:, :1], many[:, :1]), policy)


def test_scores_of_a_wide_scorer(policy):
    ones = ops.ones((1, 1, 3_001), policy)
    score = number(additive_scores(ones * 0, ones * 20, ops.ones((3_001,), policy)))
    assert score == 3_001


@pytest.mark.parametrize("causal", [False, True])
def test_multi_linear_attention_sums_its_keys(policy, causal):
    """Every key and value is 1 / 1,000: the last position sees `sum_j k_j` of 3.001, as it would in float32."""
    layer = MultiLinearAttention(2, 2, max_time=3_001, mode="reconstruct")
    x = ops.ones((1, 3_001, 2), policy)
    layer(x[:, :2])
    for name, value in (("query", 0.5), ("key", 5e-4), ("value", 5e-4)):
        getattr(layer, f"{name}_projection").kernel.assign(np.full((2, 2), value))
    layer.output_weights.assign(np.ones(layer.output_weights.shape))
    last = number(layer(x, causal=causal)[:, -1])
    key = float(ops.cast(ops.cast(5e-4, policy), "float32")) * 2
    np.testing.assert_allclose(last, 3_001 * key * 3_001 * key, rtol=0.02)


def test_a_rule_over_long_sequences(policy):
    rule, x = SequenceExit(3), np.random.default_rng(0).normal(size=(1, 1, 4))
    many = ops.cast(np.repeat(x, 3_001, axis=1), policy)
    near(rule.log_chances([], many), rule.log_chances([], many[:, :1]), policy)
    near(rule.log_chances([], many, np.ones((1, 3_001), bool)), rule.log_chances([], many[:, :1]), policy)
    per_token = MultinomialExit(3)(many)
    assert keras.backend.standardize_dtype(per_token.dtype) == "float32"


def test_long_sentences_and_long_words(policy):
    """One sentence or word of 3,001 equal pieces: the sum of their vectors, or their mean times a root."""
    ids = np.ones((1, 3_001), "int32")
    sentences = SentenceEmbedding(3, 4, longest=1, shortest=3_001)
    received, _ = sentences(ids, mask=np.ones((1, 3_001), bool))
    vector = np.asarray(sentences.matrix)[1] * np.asarray(sentences.masks)[0]
    np.testing.assert_allclose(np.asarray(ops.cast(received, "float32"))[0, 0], 3_001 * 2 * vector, rtol=0.03)
    spelled = SpelledEmbedding(3, 4, features=1, buckets=2)
    spelled.set_features(np.zeros((3, 1), "int32"), np.array([1, 0, 0]))
    vector = np.asarray(spelled.matrix)[1] + np.asarray(spelled.spelling)[0]
    received = np.asarray(ops.cast(spelled(ids), "float32"))[0, 0]
    np.testing.assert_allclose(received, vector * (4 * 3_001) ** 0.5, rtol=0.03, atol=0.1)


def test_slots_losses_and_metrics(policy):
    slots = keras.Variable(np.ones((3_001, 2)), dtype=policy)
    rows = mixed_rows(slots, np.arange(3_001)[None], ops.ones((1, 3_001), policy))
    assert abs(number(rows) - 3_001) <= 8
    labels, logits = np.zeros((1, 3_001), "int32"), ops.zeros((1, 3_001, 5), policy)
    weights = ops.ones((1, 3_001), policy)
    np.testing.assert_allclose(float(SmoothedCrossEntropy(0.1)(labels, logits, weights)), np.log(5), rtol=1e-5)
    np.testing.assert_allclose(token_sums(labels, logits, weights), [3_001 * np.log(5), 3_001, 3_001], rtol=1e-5)
