"""What `seqzoo hub gallery` writes, and what it refuses; no browser is needed."""

import gzip
import hashlib
import json
import shutil

import pytest

from serving.gallery import vendored, write, writing
from serving.gallery.writing import collect_facts
from serving.runtime.artefact import open_artefact
from serving.runtime.errors import DamagedError, UnsupportedError
from tests.serving import fake_artefact
from tools import cli


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def written(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def artefact(tmp_path):
    return fake_artefact.write(tmp_path / "made" / "echo" / "1")


def test_a_gallery_holds_what_it_says(artefact, tmp_path):
    lines = []
    out = write([str(artefact)], tmp_path / "new" / "out", log=lines.append)
    files = written(out)
    index = json.loads(files["gallery.json"])
    (entry,) = index["models"]
    assert (entry["name"], entry["kind"], entry["folder"]) == ("echo", "generate", "models/echo/1")
    assert entry["manifest"] == sha256(files["models/echo/1/manifest.json"])
    held = {name.rpartition("/")[2]: content for name, content in files.items() if name.startswith("models/")}
    assert held == {name: (artefact / name).read_bytes() for name in entry["bytes"]}
    assert {name: len(content) for name, content in held.items()} == entry["bytes"]
    # The graph of the default beam and the tokenizers: not the halves of the search, not the greedy graph.
    assert sorted(held) == ["manifest.json", "model.onnx", "source.spm", "target.spm"]
    assert [[name, sha256(held[name])] for name in sorted(set(held) - {"manifest.json"})] == entry["needed"]
    assert sha256(files[index["engine"]["path"]]) == index["engine"]["sha256"]
    models = {name for name in files if name.startswith("models/")}
    assert set(index["files"]) == files.keys() - models - {"gallery.json"}
    assert b"GALLERY" not in files["offline.js"]
    assert sorted(path.name for path in out.parent.iterdir()) == ["out"]
    assert lines == [f"echo: {sum(entry['bytes'].values()):,} bytes"]


def test_a_gallery_is_replaced_and_the_same_again(artefact, tmp_path):
    out = write([str(artefact)], tmp_path / "out")
    before = written(out)
    (out / "left behind").write_text("")
    assert written(write([str(artefact)], out)) == before
    other = fake_artefact.write(tmp_path / "made" / "tag" / "1", "tag")
    after = written(write([str(other)], out))
    assert after["offline.js"] != before["offline.js"] and "models/echo/1/source.spm" in after
    assert json.loads(after["gallery.json"])["models"][0]["graphs"] == {"tag": "model.onnx"}


@pytest.mark.parametrize(
    ("kind", "graphs"),
    [
        ("continue", {"search": "greedy.onnx", "sample": "sample.onnx"}),
        ("classify", {"classify": "model.onnx"}),
    ],
)
def test_graphs_of_each_kind(kind, graphs, tmp_path):
    out = write([str(fake_artefact.write(tmp_path / "made" / "1", kind))], tmp_path / "out")
    entry = json.loads((out / "gallery.json").read_text())["models"][0]
    assert entry["graphs"] == graphs and all((out / entry["folder"] / name).is_file() for name in graphs.values())
    assert [name for name, _ in entry["needed"]] == sorted({"source.spm", *graphs.values()} - {"sample.onnx"})


def test_examples_come_from_the_test_set():
    facts = collect_facts(open_artefact("dates"))
    assert facts["licence"] == "Apache-2.0" and "ko" in facts["languages"] and facts["cell"] == "gru"
    assert len(facts["examples"]) == 5 and "7 Kasım 1973 Çarşamba" in facts["examples"]
    assert all(
        text.count("\n") == 0 and 0 < len(text) <= 60
        for text in collect_facts(open_artefact("shakespeare-reformer"))["examples"]
    )


def wrong(fault, artefact, tmp_path):
    """The names of a gallery with a fault in it."""
    if fault == "nothing":
        return []
    if fault == "twice":
        return [str(artefact), str(shutil.copytree(artefact, tmp_path / "again"))]
    if fault == "damaged":
        (artefact / "source.spm").write_bytes(b"other")
    if fault == "name":
        fake_artefact.change(artefact, name="..")
    if fault == "newer":
        fake_artefact.change(artefact, onnx={"model.onnx": {"opset": 17, "operators": [], "onnxruntime": "9.1"}})
    if fault == "kind":
        fake_artefact.change(artefact, kind="sing")
    return [str(artefact)] if fault != "unknown" else ["dotes"]


@pytest.mark.parametrize(
    ("fault", "error", "said"),
    [
        ("nothing", ValueError, "at least one model"),
        ("unknown", ValueError, "did you mean 'dates'"),
        ("twice", ValueError, "two models called 'echo'"),
        ("name", ValueError, "is called '..'"),
        ("damaged", DamagedError, "source.spm is damaged"),
        ("newer", UnsupportedError, "needs ONNX Runtime 9.1; that of the gallery is 1."),
        ("kind", UnsupportedError, "of the kind 'sing', which no gallery shows"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_written(fault, error, said, artefact, tmp_path):
    names = wrong(fault, artefact, tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises(error, match=said):
        write(names, tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == before


def test_a_folder_of_something_else_stays_as_it_is(artefact, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds something that is no gallery"):
        write([str(artefact)], out)
    with pytest.raises(ValueError, match="is no folder"):
        write([str(artefact)], out / "mine.txt")
    assert written(out) == {"mine.txt": b"mine"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made", "out"]


def test_a_gallery_stays_where_a_new_one_cannot_be_written(artefact, tmp_path, monkeypatch):
    out = write([str(artefact)], tmp_path / "out")
    before = written(out)
    put = writing._put

    def full(path, content):
        if path.name == "style.css":
            raise OSError(28, "No space left on device", str(path))
        put(path, content)

    monkeypatch.setattr(writing, "_put", full)
    with pytest.raises(OSError, match="No space left"):
        write([str(artefact)], out)
    assert written(out) == before and sorted(path.name for path in tmp_path.iterdir()) == ["made", "out"]


def test_the_command(artefact, tmp_path, capsys):
    out = tmp_path / "out"
    assert cli.main(["hub", "gallery", "--out", str(out), str(artefact), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["path"] == str(out) and told["models"] == 1
    assert told["bytes"] == sum(map(len, written(out).values()))
    assert cli.main(["hub", "gallery", "--out", str(tmp_path / "other"), "dotes"]) == 2
    assert "did you mean 'dates'" in capsys.readouterr().err and not (tmp_path / "other").exists()


def test_what_others_wrote_has_the_bytes_that_were_checked(tmp_path, monkeypatch):
    assert {file.licence for file in vendored.FILES} == {"MIT", "Apache-2.0"}
    for file in vendored.FILES:
        assert sha256(vendored.unpack(file)) == file.sha256
    (tmp_path / "vendor").mkdir()
    monkeypatch.setattr(vendored.resources, "files", lambda package: tmp_path)
    for content, said in ((gzip.compress(b"other"), "is damaged"), (b"no gzip", "cannot be read")):
        (tmp_path / "vendor" / f"{file.name}.gz").write_bytes(content)
        with pytest.raises(DamagedError, match=said):
            vendored.packed(file)


def test_taking_the_files_from_packages(tmp_path):
    spm = next(file for file in vendored.FILES if file.only)
    home = tmp_path / spm.package / spm.path
    home.parent.mkdir(parents=True)
    home.write_text("import a from 'b';\nvar createSentencePieceModule=(()=>1)();\nconst llama = 'x';\n")
    assert vendored.extract(spm, tmp_path) == (
        b"var createSentencePieceModule=(()=>1)();\nexport default createSentencePieceModule;\n"
    )
