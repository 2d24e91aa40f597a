"""A text that is blank, too long or no UTF-8 costs no other text its answer, in the SavedModel as in the Runtime.

Neither does any of a few hundred of the strings of benchmarks/strings.py, through every form of every kind.
"""

import importlib.util

import numpy as np
import pytest

from serving.export import export
from serving.export.parity.expected import expectation
from serving.export.settings import Settings
from serving.runtime import Runtime
from serving.runtime.artefact import read_manifest
from tests.house_rules import ROOT
from tests.serving.conftest import MAX_LENGTH, make_model, settings_of, sides

KINDS = ("generate", "continue", "classify", "tag")
GOOD, LAST = "the cat sat", "on a cat"
TEXTS = [GOOD, "", " \u3000\u2028", "a\udcff", "a " * 2000, "cat" + "\0" * 1_000_000, "a\0b \0 \x01", LAST]


def asked(path, texts):
    """What the SavedModel answers, a dict of outputs."""
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  registers the tokenizers' operations

    serve = tf.saved_model.load(str(path)).signatures["serving_default"]
    outputs = serve(text=tf.constant([text.encode("utf-8", "surrogateescape") for text in texts]))
    return {name: value.numpy() for name, value in outputs.items()}


def answer(outputs, row):
    if "tags" in outputs:
        return [tag.decode() for tag in outputs["tags"][row][: outputs["word_counts"][row]]]
    return outputs["label" if "label" in outputs else "output_text"][row].decode()


QUICK = ("classify", "generate")


@pytest.mark.release(but="classify")
@pytest.mark.parametrize(
    "kind", [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.slow) for kind in KINDS]
)
def test_bad_texts_cost_themselves_alone(artefacts, kind):
    path = artefacts(kind)
    runtime = Runtime(path, threads=1)
    results, saved = runtime.run(TEXTS), asked(path, TEXTS)
    assert [answer(saved, row) for row in range(len(TEXTS))] == [result.answer for result in results]
    for row in (0, len(TEXTS) - 1):
        assert answer(saved, row) == runtime.run([TEXTS[row]])[0].answer != ""
    most = runtime.max_input
    assert most == read_manifest(path)["max_input"] == (MAX_LENGTH if kind == "continue" else 1024)
    errors, warnings = ([text.decode() for text in saved[name]] for name in ("errors", "warnings"))
    assert errors[3] == "not UTF-8" and results[3].error == "not UTF-8: the byte 0xff at character 2"
    assert errors[:3] == ["", "", ""] == errors[6:] + [""]
    assert warnings == [result.warning or "" for result in results]
    cut = ["; ".join(said for said in each.split("; ") if said.endswith(("tokens", "characters"))) for each in warnings]
    assert not any(cut[1:4])  # that an untrained model goes in circles is another matter
    assert errors[4:] == [result.error or "" for result in results[4:]]
    if kind == "continue":  # which reads the end of its prompt, and begins a text where there is none
        assert cut[4] == f"only the last {most} tokens are read, of 4000 characters"
        assert cut[5] == "only the last 2 tokens are read, of 1000003 characters", "a space, and unknown signs"
        assert answer(saved, 1) == runtime.run([""])[0].text
    else:
        assert errors[4].endswith("tokens, at most 1024") and errors[5] == "1000003 characters, at most 16384"
        assert not any(answer(saved, row) for row in range(1, 6)), "blank texts and refused ones are blank"
        assert not any(np.any(saved[name][1:6]) for name in ("scores", "probabilities", "starts") if name in saved)


@pytest.mark.release(but=1)
@pytest.mark.parametrize("kind", ["classify", pytest.param("tag", marks=pytest.mark.slow)])
def test_a_part_of_a_long_text_is_read_where_that_is_asked_for(artefacts, kind):
    runtime = Runtime(artefacts(kind), threads=1, overlong="truncate")
    good, long, fits = runtime.run([GOOD, "cat " * 2000, "cat " * 300])
    assert long.error is None and long.warning.startswith("only the first 1024 tokens are read, of ")
    assert good == runtime.run([GOOD])[0] and good.warning is None and fits.warning is None
    if kind == "tag":
        assert len(fits.words) == 300 < len(long.words) < 2000


def test_ids_beyond_the_bound_are_refused_by_the_saved_model(artefacts):
    import tensorflow as tf

    from serving.export.graph_tokenizers import GraphTokenizer  # noqa: F401  registers the tokenizers' operations

    classify = tf.saved_model.load(str(artefacts("classify"))).signatures["classify"]
    fits = classify(token_ids=tf.ones([1, 1024], tf.int32), lengths=tf.constant([3]))
    assert fits["probabilities"].shape == (1, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="token_ids has too many columns: at most 1024"):
        classify(token_ids=tf.ones([1, 100_000], tf.int32), lengths=tf.constant([3]))


def test_no_bound_beyond_the_positions(models, tokenizers, tmp_path):
    settings = settings_of("continue", max_input=MAX_LENGTH + 1)
    with pytest.raises(
        ValueError, match=f"max_input={MAX_LENGTH + 1} is more than .*positions for {MAX_LENGTH} tokens"
    ):
        export(models["continue"], sides("continue", tokenizers), tmp_path, settings)
    with pytest.raises(ValueError, match="max_input must be a whole number of tokens, at least 2.*received 1"):
        export(models["classify"], sides("classify", tokenizers), tmp_path, settings_of("classify", max_input=1))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_another_bound_and_truncation_are_exported_and_checked(tokenizers, tmp_path):
    model = make_model("tag", tokenizers)
    settings = settings_of("tag", max_input=12, overlong="truncate", int8=False)
    path = export(model, sides("tag", tokenizers), tmp_path, settings)
    text = "cat " * 30
    (result,), outputs = Runtime(path).run([text]), asked(path, [text, GOOD])
    assert result.warning == outputs["warnings"][0].decode() and result.warning.startswith("only the first")
    assert [word.tag for word in result.words] == answer(outputs, 0) and 0 < len(result.words) < 12


def test_parity_asks_blank_and_refused_texts_too(models, tokenizers, artefacts, monkeypatch):
    from serving.export.kinds import kind_of

    kind = kind_of(models["classify"], Settings.of(read_manifest(artefacts("classify"))))
    monkeypatch.setattr(kind, "cases", lambda vocabularies: ())
    one, other = expectation(kind, tokenizers[:1], [GOOD])
    assert one.name == other.name == "serving_default" and one.inputs.keys() == {"text"}
    assert one.outputs.keys() == other.outputs.keys() == {"label", "probabilities", "errors", "warnings"}
    assert one.inputs["text"].tolist() == [GOOD]
    assert other.inputs["text"].tolist()[:2] == ["", " \u3000\u2028 "]
    assert other.outputs["label"].tolist() == [""] * 4
    assert [bool(error) for error in other.outputs["errors"].tolist()] == [False, False, True, True]


@pytest.fixture(scope="module")
def strings():
    spec = importlib.util.spec_from_file_location("strings", ROOT / "benchmarks" / "strings.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_strings_are_what_they_are_called(strings):
    drawn = strings.strings(600)
    assert drawn == strings.strings(600) and len(drawn) == 600
    assert {name for name, _ in drawn} >= strings.SHARES.keys() | strings.PIECES.keys()
    for name, text in drawn:
        bad = name in ("lone surrogates", "bytes that are no UTF-8") and any(
            "\ud800" <= sign < "\ue000" for sign in text
        )
        try:
            strings.as_bytes(text).decode("utf-8")
            assert not bad
        except UnicodeDecodeError:
            assert bad
        assert "\n" not in text


@pytest.mark.release(but=1)
@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_string_is_lost_or_moves_another(artefacts, strings, kind):
    drawn = strings.strings(300, seed=1)
    outcomes, differ = strings.check(artefacts(kind), drawn)
    assert set(differ.values()) == {0}, differ
    assert sum(outcomes.values()) == 300 and {what for _, what in outcomes} >= {"answered", "refused"}
