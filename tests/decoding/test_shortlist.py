"""Search over a shortlist against all sequences that it allows, from the logits of the whole model in NumPy."""

import itertools

import numpy as np
import pytest
from keras import ops

from tests.decoding.table import EOS, assert_same, penalty, rows_of
from tests.weights import randomised
from zoo.decoding import beam_search, greedy
from zoo.decoding.rules import Rules
from zoo.decoding.shortlist import SPECIAL, Shortlisted, allowed, search
from zoo.depth import GeometricExit, make_depth_adaptive_stack, make_stack
from zoo.embeddings import TokenEmbedding
from zoo.models import DepthAdaptiveTransformer, Ensemble, LanguageModel, Seq2Seq, Transformer

SOURCE, TARGET, WIDTH = 11, 13, 2
SIZE = {"units": 8, "num_heads": 2, "hidden_units": 16}
IDS = np.array([[5, 9, 7], [4, 6, 8]], "int32")
LENGTHS = np.array([3, 2], "int32")
TABLE = np.random.default_rng(3).integers(SPECIAL, TARGET, (SOURCE, WIDTH)).astype("int32")


def transformer(seed, target=TARGET):
    stacks = [make_stack(1, **SIZE, cross=cross) for cross in (False, True)]
    return randomised(Transformer(SOURCE, target, *stacks), seed)


MODELS = {
    "seq2seq": lambda: randomised(Seq2Seq(SOURCE, TARGET, units=7, attention="dot"), 4),
    "transformer": lambda: transformer(5),
    "own-output": lambda: transformer(8, TokenEmbedding(TARGET, SIZE["units"], tied=False, output_bias=True)),
    "ensemble": lambda: Ensemble([transformer(6), randomised(Seq2Seq(SOURCE, TARGET, units=7), 7)]),
}


SLOW = ("seq2seq", "own-output", "ensemble")


@pytest.fixture(
    scope="module", params=[pytest.param(each, marks=[pytest.mark.slow] * (each in SLOW)) for each in MODELS]
)
def model(request):
    return MODELS[request.param]()


def may_be_written(row, always=()):
    """The ids that the rule allows for a source, in plain Python."""
    named = {int(each) for source in IDS[row, : LENGTHS[row]] for each in TABLE[source]}
    return sorted(named | set(range(SPECIAL)) | set(always))


def log_probs(model, row, prefix, ids):
    """`log softmax` over `ids` of the whole model's logits after a prefix, the other ids at minus infinity; float64."""
    inputs = {"source_ids": IDS[row : row + 1, : LENGTHS[row]], "source_lengths": LENGTHS[row : row + 1]}
    logits = ops.convert_to_numpy(model(inputs | {"target_ids": np.array([[2, *prefix]], "int32")}))[0, -1]
    barred = np.full(TARGET, -np.inf)
    barred[ids] = logits[ids].astype("float64")
    return barred - barred.max() - np.log(np.exp(barred - barred.max()).sum())


def everything(model, row, ids, longest, alpha):
    """All outputs of ids, those that end before those that are cut off, each by its score."""
    after = {
        prefix: log_probs(model, row, prefix, ids)
        for length in range(longest)
        for prefix in itertools.product([each for each in ids if each != EOS], repeat=length)
    }
    ended, cut = [], []
    for prefix, found in after.items():
        total = sum(after[prefix[:at]][token] for at, token in enumerate(prefix))
        ended.append((prefix, (total + found[EOS]) / penalty(len(prefix) + 1, alpha)))
        if len(prefix) == longest - 1:
            cut += [((*prefix, each), (total + found[each]) / penalty(longest, alpha)) for each in ids if each != EOS]
    return [each for part in (ended, cut) for each in sorted(part, key=lambda item: -item[1])]


def test_what_is_allowed_is_what_the_table_names_within_the_length():
    always = np.zeros(TARGET, "float32")
    always[[*range(SPECIAL), 12]] = 1
    found = ops.convert_to_numpy(allowed(TABLE, always, IDS, LENGTHS))
    assert [np.flatnonzero(row).tolist() for row in found] == [may_be_written(row, [12]) for row in range(2)]
    assert set(np.unique(found)) == {0.0, 1.0}


@pytest.mark.parametrize("alpha", [pytest.param(0.0, marks=pytest.mark.slow), 0.6])
def test_it_finds_the_best_of_all_that_may_be_written(model, alpha):
    """With beams for all prefixes the search is exhaustive; the rows of the batch have other candidates."""
    assert may_be_written(0) != may_be_written(1)
    found = rows_of(search(Shortlisted(model, TABLE), IDS, LENGTHS, 2, beams=100, alpha=alpha))
    for row, received in enumerate(found):
        expected = everything(model, row, may_be_written(row), 2, alpha)
        assert_same(received[: len(expected)], expected)
        assert {score for _, score in received[len(expected) :]} == {np.float32(-1e9)}


def test_greedy_takes_the_likeliest_of_what_may_be_written(model):
    ids, lengths, scores = map(ops.convert_to_numpy, search(Shortlisted(model, TABLE, [12]), IDS, LENGTHS, 3, beams=1))
    for row in range(2):
        prefix, total = (), 0.0
        while len(prefix) < 3:
            found = log_probs(model, row, prefix, may_be_written(row, [12]))
            total += found.max()
            if found.argmax() == EOS:
                break
            prefix += (int(found.argmax()),)
        assert ids[row, 0, : lengths[row, 0]].tolist() == list(prefix)
        np.testing.assert_allclose(scores[row, 0], total, atol=2e-5)


@pytest.mark.slow(but="transformer")
@pytest.mark.parametrize("beams", [1, 3])
def test_where_all_is_allowed_it_is_the_whole_search(model, beams):
    memory = model.encode(IDS, LENGTHS)
    whole = greedy(model, memory, 6) if beams == 1 else beam_search(model, memory, 6, beams)
    everyone = Shortlisted(model, np.full((SOURCE, 1), EOS), np.arange(TARGET))
    for one, other in zip(whole, search(everyone, IDS, LENGTHS, 6, beams), strict=True):
        np.testing.assert_allclose(ops.convert_to_numpy(one), ops.convert_to_numpy(other), atol=1e-5)


def test_neither_padding_nor_other_rows_change_an_answer(model):
    narrow, foreign = Shortlisted(model, TABLE), IDS.copy()
    foreign[1, 2] = 10
    together = rows_of(search(narrow, IDS, LENGTHS, 5, beams=3))
    assert_same(rows_of(search(narrow, foreign, LENGTHS, 5, beams=3))[1], together[1])
    for row in range(2):
        alone = IDS[row : row + 1, : LENGTHS[row]], LENGTHS[row : row + 1]
        assert_same(rows_of(search(narrow, *alone, 5, beams=3))[0], together[row])


def test_a_word_with_a_piece_that_nobody_may_write_bars_nothing():
    """No source of the batch allows the piece that these words begin with, so the words cannot be written."""
    narrow, written = Shortlisted(MODELS["transformer"](), TABLE), {*may_be_written(0), *may_be_written(1)}
    first = min(set(range(TARGET)) - written)
    words = [[first, first, last] for last in written] + [[-1, first, last] for last in written]
    for beams in (1, 3):
        found = search(narrow, IDS, LENGTHS, 5, beams, rules=Rules(bad_words=[words]))
        for one, other in zip(rows_of(found), rows_of(search(narrow, IDS, LENGTHS, 5, beams)), strict=True):
            assert_same(one, other)


@pytest.mark.parametrize(
    ("table", "always", "message"),
    [
        (TABLE[:-1], (), r"a row for each of the 11 source ids: expected the shape \(11, width\), received \(10, 2\)"),
        (TABLE[:, 0], (), r"received \(11,\)"),
        (TABLE + 3, (), r"expected 0 to 12, received \d+ to 1[3-5]"),
        (TABLE, [-1], r"expected 0 to 12, received -1 to"),
    ],
)
def test_a_table_of_another_vocabulary_is_refused(table, always, message):
    with pytest.raises(ValueError, match=message):
        Shortlisted(MODELS["seq2seq"](), table, always)


def test_models_that_cannot_be_narrowed_are_refused():
    with pytest.raises(ValueError, match="LanguageModel cannot search over a shortlist: expected a model that reads"):
        Shortlisted(LanguageModel(SOURCE, make_stack(1, **SIZE)), TABLE)
    decoder = make_depth_adaptive_stack(2, 8, 2, hidden_units=16, exit=GeometricExit(2))
    model = randomised(DepthAdaptiveTransformer(SOURCE, TARGET, make_stack(1, **SIZE), decoder))
    with pytest.raises(ValueError, match="DepthAdaptiveTransformer cannot search over a shortlist"):
        search(Shortlisted(model, TABLE), IDS, LENGTHS, 3)
