"""An artefact becomes a version in a hub as a whole, or not at all."""

import gzip
import hashlib
import json
import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from serving import Runtime
from serving.hub import Facts, TestSet, publish, publishing, shelf
from serving.hub.published import OUTPUTS, pack_outputs, unpack_outputs
from serving.runtime.artefact import check_files, read_manifest
from serving.runtime.errors import DamagedError, ParityError
from tests.recipes.small import recipe
from tests.serving import fake_artefact
from tests.serving.hub import echo
from tests.serving.hub.echo import FACTS, entries, files, six
from tools import cli
from zoo import scores
from zoo.hub import index as hub_index
from zoo.recipes import dumps
from zoo.recipes.folder import tokenizer_names

LIGHT = {
    "card.md",
    "manifest.json",
    "model.int8.onnx",
    "model.keras",
    "outputs.jsonl.gz",
    "recipe.toml",
    "source.spm",
    "target.spm",
}


def test_the_scores_are_those_of_its_own_answers(whole):
    (entry,) = entries(whole)
    found = {name: entry["scores"][name] for name in ("exact_match", "wer", "per")}
    assert found == pytest.approx({"exact_match": echo.EXACT, "wer": echo.WER, "per": echo.PER})
    outputs, references = zip(*echo.ROWS, strict=True)
    expected = scores.transduction(list(outputs), list(references), separator="")
    assert entry["scores"]["wer_interval"] == expected["wer_interval"] and entry["scores"]["count"] == 6


def test_the_entry_says_what_the_index_asks_for(whole):
    (entry,) = entries(whole)
    hub_index.check_index({"format": 1, "models": [entry]})
    said = {key: entry[key] for key in ("name", "version", "system", "cell", "attention", "task", "kind", "block")}
    assert said == {
        "name": "echo",
        "version": 1,
        "system": "recurrent",
        "cell": "gru",
        "attention": "additive",
        "task": "transduce",
        "kind": "generate",
        "block": None,
    }
    assert (entry["licence"], entry["data_licence"], entry["languages"]) == ("Apache-2.0", "CC-BY-4.0", ["de", "en"])
    assert entry["parity"] == {"max_abs_diff": 1e-6, "tolerance": 1e-4} and entry["int8"] is True
    assert entry["speed"]["precision"] == "int8" and entry["speed"]["milliseconds"] > 0 and entry["speed"]["batch"] == 1
    assert entry["requires"]["keras"] == ">=3.15" and "tensorflow" not in entry["requires"]
    assert entry["parameters"] > 1  # counted in model.keras, not believed of training.json


def test_a_light_artefact_is_whole_and_answers(whole):
    folder = whole / "echo" / "1"
    (entry,) = entries(whole)
    assert files(folder) == LIGHT == set(entry["files"]) == set(entry["bytes"])
    for name in LIGHT:
        content = (folder / name).read_bytes()
        assert (hashlib.sha256(content).hexdigest(), len(content)) == (entry["files"][name], entry["bytes"][name])
    manifest = read_manifest(folder)
    assert check_files(folder, manifest) == []
    assert manifest["graphs"] == {"tokens": "model.onnx"} and manifest["generation"] == {"4": "model.onnx"}
    assert {"encoder.onnx", "saved_model.pb", "model.onnx"} <= manifest["left_out"].keys()
    assert Runtime(folder).run(["abc"])[0].text == "abc"
    with pytest.raises(ValueError, match=r"holds no model.onnx; .*Use int8"):
        Runtime(folder, precision="float32").run(["abc"])


def test_a_published_model_is_run_by_its_name(whole, monkeypatch, capsys):
    monkeypatch.setenv("SEQZOO_HUB", str(whole))
    assert cli.main(["run", "echo", "bad cab"]) == 0
    assert capsys.readouterr().out == "bad cab\n"


def test_a_full_artefact_keeps_every_file(made, tmp_path):
    run, artefact = made
    entry = publish(artefact, run, tmp_path / "hub", FACTS, light=False, test=six(run))
    kept = set(entry["files"]) - {OUTPUTS}
    assert kept == files(artefact) and entry["requires"]["tensorflow"] == ">=2.21"
    assert "left_out" not in read_manifest(tmp_path / "hub" / "echo" / "1")
    assert Runtime(tmp_path / "hub" / "echo" / "1", precision="float32").run(["abc"], beam=1)[0].text == "abc"


def test_int8_that_loses_is_left_out(copied, tmp_path):
    """Its int8 graph leaves out the last symbol of every text."""
    run, artefact = copied
    import onnx

    onnx.save(fake_artefact.echo(4, end=2), artefact / "model.int8.onnx")
    fake_artefact.change(artefact)
    test = tmp_path / "longer.tsv"  # enough examples to tell that the difference is not chance
    test.write_text("".join(f"{one}\t{one}\n" for one in ("abc", "fed", "a b", "0")) * 20)
    entry = publish(artefact, run, tmp_path / "hub", FACTS, test=TestSet(str(test)))
    assert entry["int8"] is False and "model.onnx" in entry["files"] and "model.int8.onnx" not in entry["files"]
    assert entry["scores"]["exact_match"] == 100 and entry["speed"]["precision"] == "float32"
    assert read_manifest(tmp_path / "hub" / "echo" / "1")["test"]["float32_int8"]["exact_match"] == [100, 0]


def test_no_folder_of_the_machine_is_published(whole, made):
    text = (whole / "echo" / "1" / "recipe.toml").read_text()
    assert 'test = "/' in (made[0] / "recipe.toml").read_text() and '"/' not in text
    assert 'test = "test.tsv"' in text


def test_answers_are_kept_in_order_and_always_in_the_same_bytes(whole):
    content = (whole / "echo" / "1" / OUTPUTS).read_bytes()
    rows = [json.loads(line) for line in gzip.decompress(content).decode().splitlines()]
    assert [tuple(row.values()) for row in rows] == [(one, other, one) for one, other in echo.ROWS]
    inputs, references, outputs = unpack_outputs(content)
    assert pack_outputs(inputs, references, outputs) == content
    assert content[4:8] == b"\0\0\0\0"  # no time


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no gzip", "incorrect header"),
        (gzip.compress(b'{"input": "a"}\n'), "reference"),
        (gzip.compress(b'{"input": 1, "reference": "", "output": ""}\n'), "not of the form"),
        (gzip.compress(b'{"input": "a", "reference": "", "output": ["a"]}\n'), "not of the form"),
        (gzip.compress(b'{"input": "a", "reference": "a", "output": "a"}'), "has no end"),
        (gzip.compress(b""), "no line"),
        (gzip.compress(b"x" * 100)[:-9], "one gzip stream"),
        (gzip.compress(b"\n" * 3_000), "at most 2,000 bytes"),
    ],
    # Not the bytes, which hold a time.
    ids=["plain", "a key missing", "a number", "a list", "no newline", "empty", "cut", "too long"],
)
def test_answers_that_are_none_are_refused(content, message, monkeypatch):
    monkeypatch.setattr("serving.hub.published.MOST_BYTES", 2_000)
    with pytest.raises(DamagedError, match=message):
        unpack_outputs(content)


def changed(path, old, new):
    path.write_text(path.read_text().replace(old, new))


FAILED = {"passed": False, "max_abs_diff": 0.5, "tolerance": 1e-4}
WRONG = {
    "no parity": (
        lambda run, artefact: fake_artefact.change(artefact, parity=None),
        ParityError,
        "no report of parity",
    ),
    "failed parity": (
        lambda run, artefact: fake_artefact.change(artefact, parity=FAILED),
        ParityError,
        "largest difference is 0.5",
    ),
    "a damaged graph": (
        lambda run, artefact: (artefact / "model.onnx").write_bytes(b"other"),
        DamagedError,
        "model.onnx .another size",
    ),
    "a changed manifest": (
        lambda run, artefact: changed(artefact / "manifest.json", '"passed": true', '"passed": false'),
        DamagedError,
        "a value in the manifest was changed",
    ),
    "a name that is not safe": (
        lambda run, artefact: fake_artefact.change(artefact, name="..hidden"),
        ValueError,
        "name of a model",
    ),
    "another run's": (
        lambda run, artefact: changed(run / "recipe.toml", "units = 4", "units = 5"),
        ValueError,
        "was not exported from .*recipe.toml differ",
    ),
    "other vocabularies": (
        lambda run, artefact: (run / "target.spm").write_bytes(b"other"),
        ValueError,
        "target.spm differ",
    ),
    "an unfinished run": (lambda run, artefact: (run / "model.keras").unlink(), ValueError, "not a finished run"),
    "no artefact": (lambda run, artefact: (artefact / "manifest.json").unlink(), ValueError, "not an artefact"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_not_published(case, copied, made, tmp_path):
    change, error, message = WRONG[case]
    run, artefact = copied
    change(run, artefact)
    with pytest.raises(error, match=message):
        publish(artefact, run, tmp_path / "hub", FACTS, test=six(made[0]))
    assert not (tmp_path / "hub").exists() or files(tmp_path / "hub") <= {shelf.LOCK}


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        (("Apache 2", "lines", ("CC0-1.0",)), r"licence of the weights must be an SPDX .*received 'Apache 2'"),
        (("apache-2.0", "lines", ("CC0-1.0",)), "'apache-2.0': SPDX writes Apache-2.0"),
        (("MIT", "lines", ()), "licence of the data .lines. is missing"),
        (("MIT", " ", ("CC0-1.0",)), "name of the training data is missing"),
        (("MIT", "lines", ("free",)), "LicenseRef-NAME"),
        (("MIT", "lines", ("CC-BY-4.0",)), "CC-BY-4.0 asks to name the authors"),
        (("MIT", "lines", ("MIT", "LicenseRef-CC-BY-2.0-FR"), " "), "asks to name the authors"),
        (("MIT", "lines", ("MIT",), "", ("German!",)), "A language is a code such as de"),
        (("MIT", "lines", ("MIT",), "", (), 0.0), "core-hours of the training are a number above 0"),
        (("MIT", "lines", ("MIT",), "", (), float("nan")), "core-hours of the training are a number above 0"),
    ],
)
def test_facts_that_are_missing_or_wrong_are_told(facts, message):
    with pytest.raises(ValueError, match=message):
        Facts(*facts)


def test_a_test_set_is_needed(made, tmp_path):
    run, artefact = made
    with pytest.raises(ValueError, match="not scored on what it was trained on"):
        publish(artefact, run, tmp_path / "hub", FACTS, test=TestSet(split="train"))
    with pytest.raises(ValueError, match="nowhere.tsv"):
        publish(artefact, run, tmp_path / "hub", FACTS, test=TestSet(str(tmp_path / "nowhere.tsv")))


def test_the_command_publishes_with_the_licence_of_the_run(made, tmp_path, capsys):
    run, artefact = made
    words = ["hub", "publish", str(artefact), "--run", str(run), "--hub", str(tmp_path / "hub"), "--json"]
    words += ["--test", str(run.parent / "files" / "test.tsv")]
    assert cli.main([*words, "--licence", "MIT", "--data", "six lines", "--core-hours", "2.5"]) == 0
    assert "2.5 core-hours." in (tmp_path / "hub" / "echo" / "1" / "card.md").read_text()
    said = capsys.readouterr()
    assert json.loads(said.out)["data_licence"] == "CC0-1.0"  # of data.json
    assert "together" in said.err and "model.keras" in said.err
    assert cli.main([*words, "--licence", "free", "--data", "six lines"]) == 2
    assert "SPDX" in capsys.readouterr().err
    shutil.rmtree(tmp_path / "hub")


def test_what_is_large_is_told(made, tmp_path, monkeypatch):
    run, artefact = made
    monkeypatch.setattr("serving.hub.publishing.LARGE", 1_000)
    monkeypatch.setattr("serving.hub.publishing.WHOLE", 2_000)
    said = []
    publish(artefact, run, tmp_path / "hub", FACTS, test=six(run), log=said.append)
    assert sum(line.startswith("warning:") for line in said) == 2
    sizes = [int(line.split()[-1].replace(",", "")) for line in said if line.split()[0] in {*LIGHT, "together"}]
    assert len(sizes) == 9 and sizes[:-1] == sorted(sizes[:-1], reverse=True) and sizes[-1] == np.sum(sizes[:-1])


def test_an_artefact_may_be_older_than_a_setting(tmp_path):
    """Its recipe.toml lacks what has been added since, which so has its default."""
    one = recipe("classifier")
    newer = dumps(one)
    older = "".join(line for line in newer.splitlines(keepends=True) if not line.startswith(("prefetch", "parts =")))
    assert older != newer
    source = SimpleNamespace(directory=tmp_path, read=lambda name: (tmp_path / name).read_bytes())
    source.manifest = {"files": {name: "" for name in tokenizer_names(one)}}
    for name in tokenizer_names(one):
        (tmp_path / name).write_bytes(b"pieces")
    (tmp_path / "recipe.toml").write_text(older, "utf-8")
    publishing._check_same(source, one, tmp_path)
    with pytest.raises(ValueError, match="recipe.toml differ"):
        publishing._check_same(source, recipe("classifier", "training.seed=9"), tmp_path)
