"""Hundreds of damaged manifests: each is answered exactly as before or refused in words, never by a traceback.

Two are asked: a manifest that was sealed when it was written and then changed, and one whose seal a forger renewed. A
forged value that fits the schema may change the answer (another label is another label), so there only the way of
failing is checked.
"""

import copy
import json
import random

import pytest

from serving.export.onnx.graphs import requirements
from serving.runtime import Runtime
from serving.runtime.artefact import read_manifest
from serving.runtime.errors import DamagedError, ServingError
from serving.runtime.manifest_format import Manifest, digest_of
from tests.house_rules import ROOT
from tests.serving import fake_artefact
from tools import cli
from zoo.core.documents import json_schema

KINDS = tuple(fake_artefact.KINDS)
MUTATIONS = 150  # of each kind, for each of the readers
TEXTS = ["abc", "", "a1 b2", "a\tb"]
VALUES = (
    *(None, True, False, 0, -1, 1, 2, 7, 2**63, 10**400, 0.5, -0.0, 1e308, float("nan"), float("inf"), float("-inf")),
    *(
        "",
        " ",
        "x",
        "0",
        "1",
        "-1",
        "../x",
        "/etc/passwd",
        "a\x00b",
        "\ud800",
        "ﬀ\u202e",
        "model.onnx",
        "9" * 5000,
        *KINDS,
    ),
    *([], {}, [None], [[]], [0], ["x", "x"], {"": None}, {"x": "x"}, {"../x": "0" * 64}, {"1": "source.spm"}),
)


@pytest.fixture(scope="module")
def artefacts(tmp_path_factory):
    """One of each kind, with every key that an export writes."""
    home = tmp_path_factory.mktemp("fuzz")
    return {kind: whole(fake_artefact.write(home / kind, kind), kind) for kind in KINDS}


def whole(artefact, kind):
    import onnx

    manifest = json.loads((artefact / "manifest.json").read_text())
    axis = {"name": "token_ids", "dtype": "int32", "shape": ["batch", "time", 3], "minimum": 0, "maximum": "time"}
    write = manifest["kind"] in ("generate", "continue")
    manifest |= {
        "onnx": {path.name: requirements(onnx.load(path)) for path in artefact.glob("*.onnx")},
        "signatures": [{"name": "f", "inputs": [axis], "outputs": [axis | {"name": "y"}]}],
        "texts": ["abc", "日本"],
        "max_input": 64,
        "scores": {"bleu": 31.5, "parts": [1, None, {"a": True}]},
        "parity": {"passed": True, "max_abs_diff": 1e-6, "largest": {"ONNX x": 1e-6}, "failures": []},
        "int8": None,
        "versions": {"keras": "3.15.1", "python": "3.11.9"},
        **({"longest_text": 9, "step": {"inputs": ["x"], "outputs": ["y"]}} if write else {}),
    }
    return fake_artefact.change(artefact, **manifest)


def sealed(manifest):
    manifest["manifest_sha256"] = digest_of(manifest)
    return manifest


def store(artefact, manifest):
    text = manifest if isinstance(manifest, (str, bytes)) else json.dumps(manifest)
    content = text if isinstance(text, bytes) else text.encode()
    (artefact / "manifest.json").write_bytes(content)


def places(value, path=()):
    """The path of every value inside a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def mutated(manifest, rng):
    """`(path, manifest)` with one value changed, dropped, doubled, nested, or put in the place of another."""
    manifest = copy.deepcopy(manifest)
    found = list(places(manifest))
    path = rng.choice(found if rng.random() < 0.6 else [path for path in found if len(path) == 1])
    home = manifest
    for key in path[:-1]:
        home = home[key]
    what, key = rng.choice(("value", "value", "value", "drop", "other", "text", "nest", "key", "number")), path[-1]
    if what == "value":
        home[key] = copy.deepcopy(rng.choice(VALUES))
    elif what == "drop":
        del home[key]
    elif what == "other":
        other = rng.choice(found)
        value = manifest
        for step in other:
            value = value[step]
        home[key] = copy.deepcopy(value)
    elif what == "text":
        home[key] = str(home[key]) + rng.choice(("x", "/", "\n", ".", "\x7f", "é"))
    elif what == "nest":
        value = home[key]
        for _ in range(rng.choice((1, 40, 400))):
            value = [value] if rng.random() < 0.5 else {"x": value}
        home[key] = value
    elif what == "key" and isinstance(home, dict):
        other = rng.choice(("", "x", "../x", "name", "1"))
        home[other] = home.pop(key)
        path = (*path, other or "''")
    elif isinstance(home[key], (int, float)):
        home[key] = -home[key]
    return path, manifest


def answers(artefact):
    runtime = Runtime(artefact, threads=1)
    found = [runtime.run(TEXTS)]
    if runtime.kind == "generate" and not found[0][0].error:  # a forged bound may be too small for the text
        found.append(runtime.attention("abc").weights.tolist())
    if "sampling" in runtime.options:
        from serving.runtime import Sampling

        found.append(runtime.run(TEXTS, sampling=Sampling(seed=1)))
    return found


@pytest.mark.slow(but=6)
@pytest.mark.parametrize("reader", ["sealed", "forged"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_manifest_is_refused_in_words_or_changes_nothing(artefacts, kind, reader):
    artefact, rng = artefacts[kind], random.Random(f"{kind} {reader}")
    original = (artefact / "manifest.json").read_bytes()
    manifest, expected = json.loads(original), answers(artefact)
    counts = {"refused": 0, "as before": 0, "otherwise": 0}
    try:
        for _ in range(MUTATIONS):
            path, changed = mutated(manifest, rng)
            if reader == "forged":
                changed.pop("manifest_sha256", None)
                try:
                    changed = sealed(changed)
                except RecursionError:
                    pass
            store(artefact, changed)
            outcome = ask(artefact, path, expected)
            counts[outcome] += 1
            if reader == "sealed":
                assert outcome == "refused" or changed == manifest, path
    finally:
        (artefact / "manifest.json").write_bytes(original)
    assert counts["refused"] > MUTATIONS / 3, counts


def ask(artefact, path, expected):
    try:
        found = answers(artefact)
    except ServingError as error:
        assert str(artefact) in str(error), error
        if "manifest.json is not a sound manifest" in str(error) and "manifest_sha256" not in str(error):
            assert any(str(key)[:20] in str(error) for key in path), (path, error)
        return "refused"
    return "as before" if found == expected else "otherwise"


CONTENTS = {
    "empty": b"",
    "not JSON": b"{",
    "cut": b'{"name": "a", "vers',
    "a list": b"[]",
    "a number": b"3",
    "null": b"null",
    "no UTF-8": b'{"name": "\xff"}',
    "a BOM": b"\xef\xbb\xbf{}",
    "UTF-16": '{"name": 1}'.encode("utf-16"),
    "NaN": b'{"name": NaN}',
    "infinity": b'{"name": -Infinity}',
    "a key twice": b'{"name": "a", "name": "b"}',
    "a key twice inside": b'{"files": {"a": 1, "a": 2}}',
    "deep lists": b"[" * 100_000,
    "deep objects": b'{"a":' * 100_000,
    "a number of 5,000 digits": b'{"name": ' + b"9" * 5000 + b"}",
    "zeros": bytes(1000),
    "two documents": b"{} {}",
    "little": b'{"name": "a", "version": 1}',
}
SAID = {
    "not JSON": "is damaged: expected JSON",
    "a list": "the whole document must be an object; received []",
    "little": "lacks format",
}


@pytest.mark.parametrize("name", CONTENTS)
def test_what_is_no_manifest_is_refused(tmp_path, name, capsys):
    store(tmp_path, CONTENTS[name])
    with pytest.raises(DamagedError, match=r"manifest\.json is (damaged|not a sound manifest)") as refused:
        read_manifest(tmp_path)
    assert SAID.get(name, "") in str(refused.value)
    assert cli.main(["run", str(tmp_path), "abc"]) == 1
    assert "manifest.json" in capsys.readouterr().err


def test_a_manifest_of_a_hundred_megabytes_is_not_read(tmp_path):
    with open(tmp_path / "manifest.json", "wb") as file:
        file.truncate(10**8)
    with pytest.raises(
        DamagedError, match="manifest.json is damaged: expected at most 16777216 bytes, found 100000000"
    ):
        read_manifest(tmp_path)


def test_wrong_use_and_damage_have_statuses_of_their_own(artefacts, tmp_path, capsys):
    assert cli.main(["run", str(tmp_path / "nowhere"), "abc"]) == 2
    assert cli.main(["run", str(tmp_path), "abc"]) == 2
    assert cli.main(["run", str(artefacts["generate"]), "abc", "--beam", "3"]) == 2
    manifest = json.loads((artefacts["tag"] / "manifest.json").read_text())
    for key, value in (("graphs", 3), ("tokenizer", None), ("version", "x"), ("labels", [1]), ("kind", [])):
        store(tmp_path, manifest | {key: value})
        assert cli.main(["run", str(tmp_path), "abc"]) == 1
        assert f"{key}" in capsys.readouterr().err


def test_the_json_schema_in_the_docs_is_that_of_the_reader():
    """`python -m serving.runtime.manifest_format > docs/manifest.schema.json` writes it."""
    stored = json.loads((ROOT / "docs" / "manifest.schema.json").read_text(encoding="utf-8"))
    assert stored == json_schema(Manifest, "manifest.json of a seqzoo artefact")
    assert set(stored["$defs"]["Manifest"]["properties"]) >= {"format", "files", "sizes", "onnx", "graphs", "max_input"}
