"""The index: its check agrees with jsonschema on what fits, and with itself on what a schema cannot say."""

import copy
import json
import random

import jsonschema
import pytest

from tests.house_rules import ROOT
from tests.hub import tiny
from zoo import hub
from zoo.core.documents import Mismatch, check, json_schema
from zoo.hub import index

ENTRY = tiny.entry(
    "a-model", 3, int8=True, speed={"milliseconds": 1.5, "batch": 1, "precision": "int8", "processor": "x"}
)
WRONG = [  # a key of an entry, a value that does not fit, and what the message says
    ("name", "../up", "a name of lower-case letters"),
    ("name", "Dates", "a name of lower-case letters"),
    ("name", "dates\n", "a name of lower-case letters"),
    ("name", "", "a name of lower-case letters"),
    ("version", 0, "a whole number from 1"),
    ("version", True, "a whole number from 1"),
    ("version", "1", "a whole number from 1"),
    ("system", None, "a short name in ASCII"),
    ("languages", "de", "a list of language codes"),
    ("languages", ["german!"], "a language code such as de"),
    ("licence", "", "an SPDX licence expression"),
    ("licence", "MIT\x1b[2J", "an SPDX licence expression"),
    ("data_licence", ["MIT\x1b"], "an SPDX licence expression, or a list"),
    ("data_licence", [], "an SPDX licence expression, or a list"),
    ("attribution", "\x1b[31mred", "a text without control characters"),
    ("attribution", "\ud800", "a text without control characters"),
    ("parameters", -1, "a whole number of at least 0"),
    ("parameters", 1.5, "a whole number of at least 0"),
    ("bytes", {"manifest.json": 10**13}, "at most 64 GiB"),
    ("bytes", {"manifest.json": -1}, "at most 64 GiB"),
    ("files", {}, "1 to 1000 files"),
    ("files", {"manifest.json": "0" * 63}, "64 hexadecimal digits"),
    ("files", {"manifest.json": "A" * 64}, "64 hexadecimal digits"),
    ("files", {"../x": "0" * 64}, "a relative path"),
    ("files", {"/etc/passwd": "0" * 64}, "a relative path"),
    ("files", {"C:\\x": "0" * 64}, "a relative path"),
    ("files", {"a\\b": "0" * 64}, "a relative path"),
    ("files", {"a/../b": "0" * 64}, "a relative path"),
    ("files", {"a//b": "0" * 64}, "a relative path"),
    ("files", {"a/": "0" * 64}, "a relative path"),
    ("files", {".hidden": "0" * 64}, "a relative path"),
    ("files", {"x\n": "0" * 64}, "a relative path"),
    ("files", {"http://elsewhere/x": "0" * 64}, "a relative path"),
    ("scores", [], "an object of scores"),
    ("scores", {"bleu": {"a": 1}}, "a number, a text"),
    ("parity", None, "an object with max_abs_diff"),
    ("parity", {"tolerance": 1}, "lacks max_abs_diff"),
    ("int8", 1, "true, false or null"),
    ("speed", {"milliseconds": 1}, "or null"),
    ("requires", {"onnxruntime": "1.24"}, "the oldest version"),
    ("published", "22.11.2026", "a date such as"),
    ("withdrawn", "", "or the reason"),
    ("withdrawn", False, "or the reason"),
    ("elsewhere", {"captions": {"bleu": "much"}}, "a number, or an interval"),
]


def fits(document):
    try:
        index.check_index(document)
    except Mismatch:
        return False
    return True


SCHEMA = json_schema(index.Index, "index.json of a hub of seqzoo models")


def test_the_schema_in_the_docs_is_that_of_the_reader():
    """`python -m zoo.hub.index > docs/index.schema.json` writes it."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert json.loads((ROOT / "docs" / "index.schema.json").read_text(encoding="utf-8")) == SCHEMA
    described = SCHEMA["$defs"]["Entry"]
    assert set(described["required"]) == set(described["properties"]) - {"elsewhere"} == ENTRY.keys()


@pytest.mark.parametrize(("key", "value", "said"), WRONG)
def test_what_does_not_fit_is_refused_by_both(key, value, said):
    document = tiny.index(ENTRY | {key: value})
    with pytest.raises(Mismatch) as caught:
        index.check_index(document)
    assert said in str(caught.value) and f"models[0].{key}" in str(caught.value)
    assert not jsonschema.Draft202012Validator(SCHEMA).is_valid(document)


SIGNED = {"date": "2026-11-25T15:00:00.000000Z", "days": 90, "signature": "MEUC"}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("date", "2026-11-25"),
        ("date", "2026-11-25T15:00:00.000000+01:00"),
        ("date", "2026-13-25T15:00:00.000000Z"),
        ("days", 0),
        ("days", 10**9),
        ("days", 1.5),
        ("signature", "x y"),
        ("signature", "A" * 1000),
    ],
)
def test_a_signature_that_does_not_fit_is_refused_by_both(key, value):
    validator = jsonschema.Draft202012Validator(SCHEMA)
    document = tiny.index(ENTRY) | {"signed": SIGNED}
    assert index.check_index(document) and validator.is_valid(document)
    document["signed"] = SIGNED | {key: value}
    with pytest.raises(Mismatch, match=f"index.signed.{key} must be"):
        index.check_index(document)
    assert not validator.is_valid(document)
    with pytest.raises(Mismatch, match="a day of the calendar"):
        index.check_index(document | {"signed": SIGNED | {"date": "2026-02-30T15:00:00.000000Z"}})


def test_both_agree_on_random_changes():
    """500 entries of which something was replaced, taken away or added."""
    validator = jsonschema.Draft202012Validator(SCHEMA)
    draw, verdicts = random.Random(5), []
    values = [
        None,
        True,
        0,
        1,
        -1,
        2**70,
        1.5,
        "",
        "a",
        "A b",
        "a\n",
        [],
        ["a"],
        [1],
        {},
        {"a": 1},
        {"manifest.json": 1},
    ]
    for _ in range(500):
        document = copy.deepcopy(tiny.index(ENTRY))
        node = draw.choice(
            [document, *document["models"] * 8, *(ENTRY[k] and document["models"][0][k] for k in ("speed", "scores"))]
        )
        key = draw.choice([*node, "further"])
        if draw.random() < 0.1:
            node.pop(key, None)
        else:
            node[key] = draw.choice(values)
        try:
            check(document, index.Index, "index")
            ours = True
        except Mismatch:
            ours = False
        assert ours == validator.is_valid(document), document
        verdicts.append(ours)
    assert 0.1 < sum(verdicts) / len(verdicts) < 0.9


@pytest.mark.parametrize(("key", "value"), [("data_licence", "MIT\x1b[2J"), ("scores", {"note": "\x1b[31mred"})])
def test_texts_among_lists_have_no_control_characters(key, value):
    with pytest.raises(Mismatch, match=rf"models\[0\] \(a-model@3\)\.{key}.* must be a"):
        index.check_index(tiny.index(ENTRY | {key: value}))


def test_a_whole_number_has_no_point():
    """JSON Schema takes 2.0 for a whole number; here it is refused, as sizes are counted in Python's integers."""
    with pytest.raises(Mismatch, match="a whole number of bytes, at most 64 GiB; received 2.0"):
        index.check_index(tiny.index(ENTRY | {"bytes": {"manifest.json": 2.0}}))


def test_the_index_agrees_with_itself():
    assert index.check_index(tiny.index(ENTRY, ENTRY | {"version": 4, "further": [1]}))
    with pytest.raises(Mismatch, match=r"models\[1\] \(a-model@3\) occurs twice"):
        index.check_index(tiny.index(ENTRY, ENTRY))
    with pytest.raises(Mismatch, match="of the same files as `files`; received .'x'"):
        index.check_index(tiny.index(ENTRY | {"bytes": ENTRY["bytes"] | {"x": 1}}))
    with pytest.raises(Mismatch, match="with manifest.json; received .'x'"):
        index.check_index(tiny.index(ENTRY | {"bytes": {"x": 1}, "files": {"x": "0" * 64}}))
    for first, second in (("a", "A"), ("a", "a/b"), ("a/b", "A")):
        names = ["manifest.json", first, second]
        pair = {"bytes": dict.fromkeys(names, 1), "files": dict.fromkeys(names, "0" * 64)}
        with pytest.raises(Mismatch, match="one file where upper and lower case are one"):
            index.check_index(tiny.index(ENTRY | pair))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"<html>Not found</html>", "the index must be JSON; received b'<html>"),
        (b"\xff\xfe", "must be JSON"),
        (b"", "must be JSON"),
        (b"[]", "must be an object"),
        (b"null", "must be an object"),
        (b'{"format": 1}', "lacks models"),
        (b'{"format": 2, "models": []}', "the format of the index that this reader knows; received 2"),
        (b'{"format": true, "models": []}', "the format"),
        (b'{"format": 1, "format": 1, "models": []}', "'format' occurs twice"),
        (b'{"format": 1, "models": [], "x": NaN}', "NaN is not a number"),
        (b'{"format": 1, "models": [' + b"[" * 100_000, "nested too deeply"),
        (b" " * (2**24 + 1), "at most 16,777,216 bytes"),
    ],
)
def test_what_is_no_index(content, said):
    with pytest.raises(Mismatch) as caught:
        index.parse(content)
    assert said in str(caught.value)


def test_the_newest_version_that_is_not_withdrawn():
    entries = [tiny.entry("a", 2), tiny.entry("a", 10), tiny.entry("b", 11), tiny.entry("a", 12, withdrawn="It lies.")]
    assert index.choose(entries, "a")["version"] == 10
    assert index.choose(entries, "a", 12)["withdrawn"] == "It lies."
    assert index.choose(entries[3:], "a")["version"] == 12  # so that its reason can be told
    assert index.choose(entries, "a", 3) is index.choose(entries, "c") is None


def test_names():
    assert index.split("dates") == ("dates", None) and index.split("g2p-v1.1@12") == ("g2p-v1.1", 12)
    for wrong in ("", "@1", "a@", "a@0", "a@1.5", "a@b", "../a", "a b", "a@1@2", "a\n", "A"):
        with pytest.raises(ValueError, match="is not the name of a model"):
            index.split(wrong)


def test_the_files_of_a_run(models):
    entry = next(each for each in json.loads((models / "index.json").read_text())["models"] if each["version"] == 2)
    assert index.run_files(entry) == ["manifest.json", "source.spm", "target.spm", "model.int8.onnx"]
    assert index.run_files(entry | {"int8": False})[-1] == index.run_files(entry, "float32")[-1] == "model.onnx"
    assert index.run_files(entry | {"int8": None}, "int8")[-1] == "model.int8.onnx"


def test_the_public_names_are_there():
    for name in hub.__all__:
        assert getattr(hub, name) is not None


def test_what_is_near_is_spelled_alike_not_only_as_long():
    names = ["dates", "dates-pre-norm", "pronounce-el", "pronounce-hu", "pronounce-lt", "translate-de-en"]
    assert index.nearest("datse", names)[0] == "dates" and index.nearest("dates-prenorm", names)[0] == "dates-pre-norm"
    assert index.nearest("translate-fr-en", names) == ["translate-de-en"]
    assert index.nearest("nosuchmodel", names) == index.nearest("nosuch", names) == []
