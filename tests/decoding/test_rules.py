"""Rules of a search against their definitions, in plain Python, on rows of one batch that have rules of their own."""

import math

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests.decoding.table import EOS, Table, assert_same, rows_of, search
from zoo.decoding import beam_search, greedy
from zoo.decoding.rules import Rules
from zoo.decoding.sampling import Sample, decode, uniforms

TABLE = Table(vocabulary=6, max_length=6)
LONGEST = 6
SOURCES = np.array([1, 3, 4, 2], "int32")
PROMPTS = np.array([[4, 5, 4, 0], [1, 0, 0, 0], [0, 0, 0, 0], [4, 4, 5, 1]], "int32")
PROMPT_LENGTHS = np.array([3, 1, 0, 4], "int32")
EACH = {
    "no_repeat_ngram_size": (1, 2, 3, 0),
    "repetition_penalty": (1.7, 1.0, 3.0, 0.6),
    "min_length": (3, 0, 5, 1),
    "max_length": (2, 0, 4, 1),
    "length_ratio": (1.5, 0.5, 0.0, 1.0),
    "forced_tokens": ((4, -1), (5, 5), (-1, -1), (-1, EOS)),
    "bad_words": (((-1, 4), (-1, 5)), ((4, 4), (5, 4)), ((-1, -1), (5, 5)), ((-1, 1), (0, 0))),
}
ALONE = [{name: values} for name, values in EACH.items()]
TOGETHER = [
    {**EACH, "length_extra": (1, 2, 0, 1)},
    {name: EACH[name] for name in ("no_repeat_ngram_size", "repetition_penalty", "min_length")},
    {"length_ratio": EACH["length_ratio"], "length_extra": (2, 1, 7, 0), "min_length": EACH["min_length"]},
]


def oracle(rules, row, before=()):
    """`changed(tokens, scores)` of the rules of one row, from their definitions."""
    own = {name: values[row] for name, values in rules.items()}
    n, penalty = own.get("no_repeat_ngram_size", 0), own.get("repetition_penalty", 1.0)
    least, most = own.get("min_length", 0), own.get("max_length", 0) or math.inf
    if own.get("length_ratio"):
        most = min(most, math.floor(own["length_ratio"] * SOURCES[row] + own.get("length_extra", 0)))
    most = max(most, least, 1)

    def changed(tokens, scores):
        whole, found = (*before, *tokens), list(scores)
        for token in set(whole):
            found[token] = found[token] * penalty if found[token] < 0 else found[token] / penalty
        ngrams = {whole[start : start + n] for start in range(len(whole) - n + 1)} if n else ()
        words = [[piece for piece in word if piece >= 0] for word in own.get("bad_words", ())]
        for token in range(len(found)):
            grown = (*whole, token)
            again = n and grown[len(grown) - n :] in ngrams and len(grown) >= n
            bad = any(word and list(grown[-len(word) :]) == word for word in words)
            if again or bad or token == EOS and len(tokens) < least or token != EOS and len(tokens) >= most:
                found[token] = -math.inf
        forced = dict(enumerate(own.get("forced_tokens", ()))).get(len(tokens), -1)
        if len(tokens) >= most:
            forced = EOS if forced < 0 else forced
        if forced >= 0:
            found = [scores[token] if token == forced else -math.inf for token in range(len(found))]
        return found

    return changed


def made(rules, before=False, **more):
    prompts = (ops.convert_to_tensor(PROMPTS), ops.convert_to_tensor(PROMPT_LENGTHS)) if before else None
    values = {
        name: np.array(values, "float32" if isinstance(values[0], float) else "int32") for name, values in rules.items()
    }
    return Rules(ops.convert_to_tensor(SOURCES), prompts, **values, **more)


@pytest.mark.slow(but="3-")
@pytest.mark.parametrize("before", [False, True], ids=["source", "prompt"])
@pytest.mark.parametrize("rules", [*ALONE, *TOGETHER], ids=lambda rules: "+".join(rules))
@pytest.mark.parametrize("beams", [1, 3])
def test_beam_search_is_that_in_plain_python(rules, before, beams):
    memory = TABLE.random(batch=4, seed=len(rules) + beams, scale=1.0)
    found = rows_of(beam_search(TABLE, memory, LONGEST, beams, 0.6, rules=made(rules, before)))
    for row, received in enumerate(found):
        prompt = tuple(PROMPTS[row, : PROMPT_LENGTHS[row]]) if before else ()
        expected = search(TABLE, memory["logits"][row], LONGEST, beams, 0.6, oracle(rules, row, prompt))
        assert_same([each for each in received if each[1] > -1e9], expected)


@pytest.mark.parametrize("rules", [*ALONE, *TOGETHER], ids=lambda rules: "+".join(rules))
def test_greedy_takes_the_best_of_the_changed_logits(rules):
    memory = TABLE.random(batch=4, seed=3, scale=1.0)
    found = rows_of(greedy(TABLE, memory, LONGEST, rules=made(rules)))
    for row, ((tokens, score),) in enumerate(found):
        changed, written, total = oracle(rules, row), (), 0.0
        while len(written) < LONGEST and EOS not in written:
            logits = np.array(changed(written, memory["logits"][row][TABLE.number(written)].astype("float64")))
            total += logits.max() - np.log(np.exp(logits - logits.max()).sum()) - logits.max()
            written = (*written, int(logits.argmax()))
        assert tokens == tuple(token for token in written if token != EOS)
        np.testing.assert_allclose(score, total, atol=2e-5)


def test_samples_keep_to_the_rules():
    memory = TABLE.random(batch=4, seed=1, scale=0.5)
    rules = made({"no_repeat_ngram_size": (2, 1, 2, 1), "min_length": (2, 2, 2, 2)})
    strategy = Sample(uniforms(1, 4, 50, LONGEST), 1.0, 0, 1.0, rules)
    for row, received in enumerate(rows_of(decode(TABLE, memory, strategy, 50, LONGEST))):
        n = (2, 1, 2, 1)[row]
        for tokens, _ in received:
            ngrams = [tokens[start : start + n] for start in range(len(tokens) - n + 1)]
            assert len(set(ngrams)) == len(ngrams) and len(tokens) >= 2
        assert len({tokens for tokens, _ in received}) > 5


@pytest.mark.slow
def test_numbers_are_for_all_rows_and_xla_takes_them():
    rules = {"no_repeat_ngram_size": 2, "repetition_penalty": 1.5, "min_length": 2, "length_ratio": 1.0}
    memory = TABLE.random(batch=4, seed=9)
    each = beam_search(TABLE, memory, LONGEST, 3, rules=made({name: 4 * (value,) for name, value in rules.items()}))
    same = Rules(ops.convert_to_tensor(SOURCES), **rules)
    compiled = tf.function(
        lambda memory: beam_search(TABLE, memory, LONGEST, 3, rules=same), jit_compile=True, autograph=False
    )
    for found in (beam_search(TABLE, memory, LONGEST, 3, rules=same), compiled(memory)):
        for one, other in zip(rows_of(found), rows_of(each), strict=True):
            assert_same(one, other)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize(
    "search_", [greedy, lambda *given, rules: beam_search(*given, 3, rules=rules)], ids=["greedy", "beam"]
)
def test_off_is_the_search_itself_to_the_last_bit(search_):
    """Also where the graph could have applied them: values that are off, and a condition."""
    memory = TABLE.random(batch=4, seed=5)
    plain = tf.function(lambda: search_(TABLE, memory, LONGEST, rules=None), autograph=False)()

    @tf.function(autograph=False)
    def graph(n, penalty):
        rules = Rules(
            conditional=True, no_repeat_ngram_size=n, repetition_penalty=penalty, max_length=[0], forced_tokens=[[-1]]
        )
        return search_(TABLE, memory, LONGEST, rules=rules)

    for one, other in zip(graph(tf.constant([0]), tf.constant([1.0])), plain, strict=True):
        np.testing.assert_array_equal(one, other)
    on = graph(tf.constant([1]), tf.constant([1.0]))
    expected = search_(TABLE, memory, LONGEST, rules=Rules(no_repeat_ngram_size=1))
    for one, other in zip(on, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    assert any(np.any(np.asarray(one) != np.asarray(other)) for one, other in zip(on, plain, strict=True))


def test_a_wrong_rule_is_named():
    with pytest.raises(ValueError, match="no rule best_of: expected some of no_repeat_ngram_size"):
        Rules(best_of=3)
    with pytest.raises(ValueError, match=r"between 0 and 16\. Received: 17"):
        Rules(no_repeat_ngram_size=17)
    with pytest.raises(ValueError, match=r"a number > 0\. Received: 0"):
        Rules(repetition_penalty=0)
    with pytest.raises(ValueError, match=r"forced_tokens must be \(batch or 1, places\)\. Received the shape \(2,\)"):
        Rules(forced_tokens=[4, 5])
    with pytest.raises(
        ValueError, match=r"bad_words must be \(batch or 1, words, pieces\)\. Received the shape \(1, 2"
    ):
        Rules(bad_words=[[4, 5]])
    with pytest.raises(ValueError, match="length_ratio needs the lengths of the sources"):
        Rules(length_ratio=1.5)
