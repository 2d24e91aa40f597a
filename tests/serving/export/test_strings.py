"""Graphs of texts: what onnxruntime-extensions computes in them is what the runtime answers, remarks included.

They are asked in a new process: where TensorFlow is imported first, the library of onnxruntime-extensions crashes.
"""

import gzip
import importlib.util
import json
import random
from types import SimpleNamespace

import onnx
import pytest
from onnx import helper

from serving.export import Settings, export, strings
from serving.export.again import verify
from serving.export.onnx.graphs import opset_of
from serving.export.onnx.strings import DOMAIN, UNREADABLE, with_strings
from serving.export.strings import check_model, compare
from serving.hub.published import choose_files, rewrite_manifest
from serving.runtime import Runtime
from serving.runtime.artefact import Artefact, read_manifest
from serving.runtime.errors import ParityError, UnsupportedError
from serving.runtime.reading import Bound
from tests.hostile.strings import HOSTILE
from tests.house_rules import ROOT
from tests.pages.blocks import blocks
from tests.serving import fake_artefact
from tests.serving.conftest import TEXTS, make_model, settings_of, sides
from tests.shared import python
from tests.text.samples import NASTY
from zoo.core.signatures import Signature, TensorSpec
from zoo.text import Tokenizer
from zoo.text.base import Around

ODD = [text for text in [*HOSTILE, *NASTY, " \u3000\u2028 "] if "\0" not in text]
ASK = """
import json, sys
from serving.export.strings import answers, open_session

graph, batches = open_session(sys.argv[1]), json.load(sys.stdin)
plain = lambda row: {name: value if isinstance(value, str) else value.tolist() for name, value in row.items()}
json.dump([[*map(plain, answers(graph, texts))] for texts in batches], sys.stdout)
"""
SHAPES = {
    "generate": {"output_text": "string", "scores": "float32", "errors": "string", "warnings": "string"},
    "classify": {"label": "string", "probabilities": "float32", "errors": "string", "warnings": "string"},
}


def wrapped(directory, path):
    """Write the default graph of an artefact with its tokenizers inside, and return the runtime of the artefact."""
    runtime, manifest = Runtime(directory, threads=1), read_manifest(directory)
    runtime.manifest.pop("usual", None)  # which a graph of texts does not compare with
    kind = manifest["kind"]
    outputs = [TensorSpec(name, dtype, ("batch",)) for name, dtype in SHAPES[kind].items()]
    if kind == "classify":
        outputs[1] = TensorSpec("probabilities", "float32", ("batch", len(manifest["labels"])))
    table = Signature("serving_default", (TensorSpec("text", "string", ("batch",)),), tuple(outputs))
    made = SimpleNamespace(
        name=kind,
        bound=Bound(runtime.max_input, runtime.overlong),
        settings=Settings.of(manifest),
        table=lambda name: table,
    )
    tokenizers = [Tokenizer.load(directory / file) for _, file in sorted(manifest["tokenizer"].items())]
    stored = Artefact(directory).preferred_file(runtime.modes[0].graph)
    graph = with_strings(onnx.load(directory / stored), made, tokenizers)
    onnx.save(graph, path)
    return runtime


def asked(graph, *batches):
    """What a graph of texts answers, a list for each batch, in a new process."""
    return json.loads(python("-c", ASK, graph, given=json.dumps(batches)).stdout)


def flatten(result):
    """What the runtime says of a text, and then its number."""
    notes = result.error or "", result.warning or ""
    return result.answer, *notes, result.probability if hasattr(result, "label") else result.score


def received(answer):
    number = answer["scores"] if "scores" in answer else max(answer["probabilities"])
    return answer.get("output_text", answer.get("label")), answer["errors"], answer["warnings"], float(number)


@pytest.mark.parametrize("kind", ["generate", "classify"])
def test_odd_texts_have_the_answers_of_the_runtime(kind, tmp_path):
    graph = tmp_path / "strings.onnx"
    runtime = wrapped(fake_artefact.write(tmp_path / "echo", kind), graph)
    rng = random.Random(1)
    circles = ["".join(rng.choices("abc", k=rng.randint(0, 9))) * rng.randint(1, 9) for _ in range(100)]
    texts = [*ODD, *circles, "a" * 63, "a" * 64, "ab" * 1000, "a" * 20_000]
    expected = list(map(flatten, runtime.run(texts)))
    together, *alone = asked(graph, texts, *([text] for text in texts))
    assert [received(row) for (row,) in alone] == expected
    assert list(map(received, together)) == expected  # rows of one batch do not meet
    said = " ".join(f"{error} {warning}" for _, error, warning, _ in expected)
    assert "characters, at most" in said and "tokens, at most" in said and "unknown to the model" in said
    if kind == "generate":
        assert "goes in circles" in said and "ends at the bound of 64 pieces" in said


def test_ids_stand_before_and_behind_every_text(tmp_path):
    directory, around = fake_artefact.write(tmp_path / "echo"), Around((7, 2), (3, 6, 5))
    source = Tokenizer.load(directory / "source.spm").with_around(*around)
    source.save(directory / "source.spm")
    fake_artefact.change(directory, max_input=9)
    runtime = wrapped(directory, tmp_path / "strings.onnx")
    texts = ["abc", "", "ab cd ef gh", "ha", "abcd", "?", "日本"]
    (found,) = asked(tmp_path / "strings.onnx", texts)
    assert list(map(received, found)) == list(map(flatten, runtime.run(texts)))
    written = [
        source.decode([[7, 2, *ids, 3, 6]])[0] for ids in source.encode(texts)
    ]  # the echo leaves the last id out
    assert [row["output_text"] for row in found] == [
        "" if not text or len(text) > 3 else answer for text, answer in zip(texts, written, strict=True)
    ]
    assert found[2]["errors"].endswith("tokens, at most 9")


@pytest.mark.parametrize(
    "rules", [{"max_length": 5}, {"length_ratio": 0.5, "length_extra": 2}, {"length_ratio": 0.1, "min_length": 3}]
)
def test_the_warning_of_a_bound_knows_the_rules_of_the_artefact(rules, tmp_path):
    directory = fake_artefact.write(tmp_path / "echo")
    fake_artefact.change(directory, rules=rules)
    runtime = wrapped(directory, tmp_path / "strings.onnx")
    texts = ["abcdefgh"[:count] for count in range(9)]
    expected = list(map(flatten, runtime.run(texts)))
    (found,) = asked(tmp_path / "strings.onnx", texts)
    assert list(map(received, found)) == expected
    assert len({warning for _, _, warning, _ in expected}) > 1


def test_a_text_with_a_nul_or_without_utf8_has_an_error_and_the_others_have_answers(tmp_path):
    wrapped(fake_artefact.write(tmp_path / "echo"), tmp_path / "strings.onnx")
    (found,) = asked(tmp_path / "strings.onnx", ["abc", "a\0b", "ab\0", "\0"])
    assert [row["errors"] for row in found] == ["", UNREADABLE, UNREADABLE, UNREADABLE]
    assert [row["output_text"] for row in found] == ["abc", "", "", ""]

    # Python gives a graph nothing but UTF-8; other languages can give any bytes, as a constant of this graph does here.
    model = onnx.load(tmp_path / "strings.onnx")
    stored = [b"a\xffb", b"\xc0\x80", b"\xe3\x81", b"abc"]
    model.graph.initializer.append(helper.make_tensor("stored", onnx.TensorProto.STRING, [4], stored))
    for node in model.graph.node:
        node.input[:] = ["bytes" if name == "text" else name for name in node.input]
    model.graph.node.insert(0, helper.make_node("Where", ["never", "text", "stored"], ["bytes"]))
    model.graph.initializer.append(helper.make_tensor("never", onnx.TensorProto.BOOL, [1], [False]))
    onnx.save(model, tmp_path / "bytes.onnx")
    (found,) = asked(tmp_path / "bytes.onnx", [""] * 4)
    assert [row["errors"] for row in found] == [UNREADABLE] * 3 + [""]
    assert [row["output_text"] for row in found] == ["", "", "", "abc"]


def test_it_needs_onnxruntime_extensions(monkeypatch):
    find = importlib.util.find_spec
    hidden = lambda name, *rest: None if name == "onnxruntime_extensions" else find(name, *rest)  # noqa: E731
    monkeypatch.setattr(importlib.util, "find_spec", hidden)
    with pytest.raises(UnsupportedError, match=r"pip install 'seqzoo\[strings\]'"):
        settings_of("generate", strings=True)


def test_other_kinds_and_cut_texts_are_refused():
    with pytest.raises(ValueError, match="one is of the kind 'tag'. Leave --strings out"):
        check_model(SimpleNamespace(name="tag", text_graph=None), [])
    with pytest.raises(ValueError, match="overlong='truncate'"):
        check_model(SimpleNamespace(text_graph="tokens", bound=Bound(9, "truncate")), [])
    with pytest.raises(ValueError, match="this model's are wordpiece"):
        check_model(SimpleNamespace(text_graph="tokens"), [SimpleNamespace(kind=""), SimpleNamespace(kind="wordpiece")])


def test_a_graph_that_one_file_cannot_hold_is_left_out(tmp_path, monkeypatch):
    directory, told = fake_artefact.write(tmp_path / "echo"), []
    (directory / "model.int8.onnx").unlink()
    kind = SimpleNamespace(text_graph="tokens", functions={"tokens": SimpleNamespace(graph="model.onnx")})
    monkeypatch.setattr(strings, "MOST_BYTES", 3)
    with pytest.raises(ValueError, match="one file cannot hold the weights"):
        strings.write(kind, [], directory, told.append)
    assert told == ["strings.onnx is left out: its weights would be more than 3 bytes in one file"]


ALPHABETS = [
    "abc ABC äöüß.,!?",
    "".join(map(chr, range(1, 32))) + "\x7f\x80\x85\x9f",
    "e\u0301u\u0308o\u0335\u0300\u036f\u20dd\ufe0f",
    "\u200b\u200c\u200d\u2060\ufeff\u00ad\u180e\u202e\u2066\u2069",
    "漢字かなカナ한국어，。？！　ﾊﾟ",
    "😀👩👧🏽\u200d🚀🏳\ufe0f🌈",
    "ﬁ①½１Ａ㎏\u2126\u212b𝐀ſ\u0130\u0131",
    "שלום नमस्ते مرحبا \u0645\u06cc\u200c",
    "\ue000\ufffd\ufffe\uffff\U0010ffff\U000e0041",
    "\u2581<s></s><pad><unk>\u2047\u2028\u2029\xa0\u2003\t\n\r",
]


def odd(count):
    """Texts of one alphabet, of several, and of German with something odd inside; some empty, some very long."""
    rng = random.Random(7)
    for number in range(count):
        alphabet = "".join(rng.sample(ALPHABETS, rng.choice([1, 1, 2, 4])))
        text = "".join(rng.choices(alphabet, k=rng.choice([0, 1, 2, 5, 20, 60])))
        if number % 3 == 0:
            words = "ein Mann geht über die Straße und lacht".split()
            text = " ".join([*words[:4], text, *words[4:]])
        yield text * rng.choice([40, 500, 20_000]) if number % 50 == 0 else text


@pytest.mark.slow
def test_a_published_translator_answers_real_and_odd_texts(tmp_path):
    (directory,) = (ROOT / "hub" / "translate-de-en").iterdir()
    runtime = wrapped(directory, tmp_path / "strings.onnx")
    with gzip.open(directory / "outputs.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["input"] for line in lines][:1000] + list(odd(1000))
    expected = [flatten(result) for text in texts for result in runtime.run([text])]
    found = [received(row) for (row,) in asked(tmp_path / "strings.onnx", *([text] for text in texts))]
    assert found == expected
    (block,) = blocks(ROOT / "docs" / "serving.md", "py")  # in a new process, too
    assert "artefacts/de-en/1/strings.onnx" in block.text
    code = block.text.replace("artefacts/de-en/1", str(tmp_path))
    done = python("-c", code)
    assert all(result.text in done.stdout for result in runtime.run(["Ein Mann liest.", "Zwei Hunde."]))
    assert sum(bool(error) for _, error, *_ in expected) > 5 and sum(bool(said) for _, _, said, _ in expected) > 300


@pytest.mark.release(but="classify")
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["generate", "classify"])
def test_an_export_writes_compares_and_verifies_them(kind, tokenizers, tmp_path):
    directory = export(
        make_model(kind, tokenizers),
        sides(kind, tokenizers),
        tmp_path,
        settings_of(kind, strings=True, calibration=[*TEXTS] * 40),
    )
    manifest = read_manifest(directory)
    assert "usual" in manifest  # of which the graphs say nothing
    entry = manifest["strings"]
    assert entry["graphs"] == ["strings.onnx", "strings.int8.onnx"] and entry["texts"] > len(TEXTS)
    assert entry["max_abs_diff"] < 1e-5
    for name in entry["graphs"]:
        assert f"{DOMAIN}::SentencepieceTokenizer" in manifest["onnx"][name]["operators"]
        assert name in manifest["files"] and opset_of(onnx.load(directory / name)) == manifest["onnx"][name]["opset"]
    table = next(table for table in manifest["signatures"] if table["name"] == entry["signature"])
    assert verify(directory)["strings"]["texts"] == entry["texts"]
    files = {name: (directory / name).read_bytes() for name in choose_files(manifest, "float32")}
    light = json.loads(rewrite_manifest(manifest, files, precision="float32"))
    assert "strings" not in light and "strings.onnx" in light["left_out"]
    (found,) = asked(directory / "strings.onnx", TEXTS)
    assert list(found[0]) == [spec["name"] for spec in table["outputs"]]
    assert list(map(received, found)) == pytest.approx(list(map(flatten, Runtime(directory).run(TEXTS))), abs=1e-4)


def test_a_graph_that_answers_otherwise_is_found(tmp_path):
    directory = fake_artefact.write(tmp_path / "echo")
    wrapped(directory, directory / "strings.onnx")
    fake_artefact.change(directory)
    kind = SimpleNamespace(extremes=lambda: ["", "a " * 1024])
    report = compare(kind, directory, ["abc"])
    assert report["graphs"] == ["strings.onnx"] and report["max_abs_diff"] < 1e-6

    model = onnx.load(directory / "strings.onnx")
    last = next(node for node in model.graph.node if "output_text" in node.output)
    last.op_type, last.input[:] = "StringConcat", [last.input[0], "mark"]
    model.graph.initializer.append(helper.make_tensor("mark", onnx.TensorProto.STRING, [1], [b"!"]))
    onnx.save(model, directory / "strings.onnx")
    with pytest.raises(ParityError, match=r"strings.onnx, 'abc': expected .*'abc'.*received .*'abc!'"):
        compare(kind, directory, ["abc"])
