"""The fixed rules of a model against their definitions, in plain Python, alone and beside rules that are given."""

import math

import numpy as np
import pytest
import tensorflow as tf

from tests.decoding.table import EOS, Table, assert_same, rows_of, search
from zoo.core.searching import Fixed
from zoo.decoding import beam_search, greedy
from zoo.decoding.rules import Rules
from zoo.decoding.sampling import Sample, decode, uniforms

TABLE, LONGEST, ROWS = Table(vocabulary=6, max_length=6), 6, 30
FIXED = {
    "forced": Fixed(forced_tokens=(5, 4)),
    "barred": Fixed(barred_tokens=(0, 2)),
    "words": Fixed(bad_words=((4,), (5, 1), (1, 1, EOS))),
    "renormalized": Fixed(bad_words=((4,), (5, 1)), renormalize=True),
    "all": Fixed((5,), (0, 2), ((4, 4), (1,)), renormalize=True),
}
GIVEN = [{"no_repeat_ngram_size": 1}, {"repetition_penalty": 2.0, "min_length": 3}, {"forced_tokens": ((4,),)}]


def normalized(scores):
    top = max(scores)
    return [score - top - math.log(sum(math.exp(each - top) for each in scores)) for score in scores]


def barred(fixed, scores):
    return [-math.inf if token in fixed.barred_tokens else score for token, score in enumerate(scores)]


def changed(fixed, given, tokens, scores):
    """What is left of scores behind `tokens`: log-probabilities of a beam search, or logits."""
    scores, places = list(scores), len(fixed.forced_tokens)
    penalty = given.get("repetition_penalty", 1.0)
    found = [(s * penalty if s < 0 else s / penalty) if token in tokens else s for token, s in enumerate(scores)]
    for token in range(len(found)):
        if token in tokens and given.get("no_repeat_ngram_size"):
            found[token] = -math.inf
    if len(tokens) < given.get("min_length", 0):
        found[EOS] = -math.inf
    if "forced_tokens" in given and len(tokens) == places:
        found = [scores[token] if token == given["forced_tokens"][0][0] else -math.inf for token in range(len(found))]
    for *before, last in fixed.bad_words:
        if list(tokens[len(tokens) - len(before) :]) == before:
            found[last] = -math.inf
    if len(tokens) < places:
        found = [0.0 if token == fixed.forced_tokens[len(tokens)] else -math.inf for token in range(len(found))]
    return normalized(found) if fixed.renormalize else found


def ruled(fixed, given, **more):
    values = {name: np.array(value, "int32") if name == "forced_tokens" else value for name, value in given.items()}
    return Rules(fixed=fixed, **values, **more)


CASES = [(name, {}) for name in FIXED if name != "all"] + [
    pytest.param("all", {}, marks=pytest.mark.slow),  # in a graph
    ("words", GIVEN[0]),
    ("renormalized", GIVEN[1]),
    ("renormalized", GIVEN[2]),
    ("all", GIVEN[2]),
]


@pytest.mark.slow(but=4)
@pytest.mark.parametrize(("name", "given"), CASES, ids=lambda each: each if isinstance(each, str) else "+".join(each))
def test_beam_search_is_that_in_plain_python(name, given):
    """In a graph, too, that spends nothing on rules that are off, while the fixed ones hold."""
    fixed, memory = FIXED[name], TABLE.random(ROWS, seed=5, scale=1.0)
    rules = ruled(fixed, given, conditional=True)

    def run():
        return beam_search(TABLE, memory, LONGEST, 3, 0.6, rules=rules)

    found = tf.function(run, autograph=False)() if name == "all" and not given else run()
    for row, received in zip(memory["logits"], rows_of(found), strict=True):

        def left(tokens, gains):
            return changed(fixed, given, tokens, normalized(barred(fixed, gains)))

        expected = search(TABLE, row, LONGEST, 3, 0.6, left)
        assert_same([each for each in received if each[1] > -1e9], expected)


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("name", FIXED)
def test_greedy_takes_the_best_of_what_is_left(name):
    fixed, memory = FIXED[name], TABLE.random(ROWS, seed=6, scale=1.0)
    found = rows_of(greedy(TABLE, memory, LONGEST, rules=ruled(fixed, {})))
    for row, ((tokens, score),) in zip(memory["logits"], found, strict=True):
        written, total = (), 0.0
        while len(written) < LONGEST and EOS not in written:
            logits = barred(fixed, row[TABLE.number(written)].astype("float64"))
            left = normalized(changed(fixed, {}, written, logits))
            total += max(left)
            written = (*written, int(np.argmax(left)))
        assert tokens == tuple(token for token in written if token != EOS)
        np.testing.assert_allclose(score, total, atol=2e-5)


def test_samples_keep_to_them():
    memory = TABLE.random(batch=4, seed=1, scale=0.5)
    strategy = Sample(uniforms(1, 4, 50, LONGEST), 1.0, 0, 1.0, ruled(FIXED["all"], {"min_length": 2}))
    samples = {tokens for row in rows_of(decode(TABLE, memory, strategy, 50, LONGEST)) for tokens, _ in row}
    assert len(samples) > 20
    for tokens in samples:
        assert tokens[0] == 5 and not {0, 1, 2} & {*tokens} and (4, 4) not in zip(tokens, tokens[1:], strict=False)


@pytest.mark.slow
def test_xla_takes_them():
    memory = TABLE.random(batch=4, seed=9)
    rules = ruled(FIXED["all"], {"repetition_penalty": 1.5})
    found = tf.function(
        lambda: beam_search(TABLE, memory, LONGEST, 3, rules=rules), jit_compile=True, autograph=False
    )()
    for one, other in zip(rows_of(found), rows_of(beam_search(TABLE, memory, LONGEST, 3, rules=rules)), strict=True):
        assert_same(one, other)


def test_a_token_is_forced_or_barred():
    with pytest.raises(ValueError, match=r"no id in common; both have \[4\]"):
        Fixed(forced_tokens=(4, 5), barred_tokens=(0, 4))


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("fixed", [Fixed(), Fixed(bad_words=((4,), (7,))), FIXED["words"], FIXED["all"]], ids=str)
def test_the_best_tokens_of_a_step_are_those_of_the_changed_scores(fixed):
    """In a graph with conditions: where no rule is asked for, where one is, and where it changes something."""
    rng = np.random.default_rng(3)
    scores = np.log(rng.dirichlet(np.ones(9), (4, 3))).astype("float32")
    tokens = rng.integers(4, 6, (4, 3, 5)).astype("int32")

    @tf.function(autograph=False)
    def graph(n, longest):
        rules = Rules(conditional=True, fixed=fixed, no_repeat_ngram_size=n, max_length=longest)
        step = tf.constant(2), scores, tokens
        both = rules.best(*step, 4), rules.best(*step, 4, free_end=True)
        return rules(*step), rules.only_at, both

    for n, longest in ((0, 0), (2, 0), (4, 0), (0, 9), (1, 2)):
        added, only_at, results = graph(tf.constant([n]), tf.constant([longest]))
        kept = scores + added.numpy()
        free = np.where(only_at.numpy() <= 2, np.where(np.arange(9) == EOS, 0.0, -1e30), kept)
        for expected, (values, ids) in zip((kept, free), results, strict=True):
            real = np.sort(expected)[..., ::-1][..., :4]
            np.testing.assert_allclose(-np.sort(-values.numpy())[..., :4], real, rtol=1e-6)
            np.testing.assert_allclose(np.take_along_axis(expected, ids.numpy(), 2), values, rtol=1e-6)
