"""The loop all decoding shares: on any way of running it, and over a real model."""

import numpy as np
import pytest
import tensorflow as tf
from keras import ops, tree

from tests.decoding.table import BOS, EOS, Table, penalty, rows_of
from tests.models.cases import CASES, SOURCES
from tests.shared import mostly_at_releases
from zoo.check import elsewhere, laws
from zoo.check.laws import assert_close, lengths, numpy_leaves, token_ids
from zoo.core.tensors import gather_beams
from zoo.decoding import beam_search, greedy, sample, uniforms
from zoo.decoding.loop import LEAVING
from zoo.decoding.rules import Rules

TABLE = Table(vocabulary=5, max_length=5)
DRAWS = uniforms(4, 1, 2, 5)


def draw(model, memory, growing=False):
    """Two samples; every row has the same numbers, so that it may stand anywhere."""
    batch = ops.shape(tree.flatten(memory)[0])[0]
    draws = ops.broadcast_to(DRAWS, (batch, 2, 5))
    return sample(model, memory, 5, draws, temperature=1.5, top_k=4, top_p=0.95, growing=growing)


SEARCHES = {
    "greedy": lambda model, memory, growing=False: greedy(model, memory, 5, growing),
    "beam": lambda model, memory, growing=False: beam_search(model, memory, 5, beams=3, growing=growing),
    "sample": draw,
}
ROWS = ((1, 7), (2, 3), (3, 0))
FIRST, SECOND = "seq2seq-gru-1-additive", "seq2seq-gru_reset_before-1-None"
NAMES = [
    "transformer-pre_norm",
    SECOND,
    "seq2seq-lstm-2-additive",
    "transformer-macaron",
    "language-model-sinusoidal",
    "language-model-learned",
]
MODELS = [FIRST, NAMES[0], *mostly_at_releases([pytest.param(name, marks=pytest.mark.slow) for name in NAMES[1:]], 2)]


@pytest.fixture(scope="module", params=MODELS)
def built(request):
    (case,) = [case for case in CASES if case.name == request.param]
    made = laws.build(case)
    favour_the_end(made.layer)
    return made


def favour_the_end(model):
    """So that outputs are of several lengths: a bias, or what stands for it where there is none."""
    if hasattr(model, "bias"):
        model.bias.assign(np.where(np.arange(13) == EOS, 2.5, 0.0))
        return
    embedding = getattr(model, "target_embedding", None) or model.embedding
    norm = model.decoder.final_norm or model.decoder.blocks[-1].norms[-1]
    along = ops.convert_to_numpy(norm.beta)
    matrix = ops.convert_to_numpy(embedding.matrix).copy()
    matrix[EOS] += 2.5 * along / np.sum(along**2)
    embedding.matrix.assign(matrix)


def log_probs(model, source, whole):
    """`log p(whole_t | whole_<t, source)` of each `t`, by the model's call."""
    written = np.array([(BOS, *whole[:-1])], "int32")
    if hasattr(model, "longest_prompt"):
        prompt = source[-model.longest_prompt :] if model.longest_prompt else source
        logits = model({"token_ids": np.concatenate([[[BOS]], prompt[None], written[:, 1:]], axis=1).astype("int32")})
    else:
        padded = np.pad(source, (0, 1))[None]  # a recurrent encoder wants a position, though it be padding
        inputs = {"source_ids": padded, "source_lengths": np.array([len(source)], "int32")}
        logits = model({**inputs, "target_ids": written})
    logits = ops.convert_to_numpy(ops.log_softmax(logits, axis=-1))[0, -len(whole) :]
    return logits[np.arange(len(whole)), list(whole)]


class Resting(Table):
    """A table that says nonsense to rows of which it was told that they are done."""

    def start(self, memory, beams, max_length=None):
        token_ids, state = super().start(memory, beams, max_length)
        return token_ids, {**state, "running": ops.ones_like(token_ids, dtype="bool")}

    def step(self, token_ids, state, memory):
        running = state["running"]
        self.rested = ops.convert_to_numpy(ops.logical_not(running)).sum(axis=1)
        logits, following = super().step(token_ids, state, memory)
        return ops.where(running[:, :, None], logits, logits[:, :, ::-1]), {**following, "running": running}


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_rows_that_are_done_may_rest(search):
    memory, model = TABLE.random(7, seed=3), Resting(vocabulary=5, max_length=5)
    memory["logits"][:3, :, EOS] += 9.0  # these end at once
    assert_close(numpy_leaves(search(model, memory)), numpy_leaves(search(TABLE, memory)), 0, 0)
    beams = model.rested.max()
    assert beams > 0 and model.rested[:3].tolist() == 3 * [beams] and model.rested.min() == 0


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_one_trace_serves_all_batches_and_xla_agrees(search):
    specs = {"logits": tf.TensorSpec((None, TABLE.prefixes, 5), tf.float32)}
    graph = tf.function(lambda memory: search(TABLE, memory), input_signature=[specs], autograph=False)
    xla = tf.function(lambda memory: search(TABLE, memory), jit_compile=True, autograph=False)
    for batch in (1, 3, 7):
        memory = TABLE.random(batch, seed=batch)
        assert_close(numpy_leaves(graph(memory)), numpy_leaves(search(TABLE, memory)))
    assert_close(numpy_leaves(xla(memory)), numpy_leaves(search(TABLE, memory)))
    assert graph.experimental_get_tracing_count() == 1


@pytest.mark.release(but=1)
@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_ties_are_the_same_under_xla(search):
    memory = {"logits": np.zeros((2, TABLE.prefixes, 5), "float32")}
    memory["logits"][1, :, EOS] = -1.0
    xla = tf.function(lambda memory: search(TABLE, memory), jit_compile=True, autograph=False)
    assert_close(numpy_leaves(xla(memory)), numpy_leaves(search(TABLE, memory)))


def test_the_loop_ends_when_all_rows_are_done():
    calls = []

    class Counted(Table):
        def step(self, *arguments):
            calls.append(1)
            return super().step(*arguments)

    memory = TABLE.random(3, seed=1)
    memory["logits"][:, :, EOS] += 50.0
    rows_of(greedy(Counted(5, 5), memory, 5))
    assert len(calls) == 1


@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_rows_that_are_done_leave(search):
    """Those that end at once, later and never; the answers stand where they would if all had stayed."""
    sizes = []

    class Measured(Table):
        def step(self, token_ids, state, memory):
            sizes.append((len(token_ids), len(memory["logits"])))
            return super().step(token_ids, state, memory)

    memory = TABLE.random(9, seed=3)
    memory["logits"][[0, 4, 5], :, EOS] += 20.0
    memory["logits"][[2, 8], :, EOS] -= 20.0
    memory = {name: ops.convert_to_tensor(leaf) for name, leaf in memory.items()}
    found = numpy_leaves(search(Measured(5, 5), memory, LEAVING))
    assert_close(found, numpy_leaves(search(TABLE, memory)), 0, 0)
    batches = [batch for batch, _ in sizes]
    assert len(sizes) == 5 and batches == sorted(batches, reverse=True)
    assert batches[0] == 9 and 2 <= batches[-1] < 9 and all(one == other for one, other in sizes)


def test_rules_of_each_row_go_on_with_it():
    memory = {"logits": ops.convert_to_tensor(TABLE.random(6, seed=5)["logits"])}
    source_lengths = ops.convert_to_tensor(np.array([1, 4, 2, 5, 1, 3], "int32"))

    def found(growing):
        own = {"length_ratio": np.float32([1.0]), "min_length": np.array([0, 2, 1, 4, 0, 1]), "coverage_penalty": 0.0}
        own |= {"forced_tokens": np.array([[-1], [3], [4], [-1], [1], [-1]]), "repetition_penalty": 1.3}
        rules = Rules(source_lengths, (source_lengths[:, None] % 5, ops.ones_like(source_lengths)), **own)
        searched = beam_search(TABLE, memory, 5, beams=3, growing=growing, rules=rules)
        return numpy_leaves((searched, greedy(TABLE, memory, 5, growing, rules)))

    staying = found(False)
    assert len({*staying[1][:, 0].tolist()}) > 2  # the rules give the rows their lengths
    assert_close(found(LEAVING), staying, 0, 0)


def test_states_follow_their_beams():
    leaf = np.arange(2 * 3 * 5).reshape(2, 3, 5)
    parents = np.array([[2, 0], [1, 1]], "int32")
    moved = gather_beams({"a": ops.convert_to_tensor(leaf)}, ops.convert_to_tensor(parents))
    expected = np.stack([leaf[row][parents[row]] for row in range(2)])
    np.testing.assert_array_equal(ops.convert_to_numpy(moved["a"]), expected)


@pytest.mark.slow
@pytest.mark.release(but=1)
def test_scores_are_those_of_the_full_pass(built):
    """Every hypothesis of a real model, fed back by teacher forcing, has the score it was given."""
    model = built.layer
    source, sizes = token_ids(ROWS, 7, SOURCES), lengths(ROWS)
    found = rows_of(beam_search(model, model.encode(source, sizes), 5, beams=4, alpha=0.6))
    ends = set()
    for row, received in enumerate(found):
        assert len({tokens for tokens, _ in received}) == 4
        for tokens, score in received:
            whole = tokens if len(tokens) == 5 else (*tokens, EOS)
            ends.add(len(whole))
            total = log_probs(model, source[row, : sizes[row]], whole).sum(dtype="float64")
            np.testing.assert_allclose(score, total / penalty(len(whole), 0.6), atol=1e-4)
    assert len(ends) > 1


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES)
def test_padding_and_other_rows_change_nothing(built, search):
    model = built.layer

    def found(rows, time, noise):
        memory = model.encode(token_ids(rows, time, SOURCES, noise), lengths(rows))
        return rows_of(search(model, memory))

    together = found(ROWS, 7, 0)
    longer = found((*ROWS[::-1], (9, 11)), 11, 5)[2::-1]
    for row, (one, other) in enumerate(zip(together, longer, strict=True)):
        (alone,) = found(ROWS[row : row + 1], 7, 1)
        for received in (other, alone):
            assert [tokens for tokens, _ in received] == [tokens for tokens, _ in one]
            np.testing.assert_allclose([score for _, score in received], [score for _, score in one], atol=1e-5)


def search(model, source, sizes, growing):
    memory = model.encode(source, sizes)
    return [one(model, memory, growing) for one in SEARCHES.values()]


@pytest.mark.slow
@pytest.mark.release(but="leaving")
@pytest.mark.parametrize("growing", [True, LEAVING])
def test_one_graph_serves_all_lengths(built, growing):
    """With caches that grow, and rows that leave or stay; static ones, eagerly, find the same."""
    specs = [tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((None,), tf.int32)]
    graph = tf.function(lambda *inputs: search(built.layer, *inputs, growing), input_signature=specs, autograph=False)
    for rows, time in ((((5, 1),), 1), (((6, 11), (7, 4), (8, 0)), 11)):
        inputs = token_ids(rows, time, SOURCES), lengths(rows)
        expected = numpy_leaves(search(built.layer, *inputs, growing=False))
        assert_close(numpy_leaves(graph(*inputs)), expected)
    assert graph.experimental_get_tracing_count() == 1
    assert_close(numpy_leaves(search(built.layer, *inputs, growing)), expected)


@pytest.mark.release(but="seq2seq-gru_reset_before-1-None")
@pytest.mark.parametrize(
    "built", [pytest.param(name, marks=pytest.mark.slow) for name in (FIRST, *NAMES)], indirect=True
)
def test_xla_finds_the_same(built):
    inputs = token_ids(ROWS, 7, SOURCES), lengths(ROWS)
    xla = tf.function(lambda *inputs: search(built.layer, *inputs, growing=False), jit_compile=True, autograph=False)
    assert_close(numpy_leaves(xla(*inputs)), numpy_leaves(search(built.layer, *inputs, growing=False)))


SEARCH = """
import pathlib, sys
import numpy, keras, zoo
from zoo.decoding import beam_search, greedy, sample, uniforms

for path in pathlib.Path(sys.argv[1]).glob("*.keras"):
    model = keras.models.load_model(path, safe_mode=True)
    inputs = numpy.load(path.with_suffix(".npz"))
    memory = model.encode(inputs["source_ids"], inputs["source_lengths"])
    found = [*greedy(model, memory, 5), *beam_search(model, memory, 5, beams=3)]
    found += sample(model, memory, 5, uniforms(3, 3, 2, 5), temperature=1.5, top_k=4)
    found = [keras.ops.convert_to_numpy(leaf) for leaf in found]
    numpy.savez(path.with_suffix(".found"), *found)
    path.with_suffix(".found.npz").rename(path.with_suffix(".search.npz"))
"""


@pytest.mark.release(but="language-model-learned")
@pytest.mark.slow
@pytest.mark.parametrize("built", [FIRST, "transformer-pre_norm", "language-model-learned"], indirect=True)
def test_jax_finds_the_same(built, tmp_path):
    elsewhere.pack(built, tmp_path)
    inputs = {"source_ids": token_ids(ROWS, 7, SOURCES), "source_lengths": lengths(ROWS)}
    np.savez(tmp_path / f"{built.case.name}.npz", **inputs)
    elsewhere.run_elsewhere(tmp_path, "jax", SEARCH)
    memory = built.layer.encode(*inputs.values())
    expected = [*greedy(built.layer, memory, 5), *beam_search(built.layer, memory, 5, beams=3)]
    expected += sample(built.layer, memory, 5, uniforms(3, 3, 2, 5), temperature=1.5, top_k=4)
    found = np.load(tmp_path / f"{built.case.name}.search.npz")
    assert_close([found[name] for name in found.files], numpy_leaves(expected))
