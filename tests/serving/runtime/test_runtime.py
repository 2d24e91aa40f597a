import json

import numpy as np
import pytest

from serving.runtime import Runtime, Sampling
from serving.runtime.errors import DamagedError
from serving.runtime.loaded import batches, padded
from tests.house_rules import ROOT
from tests.serving import fake_artefact
from tests.shared import python
from tools import cli
from zoo.scores.labels import find_entities

TEXTS = ["abc", "", "a1 b22 c333", "   ", "h", "äß 日本", "0123456789" * 7]


@pytest.fixture(scope="module")
def artefact(tmp_path_factory):
    return fake_artefact.write(tmp_path_factory.mktemp("echo") / "echo" / "1")


@pytest.fixture(scope="module")
def runtimes(tmp_path_factory):
    """One of each kind."""
    home = tmp_path_factory.mktemp("kinds")
    return {kind: Runtime(fake_artefact.write(home / kind, kind), threads=1) for kind in fake_artefact.KINDS}


@pytest.fixture
def copy(tmp_path):
    """An artefact that a test may damage."""
    return fake_artefact.write(tmp_path / "echo" / "1")


def test_answers_keep_the_order_of_the_texts(artefact):
    results = Runtime(artefact, threads=1).run(TEXTS)
    assert [result.text for result in results] == [text.strip() for text in TEXTS]
    assert [result.score for result in results] == [-0.5, 0.0, -0.5, 0.0, -0.5, -0.5, -0.5]


def test_many_texts_are_more_than_one_batch(artefact):
    texts = [f"{number}" for number in range(101)]
    results = Runtime(artefact, threads=1).run(iter(texts), beam=1)
    assert [result.text for result in results] == texts


def test_n_best_is_best_first(artefact):
    (result,) = Runtime(artefact, threads=1).run(["abcd"], n_best=3)
    assert [each.text for each in result.hypotheses] == ["abcd", "abc", "ab"]
    assert [each.score for each in result.hypotheses] == [-0.5, -1.5, -2.5]
    assert (result.text, result.score) == ("abcd", -0.5)


def test_empty_slots_are_no_hypotheses(artefact):
    results = Runtime(artefact, threads=1).run(["h", "abcd"], n_best=4)
    assert [[each.text for each in result.hypotheses] for result in results] == [
        ["h", ""],  # two pieces, the second slot is the space in front of it
        ["abcd", "abc", "ab", "a"],
    ]


def test_no_session_keeps_the_bytes_of_its_file(artefact):
    runtime = Runtime(artefact)
    runtime.run(["abc"])
    (graph,) = runtime._predictor.loaded.graphs._opened.values()
    assert not [
        name for name, value in vars(graph.session).items() if isinstance(value, (bytes, bytearray, memoryview))
    ]


def test_attention_follows_the_output(artefact):
    attention = Runtime(artefact, threads=1).attention("abca")
    assert attention.source == ("▁", "a", "b", "c", "a", "</s>")
    assert attention.target == attention.source
    copied = np.zeros((6, 6))
    for row, column in [(1, 0), (2, 1), (2, 4), (3, 2), (4, 3), (5, 1), (5, 4)]:
        copied[row, column] = 0.5
    np.testing.assert_array_equal(attention.weights, 0.5 * np.eye(6) + copied)


def test_attention_needs_a_text_and_a_model_with_attention(tmp_path, artefact):
    with pytest.raises(ValueError, match="a text with content; received '  '"):
        Runtime(artefact).attention("  ")
    with pytest.raises(TypeError, match="one string; received list"):
        Runtime(artefact).attention(["a"])
    without = fake_artefact.write(tmp_path, with_attention=False)
    with pytest.raises(ValueError, match="echo keeps no attention weights"):
        Runtime(without).attention("a")


def test_precision_chooses_the_graph(copy):
    (copy / "model.onnx").unlink()
    assert Runtime(copy, precision="int8").run(["abc"])[0].text == "abc"
    with pytest.raises(ValueError, match=r"no greedy.int8.onnx; .*'model.int8.onnx'.*use float32"):
        Runtime(copy, precision="int8").run(["abc"], beam=1)
    with pytest.raises(ValueError, match="Unknown precision.*float16"):
        Runtime(copy, precision="float16")


@pytest.mark.parametrize(
    ("texts", "error", "message"),
    [
        ("abc", TypeError, r"received one string. Write \['abc'\]"),
        (["a", 3], TypeError, "received int at position 1: 3"),
        ([b"a"], TypeError, "received bytes at position 0"),
        ([("a", "b")], TypeError, r"received tuple at position 0: \('a', 'b'\)"),
        (None, TypeError, "Expected a list of strings; received None."),
    ],
)
def test_texts_are_a_list_of_strings(artefact, texts, error, message):
    for answer in (Runtime(artefact).run, Runtime(artefact).lengths, Runtime(artefact).encode):
        with pytest.raises(error, match=message):
            answer(texts)


def test_lengths_and_ids_of_all_that_is_answered(runtimes):
    assert runtimes["tag"].lengths([["ab", "c"], "ab c"]) == [5, 5]
    given = [runtimes["continue"].run(texts, sampling=[Sampling()]) for texts in (["b a"], iter(["b a"]))]
    assert given[0] == given[1]
    with pytest.raises(TypeError, match="received int at position 1"):
        runtimes["compare"].lengths([("a", 3)])
    with pytest.raises(ValueError, match=r"position 1 has no tokens, for it is not UTF-8: the lone surrogate U\+D800"):
        runtimes["generate"].encode(["a", "\ud800"])


@pytest.mark.parametrize(
    "wrong",
    [{"beam": "4"}, {"n_best": 2.0}, {"n_best": True}, {"n_best": None}, {"sampling": True}, {"length": "5"}],
    ids=str,
)
def test_options_have_types(runtimes, wrong):
    ((name, value),) = wrong.items()
    with pytest.raises(TypeError, match=f"{name} must be a .*; received {value!r}"):
        runtimes["continue"].run(["a"], **wrong)


def test_wrong_beam_names_the_right_ones(artefact):
    with pytest.raises(ValueError, match=r"no graph for beam 3; it has \[1, 4\].*--beam 3"):
        Runtime(artefact).run(["a"], beam=3)
    with pytest.raises(ValueError, match="between 1 and the beam width 1; received 2"):
        Runtime(artefact).run(["a"], beam=1, n_best=2)
    with pytest.raises(ValueError, match="received 0"):
        Runtime(artefact).run(["a"], n_best=0)


@pytest.mark.parametrize(("threads", "error"), [(0, ValueError), (100_000, ValueError), ("2", TypeError)])
def test_wrong_threads(artefact, threads, error):
    with pytest.raises(error, match="threads must be a positive integer"):
        Runtime(artefact, threads=threads)


def test_wrong_directory(tmp_path, copy):
    with pytest.raises(ValueError, match="there is no such directory"):
        Runtime(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="No artefact at .*model.onnx: it is no directory. Expected"):
        Runtime(copy / "model.onnx")
    with pytest.raises(ValueError, match="Did you mean .*echo.1"):
        Runtime(tmp_path)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "recipe.toml").touch()
    with pytest.raises(ValueError, match="It is a training run: export it"):
        Runtime(tmp_path / "run")


def test_an_unknown_kind_is_named(copy):
    fake_artefact.change(copy, kind="translate")
    with pytest.raises(ValueError, match="of the kind 'translate'.*it knows .*'continue', .*'generate'.*newer seqzoo"):
        Runtime(copy)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("classify", {"beam": 4}, "echo is an artefact of kind 'classify' and takes no option; received beam"),
        ("tag", {"sampling": Sampling(), "n_best": 2}, "received n_best, sampling. Leave out n_best, sampling"),
        ("generate", {"length": 9}, "takes beam, n_best, sampling, .*; received length"),
        ("generate", {"beam": 4, "sampling": Sampling()}, "either samples or searches"),
        ("continue", {"n_best": 0, "sampling": Sampling()}, "n_best must be at least 1; received 0"),
        ("continue", {"length": 0}, "length must be at least 1 token; received 0"),
        ("continue", {"beam": 4}, r"no graph for beam 4; it has \[1\]"),
        ("generate", {"sentences": "pages"}, "sentences must be True, False or 'page'; received 'pages'"),
        ("classify", {"min_confidence": "0.5"}, "min_confidence is a number from 0 to 1; received '0.5'"),
    ],
)
def test_an_option_must_fit_the_kind(runtimes, kind, options, message):
    with pytest.raises(ValueError, match=message):
        runtimes[kind].run(["a"], **options)


@pytest.mark.parametrize("kind", ["continue", "classify", "tag"])
def test_only_what_generates_has_an_attention_map(runtimes, kind):
    with pytest.raises(ValueError, match=f"of kind '{kind}': only 'generate'"):
        runtimes[kind].attention("a")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.1),
        ("top_k", -1),
        ("top_k", 1.5),
        ("top_p", 0.0),
        ("top_p", 1.01),
        ("seed", -1),
        ("seed", 1.0),
    ],
)
def test_sampling_knows_its_ranges(name, value):
    with pytest.raises(ValueError, match=f"{name} must be .*received {value}"):
        Sampling(**{name: value})


def test_labels_come_with_probabilities(runtimes):
    found = runtimes["classify"].run(["abc", "", "ab"])  # 5 and 4 ids: the space in front and EOS count
    assert [result.label for result in found] == ["zwei", "", "eins"]
    assert found[0].probabilities == {"zwei": 1.0, "null": 0.0, "eins": 0.0} and found[0].probability == 1.0


def test_words_have_places_in_characters(runtimes):
    text = "  a\u3000👩‍👩‍👧 日本e\u0301\tß\x1c \u200b "
    (found,) = runtimes["tag"].run([text])
    assert [text[word.start : word.end] for word in found.words] == [word.text for word in found.words]
    assert [word.text for word in found.words] == ["a", "👩‍👩‍👧", "日本e\u0301", "ß\x1c", "\u200b"]
    assert [(word.start, word.end) for word in found.words[:3]] == [(2, 3), (4, 9), (10, 14)]


@pytest.fixture
def entities(tmp_path):
    """A tagger of names, whose recipe says that punctuation was cut."""
    directory = fake_artefact.write(tmp_path / "names" / "1", "tag")
    return fake_artefact.change(directory, labels=["O", "B-PER", "I-PER"], words="punctuation")


def test_a_text_is_cut_as_the_manifest_says_and_a_caller_may_say_otherwise(entities):
    runtime, text = Runtime(entities), "ab, (c)?"
    places = [(0, 2), (2, 3), (4, 5), (5, 6), (6, 7), (7, 8)]
    (cut,), (spaces,), (given,) = (
        runtime.run([text]),
        runtime.run([text], words="spaces"),
        runtime.run([["ab", ",", "", "(c)?"]]),
    )
    assert [(word.start, word.end) for word in cut.words] == places
    assert [word.text for word in spaces.words] == ["ab,", "(c)?"]
    assert [(word.text, word.start, word.end) for word in given.words] == [("ab", 0, 2), (",", 3, 4), ("(c)?", 6, 10)]
    with pytest.raises(ValueError, match="words must be one of spaces, punctuation, treebank; received 'lines'"):
        runtime.run([text], words="lines")
    with pytest.raises(TypeError, match="received int at position 1"):
        runtime.run([["a", 3]])


def test_tags_that_spell_entities_tell_where_they_are(entities, runtimes):
    text = "ab, h2 (c)? 0 1 a b c d"
    found = Runtime(entities).run([text, ""])
    for result in found:
        spelled = find_entities([word.tag for word in result.words], "iob2")
        places = [(kind, result.words[first].start, result.words[last].end) for kind, first, last in spelled]
        assert [(each.type, each.start, each.end) for each in result.entities] == places
    assert (
        [each.text for each in found[0].entities] == [text[each.start : each.end] for each in found[0].entities] != []
    )
    assert runtimes["tag"].run(["ab c"])[0].entities == ()  # of "null", "eins", "zwei"


def test_the_first_piece_of_a_word_decides_its_tag(runtimes):
    from sentencepiece import SentencePieceProcessor

    pieces = SentencePieceProcessor(model_proto=fake_artefact.tokenizer())
    texts = ["", "ab h2 0\u200b", "c"]  # in another order than their lengths
    found = runtimes["tag"].run(texts)
    for text, result in zip(texts, found, strict=True):
        first = [pieces.encode(word)[0] for word in text.split()]
        assert [word.tag for word in result.words] == [fake_artefact.LABELS[token % 3] for token in first]
        assert all(word.score == 1.0 for word in result.words)


def test_a_continuation_is_what_comes_behind_the_prompt(runtimes):
    found = runtimes["continue"].run(["b a", "", "c"])
    assert [result.text for result in found] == [" b a", "", " c"]


def test_a_long_continuation_is_asked_for_again(runtimes):
    runtime = runtimes["continue"]  # says that 4 ids is the most: "abc" has as many, "ab" stops by itself
    long, short = runtime.run(["abc", "ab"], length=100)
    assert long.text == 25 * " abc" and long.score == -2.5  # after 4, 12, 28, 60 and 124 ids
    assert short.text == " ab" and short.score == -0.5
    assert runtime.run(["ab"], length=10**12) == [short]  # and nothing is asked for behind its end
    assert [runtime.run(["abc"], length=length)[0].text for length in (1, 3, 5)] == [" ", " ab", " abc "]


def test_samples_draw_numbers_of_their_own(runtimes):
    from zoo.decoding import uniforms

    sampling = Sampling(temperature=0.5, top_k=3, top_p=0.25, seed=7, first=2)
    found = runtimes["continue"].run(["a", "abcd", "b"], sampling=sampling, n_best=2)
    drawn = uniforms(7, 5, 2, 4)[2:].sum(axis=-1)
    expected = -(drawn + 0.5 + 3 + 0.25)
    scores = [[each.score for each in result.hypotheses] for result in found]
    np.testing.assert_allclose(scores, expected, rtol=1e-6)


def test_ids_are_answered_without_rules_as_a_saved_model_answers_them():
    (dates,) = (ROOT / "hub" / "dates").glob("[0-9]*")
    runtime = Runtime(dates, threads=1)
    assert [spec["name"] for spec in runtime.signatures["tokens"]["inputs"]] == ["token_ids", "lengths"]
    text, eos = "3. März 2021", 3
    (row,) = runtime.run_rows("tokens", [{"token_ids": [*runtime.encode([text])[0], eos]}])
    assert row["scores"][0] == pytest.approx(runtime.run([text])[0].score)


def test_batches_are_bounded_and_complete():
    lengths = [3, 50, 7, 7, 1, 2, 30, 2]
    groups = batches(lengths, max_sequences=3, max_ids=40)
    assert sorted(sum(groups, [])) == list(range(8))
    assert groups[:2] == [[1], [6]]  # longer than the bound; 2 * 30 > 40
    assert all(len(group) <= 3 for group in groups)
    assert all(len(group) * lengths[group[0]] <= 40 for group in groups[1:])


@pytest.mark.parametrize("seed", range(20))
def test_batches_hold_little_padding(seed):
    draw = np.random.default_rng(seed)
    lengths = draw.integers(0, 90, draw.integers(0, 120)).tolist()
    groups = batches(lengths, max_padding=64)
    assert sorted(sum(groups, [])) == list(range(len(lengths)))
    for group in groups:
        own = [lengths[row] for row in group]
        assert len(own) * max(own) - sum(own) <= 64 and len(own) <= 32
    assert batches([9] * 40, max_padding=0) == [list(range(32)), list(range(32, 40))]  # equal lengths have none


def test_a_search_has_more_padding_in_a_batch():
    lengths = [20, *[3] * 20]
    for name, first in ("intents-en", 1 + 64 // 17), ("dates", 1 + 256 // 17):
        (folder,) = (ROOT / "hub" / name).glob("[0-9]*")
        groups = Runtime(folder, threads=1)._predictor.loaded.batches(lengths)
        assert [len(group) for group in groups] == [first, 21 - first]


def test_padded():
    token_ids, lengths = padded([[5, 6, 7], [8]])
    assert token_ids.tolist() == [[5, 6, 7], [8, 0, 0]] and lengths.tolist() == [3, 1]
    assert token_ids.dtype == lengths.dtype == np.int32


FRAMEWORKS = ("jax", "keras", "onnx", "tensorflow", "tensorflow_text")
ROOMS = ("core", "scores", "text")  # of zoo, which need none
WITHOUT_FRAMEWORKS = f"""
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        package, *rest = name.split(".")
        if package in {FRAMEWORKS} or package == "zoo" and rest and rest[0] not in {ROOMS}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Refuse())
from tools.cli import main
sys.exit(main())
"""


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("kind", fake_artefact.KINDS)
def test_runs_where_no_framework_is_installed(tmp_path, kind, capsys):
    run = ["run", fake_artefact.write(tmp_path / "echo", kind), "abc\tb" if kind == "compare" else "abc", "--json"]
    assert cli.main([str(word) for word in run]) == 0
    found = python("-c", WITHOUT_FRAMEWORKS, *run).stdout
    assert found == capsys.readouterr().out and json.loads(found)["input"] == run[2]


def test_a_label_that_is_not_likely_enough_is_out_of_scope(tmp_path):
    folder = fake_artefact.write(tmp_path / "echo", "classify")
    # Every answer of this artefact has the probability 1: that this one is wrong has the probability 0.
    for threshold, label, probability in ((1.0, "zwei", 1.0), (1.01, "oos", 0.0)):
        fake_artefact.change(folder, scope={"label": "oos", "threshold": threshold})
        found = Runtime(folder, threads=1).run(["abc", ""])
        assert [(each.label, each.probability) for each in found] == [(label, probability), ("", 0.0)]
        assert [each.confidence for each in found] == [probability, None]
        assert found[0].probabilities == {"zwei": 1.0, "null": 0.0, "eins": 0.0}
    for wrong in ({"label": "oos"}, {"label": "oos", "threshold": "0.5"}, 0.5):
        fake_artefact.change(folder, scope=wrong)
        with pytest.raises(DamagedError, match="scope"):
            Runtime(folder, threads=1)
