"""Beam search with a coverage penalty against one in NumPy, by GNMT's equation 14."""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests.decoding.aligned import oracle_of
from tests.decoding.table import BOS, EOS, Table, assert_same, penalty, rows_of, search
from tests.shared import once_more_on_jax
from tests.weights import randomised
from zoo.core.devices import backend
from zoo.decoding import beam_search, greedy
from zoo.decoding.rules import Rules
from zoo.decoding.sampling import Sample, uniforms
from zoo.decoding.shortlist import Shortlisted, search as shortlisted
from zoo.depth import GeometricExit, UniversalStack, make_depth_adaptive_stack, make_stack
from zoo.models import DepthAdaptiveTransformer, Ensemble, LanguageModel, Seq2Seq, Transformer

TIME, LONGEST, VOCABULARY = 5, 5, 7
LENGTHS = np.array([5, 3, 1, 4], "int32")
SOURCES = np.random.default_rng(0).integers(4, 11, (4, TIME)).astype("int32")
BETAS = (0.2, 1.0, 5.0, 0.0)  # of each row


class AlignedTable(Table):
    """A table whose attention depends on the whole prefix, too: `memory["weights"] (batch, prefixes, source time)`."""

    def aligned(self, batch, seed, scale=2.0):
        rng = np.random.default_rng(seed)
        inside = np.arange(TIME) < LENGTHS[:, None]
        weights = rng.dirichlet(np.full(TIME, 0.3), (batch, self.prefixes)) * inside[:, None]
        return {
            **self.random(batch, seed, scale),
            "weights": (weights / weights.sum(2, keepdims=True)).astype("float32"),
            "mask": inside,
        }

    def source_mask(self, memory):
        return ops.convert_to_tensor(memory["mask"])

    def aligned_step(self, token_ids, state, memory):
        logits, state = self.step(token_ids, state, memory)
        return logits, state, ops.take_along_axis(memory["weights"], state["prefix"][:, :, None], axis=1)


TABLE = AlignedTable(VOCABULARY, LONGEST)


def equation_14(attention, length, beta):
    """`beta * sum_i log(min(sum_j p_ij, 1))` over the `length` words of a source; `attention(j)` is `p_j`."""
    return lambda tokens: (
        beta
        * sum(
            np.log(min(1.0, max(1e-30, sum(float(attention(tokens[:j])[i]) for j in range(len(tokens))))))
            for i in range(length)
        )
    )


@pytest.mark.slow(but="0.6-3")
@pytest.mark.parametrize("beams", [1, 2, 3, 7])
@pytest.mark.parametrize("alpha", [0.0, 0.6])
def test_it_is_the_search_in_numpy(beams, alpha):
    rules, differ = Rules(coverage_penalty=np.array(BETAS, "float32")), 0
    for seed in range(3):
        memory = TABLE.aligned(4, seed, scale=1.0)
        found = rows_of(beam_search(TABLE, memory, LONGEST, beams, alpha, rules=rules))
        for row, received in enumerate(found):
            logits, attention = memory["logits"][row], memory["weights"][row]
            added = equation_14(lambda prefix, a=attention: a[TABLE.number(prefix)], LENGTHS[row], BETAS[row])
            expected = search(TABLE, logits, LONGEST, beams, alpha, added=added)
            assert_same([each for each in received if each[1] > -1e9], expected)
            plain = search(TABLE, logits, LONGEST, beams, alpha)
            differ += [tokens for tokens, _ in expected] != [tokens for tokens, _ in plain]
    assert differ > 1 or beams == 1


def test_it_is_the_best_of_all_sequences_where_the_beam_holds_them():
    """By the equation alone, without a search: all outputs of up to three tokens of a vocabulary of five."""
    table = AlignedTable(5, 3)
    memory = table.aligned(4, 3)
    found = rows_of(beam_search(table, memory, 3, 64, 0.6, rules=Rules(coverage_penalty=0.7)))
    words, ended = [token for token in range(5) if token != EOS], [()]
    for _ in range(2):
        ended += [(*tokens, token) for tokens in ended for token in words if (*tokens, token) not in ended]
    for row, received in enumerate(found):
        logits, attention = memory["logits"][row], memory["weights"][row]
        added = equation_14(lambda prefix, a=attention: a[table.number(prefix)], LENGTHS[row], 0.7)
        scores = {}
        for tokens in ended:
            whole = (*tokens, EOS)
            gained = sum(table.log_probs(logits, whole[:j])[token] for j, token in enumerate(whole))
            scores[tokens] = gained / penalty(len(whole), 0.6) + added(whole)
        expected = sorted(scores.items(), key=lambda item: -item[1])
        assert_same(received[: len(expected)], expected)


class Behind:
    """What `search` asks a table: `log_probs(source, prefix)`, and the attention behind a prefix."""

    vocabulary = VOCABULARY

    def __init__(self, model):
        self.oracle, self.known = oracle_of(model), {}

    def look(self, source, tokens):
        key = tuple(source), tokens
        if key not in self.known:
            self.known[key] = [part[-1] for part in self.oracle.run(source, np.array([BOS, *tokens]))]
        return self.known[key]

    def log_probs(self, source, tokens):
        logits, _ = self.look(source, tokens)
        return logits - np.log(np.exp(logits).sum())


def made(name):
    if name in ("additive", "dot", None):
        model = Seq2Seq(11, VOCABULARY, units=6, attention=name)
    elif name == "ensemble":
        model = Ensemble([made("dot"), made("pre_norm")])
    else:
        sizes = {"num_layers": 2, "units": 6, "num_heads": 2, "hidden_units": 8, "block": name}
        model = Transformer(11, VOCABULARY, *(make_stack(**sizes, cross=cross) for cross in (False, True)))
    return randomised(model, 5, 0.7)


@pytest.fixture(scope="module")
def models():
    return {name: made(name) for name in ("additive", "dot", "pre_norm", "post_norm", "ensemble")}


def found_and_expected(model, beams, search_, alpha=0.6):
    """For each source, what `search_(rules)` finds, and what a search in NumPy does."""
    behind = Behind(model)
    found = rows_of(search_(Rules(coverage_penalty=np.array(BETAS, "float32"))))
    for row, received in enumerate(found):
        source = SOURCES[row, : LENGTHS[row]]
        added = equation_14(lambda prefix, own=source: behind.look(own, prefix)[1], LENGTHS[row], BETAS[row])
        yield received, search(behind, source, LONGEST, beams, alpha, added=added)


@pytest.mark.slow(but=("additive-2", "pre_norm-2"))
@pytest.mark.parametrize("beams", [2, 4])
@pytest.mark.parametrize("name", ["additive", "dot", "pre_norm", "post_norm", "ensemble"])
def test_models_search_as_their_equations_do(models, name, beams):
    model, growing = models[name], beams == 4 and backend() == "tensorflow"

    def run(rules):
        return beam_search(model, model.encode(SOURCES, LENGTHS), LONGEST, beams, growing=growing, rules=rules)

    for received, expected in found_and_expected(model, beams, run):
        assert_same(received, expected)


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("name", ["dot", "pre_norm", "ensemble"])
def test_over_a_shortlist_of_all_ids_it_is_the_same(models, name):
    narrowed = Shortlisted(models[name], np.zeros((11, 1), "int32"), range(VOCABULARY))

    def run(rules):
        return shortlisted(narrowed, SOURCES, LENGTHS, LONGEST, 3, rules=rules)

    for received, expected in found_and_expected(models[name], 3, run):
        assert_same(received, expected)


@pytest.mark.slow
def test_numbers_are_for_all_rows_and_xla_takes_them():
    memory = TABLE.aligned(4, 1)

    def run(beta):
        return beam_search(TABLE, memory, LONGEST, 3, rules=Rules(coverage_penalty=beta))

    each = run(np.full(4, 0.4, "float32"))
    for found in (run(0.4), tf.function(lambda: run(0.4), jit_compile=True, autograph=False)()):
        for one, other in zip(rows_of(found), rows_of(each), strict=True):
            assert_same(one, other)


@pytest.mark.slow(but="pre_norm")
@pytest.mark.parametrize("name", ["additive", "dot", "pre_norm", "post_norm", "ensemble"])
def test_padding_changes_nothing(models, name):
    rules, longer = Rules(coverage_penalty=0.5), np.pad(SOURCES, ((0, 0), (0, 3)), constant_values=7)
    model = models[name]
    found = [
        rows_of(beam_search(model, model.encode(ids, LENGTHS), LONGEST, 3, rules=rules)) for ids in (SOURCES, longer)
    ]
    for one, other in zip(*found, strict=True):
        assert_same(one, other)


def test_off_it_asks_for_no_attention():
    """And where it is off in a graph that has it, no score changes."""
    memory = TABLE.aligned(4, 1)
    plain = Table(VOCABULARY, LONGEST)
    off = beam_search(plain, memory, LONGEST, 3, rules=Rules(coverage_penalty=0.0))
    zeros = beam_search(TABLE, memory, LONGEST, 3, rules=Rules(coverage_penalty=np.zeros(4, "float32")))
    for one, other, another in zip(beam_search(plain, memory, LONGEST, 3), off, zeros, strict=True):
        np.testing.assert_array_equal(one, other)
        np.testing.assert_array_equal(one, another)


SIZES = {"num_layers": 2, "units": 8, "num_heads": 2, "hidden_units": 16}


def universal():
    block = make_stack(**{**SIZES, "num_layers": 1}, cross=True).blocks[0]
    return Transformer(11, VOCABULARY, make_stack(**SIZES), UniversalStack(block, 2))


def depth_adaptive():
    stack = make_depth_adaptive_stack(2, 8, 2, hidden_units=16, exit=GeometricExit(2))
    return DepthAdaptiveTransformer(11, VOCABULARY, make_stack(**SIZES), stack)


UNALIGNED = {
    "Seq2Seq with attention=None": lambda: made(None),
    "the UniversalStack of this model": universal,
    "the DepthAdaptiveStack of this model": depth_adaptive,
    "LanguageModel has no coverage penalty": lambda: LanguageModel(11, make_stack(**SIZES)),
    "attention=None looks": lambda: Ensemble([made("dot"), made(None)]),
}


@pytest.mark.slow(but=2)
@pytest.mark.parametrize("said", UNALIGNED)
def test_a_model_that_tells_no_attention_is_refused(said):
    model = randomised(UNALIGNED[said]())
    memory = model.encode(SOURCES, LENGTHS)
    with pytest.raises(ValueError, match=f"{said}.*Leave coverage_penalty out"):
        beam_search(model, memory, 3, 2, rules=Rules(coverage_penalty=0.2))
    beam_search(model, memory, 3, 2, rules=Rules(coverage_penalty=0.0))


def test_what_has_no_meaning_is_refused():
    memory = TABLE.aligned(4, 1)
    with pytest.raises(ValueError, match=r"coverage_penalty must be a number >= 0\. Received: -0\.2"):
        Rules(coverage_penalty=-0.2)
    with pytest.raises(ValueError, match="greedy decoding and sampling rank none"):
        greedy(TABLE, memory, 3, rules=Rules(coverage_penalty=0.2))
    with pytest.raises(ValueError, match="greedy decoding and sampling rank none"):
        Sample(uniforms(1, 4, 2, 3), 1.0, 0, 1.0, Rules(coverage_penalty=0.2))


@pytest.mark.release
def test_on_jax():
    once_more_on_jax(__file__, leave_out="xla or shortlist")
