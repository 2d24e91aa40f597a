"""IBM Model 1 against its sums written out in plain Python, the tables that are made of it, and artefacts with one.

The graphs of such an artefact search as the Keras model does over the ids of the table.
"""

import shutil
from collections import Counter, defaultdict

import numpy as np
import pytest

from serving.export import Settings, export_again
from serving.export.again import verify
from serving.export.kinds import kind_of
from serving.export.onnx.convert import convert, load
from serving.export.onnx.graphs import walk
from serving.export.onnx.quantize import quantize
from serving.export.onnx.ranges import observe
from serving.export.shortlist import FILE, Shortlist, choose_shortlist, estimate, likeliest, links, model_1, of_artefact
from serving.hub.published import choose_files, rewrite_manifest
from serving.runtime import Runtime, Sampling
from serving.runtime.artefact import read_manifest
from serving.runtime.manifest_format import checked
from tests.serving.conftest import MAX_LENGTH, TEXTS, make_model, make_seq2seq, randomised, settings_of
from tests.shared import made_once
from tools import cli
from zoo.core.documents import parse
from zoo.decoding.shortlist import Shortlisted, search
from zoo.depth import make_stack
from zoo.embeddings import TokenEmbedding
from zoo.models import Transformer
from zoo.text.base import EOS

IDS, LENGTHS = np.array([[5, 9, 7, 3], [4, 8, 3, 6]], "int32"), np.array([4, 3], "int32")


def shortlist_of(tokenizers, width=3):
    source, target = (tokenizer.vocab_size for tokenizer in tokenizers)
    table = np.random.default_rng(1).integers(4, target, (source, width)).astype("int32")
    return Shortlist(table, np.array([4, 5], "int32"))


def everything(tokenizers):
    source, target = (tokenizer.vocab_size for tokenizer in tokenizers)
    return Shortlist(np.full((source, 1), 3, "int32"), np.arange(target, dtype="int32"))


def graph_of(model, shortlist, name):
    function = kind_of(model, settings_of("generate", shortlist=shortlist)).functions[name]
    return convert(function.function, function.signature)


def asked(graph):
    session = load(graph)
    found = session.run(None, {"token_ids": IDS, "lengths": LENGTHS})
    return dict(zip([node.name for node in session.get_outputs()], found, strict=True))


def written(ids, lengths):
    """The ids of each best output, without what is behind its end."""
    return [row[0, : length[0]].tolist() for row, length in zip(np.asarray(ids), np.asarray(lengths), strict=True)]


def with_an_output(tokenizers):
    """A Transformer whose output has a matrix and a bias of its own."""
    source, target = (tokenizer.vocab_size for tokenizer in tokenizers)
    stacks = [make_stack(1, units=16, num_heads=2, hidden_units=32, cross=cross) for cross in (False, True)]
    return randomised(Transformer(source, TokenEmbedding(target, 16, tied=False, output_bias=True), *stacks))


SLOW = [pytest.param(each, marks=pytest.mark.slow) for each in ("seq2seq", "own-output")]


@pytest.fixture(scope="module", params=["transformer", *SLOW])
def model(request, tokenizers):
    if request.param == "transformer":
        return make_model("generate", tokenizers)
    if request.param == "own-output":
        return with_an_output(tokenizers)
    return make_seq2seq(tokenizers, attention="dot")


@pytest.mark.slow
@pytest.mark.release(but=2)
@pytest.mark.parametrize("name", ["greedy_shortlist", "tokens_shortlist"])
def test_the_graph_searches_as_the_model_does(model, tokenizers, name):
    shortlist, beams = shortlist_of(tokenizers), 1 if name.startswith("greedy") else 3
    found = asked(graph_of(model, shortlist, name))
    narrow = Shortlisted(model, shortlist.table, shortlist.always)
    ids, lengths, scores = map(np.asarray, search(narrow, IDS, LENGTHS, MAX_LENGTH, beams))
    np.testing.assert_array_equal(found["output_ids"], ids)
    np.testing.assert_array_equal(found["output_lengths"], lengths)
    np.testing.assert_allclose(found["scores"], scores, atol=1e-4)
    for row, (answer, length) in enumerate(zip(ids[:, 0], LENGTHS, strict=True)):
        assert set(answer.tolist()) <= {0, 1, 2, 3, 4, 5, *shortlist.table[IDS[row, :length]].ravel().tolist()}


@pytest.mark.slow
@pytest.mark.release(but=1)
def test_with_every_id_it_answers_as_the_whole_graph(model, tokenizers):
    whole, narrow = (asked(graph_of(model, everything(tokenizers), name)) for name in ("tokens", "tokens_shortlist"))
    np.testing.assert_array_equal(whole["output_ids"], narrow["output_ids"])
    np.testing.assert_allclose(whole["scores"], narrow["scores"], atol=1e-5)


@pytest.mark.slow
def test_int8_gathers_int8_columns(tokenizers):
    graph = graph_of(make_model("generate", tokenizers), shortlist_of(tokenizers), "tokens_shortlist")
    light = quantize(graph, observe(graph, [{"token_ids": IDS, "lengths": LENGTHS}]))
    loops = [inner for inner in walk(light.graph) if inner is not light.graph]
    products = [node for inner in loops for node in inner.node if node.op_type == "MatMulIntegerToFloat"]
    constant = {tensor.name for inner in walk(light.graph) for tensor in inner.initializer}
    assert sum(node.input[1] not in constant for node in products) == 1
    assert not Counter(node.op_type for inner in loops for node in inner.node)["MatMul"]
    sizes = [tuple(t.dims) for inner in walk(light.graph) for t in inner.initializer if t.data_type == 1]
    assert (tokenizers[1].vocab_size, 16) not in sizes and (16, tokenizers[1].vocab_size) not in sizes
    one, other = asked(graph), asked(light)
    assert np.abs(one["scores"][:, 0] - other["scores"][:, 0]).max() < 0.1 * np.abs(one["scores"][:, 0]).max()


def test_without_a_shortlist_nothing_of_it_is_exported(models):
    kind = kind_of(models["generate"], settings_of("generate"))
    assert not [name for name in kind.functions if "shortlist" in name] and "shortlist" not in kind.facts()


def test_an_artefact_without_one_says_how_to_have_it(artefacts):
    artefact = artefacts("generate")
    with pytest.raises(ValueError, match="has no graph with a shortlist") as error:
        Runtime(artefact, shortlist=True)
    assert f"`seqzoo export {artefact} --shortlist 100 --data CORPUS`" in str(error.value)
    assert cli.main(["run", str(artefact), "a cat", "--shortlist"]) == 2


def test_a_model_that_reads_nothing_else_is_refused(tokenizers):
    class Recipe:
        task = "continue"

    with pytest.raises(ValueError, match="read one text and write another; the task 'continue' is none"):
        estimate(Recipe, tokenizers[:1])
    for kept in ({}, {"shortlist": None}, {"shortlist": shortlist_of(tokenizers)}):
        assert choose_shortlist(kept, Recipe, tokenizers[:1]) == {}


@pytest.fixture(scope="module")
def narrow(artefacts, tokenizers, tmp_path_factory):
    """The "generate" artefact, exported again with a shortlist."""

    def make(folder):
        export_again(artefacts("generate"), folder, shortlist=shortlist_of(tokenizers))

    return made_once(tmp_path_factory, "generate-shortlist", make) / "generate" / "1"


@pytest.mark.release
def test_the_artefact_knows_its_shortlist(narrow, artefacts):
    manifest, before = read_manifest(narrow), read_manifest(artefacts("generate"))
    names = {"1": "greedy.shortlist.onnx", "3": "model.shortlist.onnx"}
    assert manifest["shortlist"] == {"width": 3, "always": 2, "generation": names}
    more = {FILE, *names.values(), "greedy.shortlist.int8.onnx", "model.shortlist.int8.onnx"}
    assert manifest["files"].keys() == before["files"].keys() | more
    assert manifest["generation"] == before["generation"]
    assert {"ONNX tokens_shortlist scores", "ONNX greedy_shortlist scores"} <= manifest["parity"]["largest"].keys()
    assert verify(narrow)["passed"]


@pytest.mark.slow
@pytest.mark.parametrize("beam", [1, 3])
def test_the_runtime_answers_from_it(narrow, models, tokenizers, beam):
    shortlist = of_artefact(narrow, read_manifest(narrow))
    model = Shortlisted(models["generate"], shortlist.table, shortlist.always)
    for text, result in zip(TEXTS, Runtime(narrow, shortlist=True, threads=1).run(list(TEXTS), beam=beam), strict=True):
        ids = np.array([[*tokenizers[0].encode([text])[0], 3]], "int32")
        found = search(model, ids, np.array([ids.shape[1]], "int32"), MAX_LENGTH, beam)
        assert result.answer == tokenizers[1].decode(written(*found[:2]))[0]
    whole, before = Runtime(narrow, threads=1), Runtime(narrow, threads=1, shortlist=False)
    assert whole.run(list(TEXTS)) == before.run(list(TEXTS)) != Runtime(narrow, shortlist=True).run(list(TEXTS))
    assert Runtime(narrow, shortlist=True, precision="int8").run(list(TEXTS))[0].error is None


@pytest.mark.slow
def test_sampling_is_not_over_a_shortlist(narrow):
    with pytest.raises(ValueError, match="opened with its shortlist"):
        Runtime(narrow, shortlist=True).run(["a cat"], sampling=Sampling())


@pytest.mark.release
def test_it_is_kept_by_an_export_and_left_out_of_a_light_publication(narrow, tmp_path):
    path = export_again(narrow, tmp_path, storage="float16")
    assert (path / FILE).read_bytes() == (narrow / FILE).read_bytes()
    assert read_manifest(path)["shortlist"] == read_manifest(narrow)["shortlist"]
    assert Settings.of(read_manifest(path)).beams == (3,)
    manifest = read_manifest(narrow)
    files = {name: (narrow / name).read_bytes() for name in choose_files(manifest, "float32")}
    found = checked(parse(rewrite_manifest(manifest, files)))
    assert "shortlist" not in found and FILE in found["left_out"]
    (tmp_path / "more").mkdir()
    damaged = shutil.copytree(narrow, tmp_path / "more" / "1")
    (damaged / FILE).write_bytes(b"")
    with pytest.raises(ValueError, match="shortlist.npz is damaged"):
        export_again(damaged, tmp_path / "more")


# das Haus / the house, das Buch / the book, ein Buch / a book
SOURCES = [[4, 5], [4, 6], [7, 6, 6]]
TARGETS = [[11, 12], [11, 13], [14, 13]]
RANDOM = np.random.default_rng(2)
SOME = [[RANDOM.integers(4, 17, RANDOM.integers(1, 8)).tolist() for _ in range(23)] for _ in range(2)]


def by_hand(sources, targets, rounds):
    """`{(s, t): p(t | s)}` by the loops of the paper, in Python's floats."""
    p = {(s, t): 1.0 for source, target in zip(sources, targets, strict=True) for s in source for t in target}
    for _ in range(rounds):
        counts, totals = defaultdict(float), defaultdict(float)
        for source, target in zip(sources, targets, strict=True):
            for t in target:
                whole = sum(p[s, t] for s in source)
                for s in source:
                    counts[s, t] += p[s, t] / whole
                    totals[s] += p[s, t] / whole
        p = {(s, t): count / totals[s] for (s, t), count in counts.items()}
    return p


@pytest.mark.parametrize(("sources", "targets"), [(SOURCES, TARGETS), SOME])
@pytest.mark.parametrize("rounds", [1, 5])
def test_probabilities_are_those_of_the_paper(sources, targets, rounds):
    found = model_1(links(sources, targets), 17, rounds)
    received = {(int(s), int(t)): p for s, t, p in zip(*found, strict=True)}
    expected = by_hand(sources, targets, rounds)
    assert received.keys() == expected.keys()
    np.testing.assert_allclose([received[key] for key in expected], list(expected.values()), rtol=1e-4, atol=1e-6)


def test_it_tells_which_word_is_which():
    table = likeliest(model_1(links(SOURCES, TARGETS), 17), 9, 2, EOS)
    assert table[[4, 5, 6, 7], 0].tolist() == [11, 12, 13, 14]
    assert table[0].tolist() == [EOS, EOS] and table.dtype == np.int32


def test_rows_hold_the_likeliest_first_and_of_equals_the_lower():
    lexicon = np.array([2, 0, 0, 0, 2]), np.array([9, 7, 6, 5, 8]), np.array([1.0, 0.2, 0.2, 0.6, 2.0])
    assert likeliest(lexicon, 3, 2, EOS).tolist() == [[5, 6], [EOS, EOS], [8, 9]]


def test_of_a_large_corpus_every_kth_pair_is_read():
    few = links(*SOME, most=sum(len(s) * len(t) for s, t in zip(*SOME, strict=True)) // 3)
    for one, other in zip(few, links(SOME[0][::4], SOME[1][::4]), strict=True):
        np.testing.assert_array_equal(one, other)


def test_pairs_that_are_none_are_refused():
    for sources, targets in (([], []), (SOURCES, TARGETS[:2])):
        with pytest.raises(ValueError, match="expected as many targets as sources and at least one; received"):
            links(sources, targets)


def test_a_shortlist_has_the_frequent_ids_and_survives_its_file(tmp_path):
    found = Shortlist.from_pairs(SOURCES, TARGETS, (9, 17), width=3, frequent=2)
    assert found.always.tolist() == [11, 13] and found.table.shape == (9, 3)
    assert set(found.table[4].tolist()) <= {11, 12, 13, EOS} and found.table[EOS, 0] in (EOS, 11, 13)
    found.save(tmp_path / "a.npz")
    found.save(tmp_path / "b.npz")
    again = Shortlist.load(tmp_path / "a.npz")
    np.testing.assert_array_equal(again.table, found.table)
    np.testing.assert_array_equal(again.always, found.always)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    (tmp_path / "a.npz").write_bytes(b"PK")
    with pytest.raises(ValueError, match="No shortlist: expected shortlist.npz with `table` and `always`"):
        Shortlist.load(tmp_path / "a.npz")


def test_a_width_of_nothing_is_refused():
    with pytest.raises(ValueError, match="a width of at least 1"):
        Shortlist.from_pairs(SOURCES, TARGETS, (9, 17), width=0)
