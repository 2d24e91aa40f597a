"""Nothing is trusted because it lies in the right folder: hashes before use, paths inside the artefact."""

import json
import os
import shutil

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from serving.runtime import Runtime
from serving.runtime.artefact import Artefact, check_files, extra_files, read_manifest
from serving.runtime.errors import DamagedError, ServingError, UnsupportedError
from serving.runtime.loaded import Loaded
from serving.runtime.sessions import check_version, external_files
from tests.serving import fake_artefact
from tools import cli


@pytest.fixture
def artefact(tmp_path):
    return fake_artefact.write(tmp_path / "echo" / "1")


@pytest.mark.parametrize("name", ["source.spm", "target.spm", "model.onnx", "encoder.onnx", "step.onnx"])
def test_no_file_is_used_before_its_hash_was_compared(artefact, name):
    content, other = (artefact / name).read_bytes(), {b"\x0a\x01a": b"\x0a\x01q", b"fake": b"echo"}
    for one in other:  # a piece of a tokenizer, the name of a graph: everything still loads
        content = content.replace(one, other[one], 1)
    (artefact / name).write_bytes(content)
    with pytest.raises(DamagedError, match=rf"{name} is damaged: .*SHA-256.*seqzoo verify.*--no-verify"):
        Runtime(artefact).run(["abc"])
        Runtime(artefact).attention("abc")


def test_a_swapped_tokenizer_is_no_answer(artefact, capsys):
    """Its library reads it, its pieces are others: before, another answer came with exit status 0."""
    content = (artefact / "source.spm").read_bytes()
    (artefact / "source.spm").write_bytes(content.replace(b"\x0a\x01a", b"\x0a\x01q", 1))
    assert cli.main(["run", str(artefact), "abc"]) == 1
    assert "source.spm is damaged" in capsys.readouterr().err
    assert cli.main(["run", str(artefact), "abc", "--no-verify"]) == 0
    assert Runtime(artefact, verify=False).run(["abc"])[0].text != "abc"


def test_the_bytes_that_were_compared_are_the_bytes_that_are_used(artefact, monkeypatch):
    """Each file is opened once: between a check and a second reading it could be exchanged."""
    opened = []

    def counted(path, *rest, open_=os.open, **more):
        opened.append(os.path.basename(path))
        return open_(path, *rest, **more)

    monkeypatch.setattr(os, "open", counted)
    runtime = Runtime(artefact)
    runtime.run(["abc"])
    runtime.run(["abc"])
    assert sorted(opened) == ["manifest.json", "model.onnx", "source.spm", "target.spm"]
    shutil.rmtree(artefact)
    assert runtime.run(["abc"])[0].text == "abc"


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("graphs", {"tokens": "../outside.onnx", "greedy": "greedy.onnx"}),
        ("tokenizer", {"source": "/etc/hostname", "target": "target.spm"}),
        ("tokenizer", {"source": "./source.spm", "target": "target.spm"}),
        ("tokenizer", {"source": "a/../source.spm", "target": "target.spm"}),
        ("tokenizer", {"source": "a//source.spm", "target": "target.spm"}),
        ("tokenizer", {"source": "C:source.spm", "target": "target.spm"}),
        ("tokenizer", {"source": "..\\source.spm", "target": "target.spm"}),
        ("files", {"../../other": "0" * 64}),
        ("generation", {"1": "greedy.onnx", "4": "unlisted.onnx"}),
    ],
)
def test_paths_stay_inside_and_are_listed(artefact, verify, key, value):
    fake_artefact.change(artefact, **{key: value})
    with pytest.raises(DamagedError, match=rf"manifest.json is not a sound manifest.*{key}"):
        Runtime(artefact, verify=verify)


@pytest.mark.parametrize("verify", [True, False])
@pytest.mark.parametrize("link", ["file", "folder", "manifest", "circle"])
def test_no_link_leads_out_of_the_artefact(artefact, tmp_path, verify, link):
    outside = shutil.copytree(artefact, tmp_path / "outside")
    if link == "file":
        (artefact / "source.spm").unlink()
        (artefact / "source.spm").symlink_to(outside / "source.spm")
    elif link == "folder":
        (artefact / "parts").symlink_to(outside)
        manifest, name = read_manifest(artefact), "parts/source.spm"
        keys = {key: manifest[key] | {name: manifest[key]["source.spm"]} for key in ("files", "sizes")}
        fake_artefact.change(artefact, tokenizer=manifest["tokenizer"] | {"source": name}, **keys)
    elif link == "manifest":
        (artefact / "manifest.json").unlink()
        (artefact / "manifest.json").symlink_to(outside / "manifest.json")
    else:
        (artefact / "source.spm").unlink()
        (artefact / "source.spm").symlink_to("source.spm")
    with pytest.raises(DamagedError, match="lies outside of the artefact|cannot be read"):
        Runtime(artefact, verify=verify)
    if link in ("file", "folder"):
        with pytest.raises(DamagedError, match=r"source.spm \(outside of the artefact\)"):
            check_files(artefact, read_manifest(artefact))


def test_an_artefact_may_be_reached_through_a_link_and_hold_links_to_itself(artefact, tmp_path):
    (artefact / "store").mkdir()
    (artefact / "model.onnx").rename(artefact / "store" / "model.onnx")
    (artefact / "model.onnx").symlink_to("store/model.onnx")
    (tmp_path / "link").symlink_to(artefact)
    assert Runtime(tmp_path / "link").run(["abc"])[0].text == "abc"


@pytest.mark.parametrize("what", ["missing", "folder", "pipe"])
def test_only_a_regular_file_is_read(artefact, what):
    path = artefact / "source.spm"
    path.unlink()
    if what == "folder":
        path.mkdir()
    elif what == "pipe":
        os.mkfifo(path)
    with pytest.raises(DamagedError, match="source.spm"):
        Runtime(artefact)
    with pytest.raises(DamagedError, match=r"source.spm \(missing\)"):
        check_files(artefact, read_manifest(artefact))


def test_a_graph_that_is_not_listed_is_not_used(artefact):
    shutil.copy(artefact / "greedy.onnx", artefact / "greedy.int8.onnx")
    with pytest.raises(DamagedError, match=r"greedy.int8.onnx is not used: manifest.json does not list it"):
        Runtime(artefact, precision="int8", verify=False).run(["abc"], beam=1)


def test_extra_files_are_found(artefact, tmp_path):
    (artefact / "parts").mkdir()
    (artefact / "parts" / "more.txt").touch()
    (artefact / "elsewhere").symlink_to(tmp_path)
    assert check_files(artefact, read_manifest(artefact)) == ["elsewhere", "parts/more.txt"]
    assert extra_files(artefact, read_manifest(artefact)) == ["elsewhere", "parts/more.txt"]


def test_all_that_is_wrong_is_named_at_once(artefact):
    with open(artefact / "source.spm", "ab") as file:
        file.write(b"a")
    (artefact / "step.onnx").unlink()
    with pytest.raises(DamagedError, match=r"source.spm \(another size\), step.onnx \(missing\)"):
        check_files(artefact, read_manifest(artefact))


def test_a_file_of_another_size_is_not_even_read(artefact, monkeypatch):
    sizes = read_manifest(artefact)["sizes"]
    os.truncate(artefact / "source.spm", 2**40)  # a terabyte of nothing
    with pytest.raises(DamagedError, match=f"expected {sizes['source.spm']} bytes, found {2**40}"):
        Runtime(artefact)


def with_external_tensor(where, location):
    """An ONNX model with a tensor in another file: an initializer, a constant, or one inside a branch."""
    tensor = numpy_helper.from_array(np.zeros(4, "float32"), "w")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", location
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy")
    add = helper.make_node("Add", ["x", "w"], ["y"])
    if where == "initializer":
        graph = helper.make_graph([add], "g", [x], [y], [tensor])
    else:
        constant = helper.make_node("Constant", [], ["w"], value=tensor)
        nodes = [constant, add]
        if where == "branch":
            branch = helper.make_graph(nodes, "branch", [], [y])
            nodes = [helper.make_node("If", ["c"], ["z"], then_branch=branch, else_branch=branch)]
        graph = helper.make_graph(nodes, "g", [x], [y])
    return helper.make_model(graph).SerializeToString()


@pytest.mark.parametrize("where", ["initializer", "constant", "branch"])
@pytest.mark.parametrize("location", ["weights.bin", "/etc/hostname", "../outside"])
def test_a_graph_that_reads_other_files_is_refused(artefact, where, location):
    content = with_external_tensor(where, location)
    assert external_files(content) == {location}
    (artefact / "model.onnx").write_bytes(content)
    fake_artefact.change(artefact)
    with pytest.raises(DamagedError, match=r"model.onnx is damaged.*keeps tensors in other files"):
        Runtime(artefact).run(["abc"])


def test_our_graphs_name_no_files(artefact):
    for path in artefact.glob("*.onnx"):
        assert not external_files(path.read_bytes())
    whole = onnx.load(artefact / "step.onnx").SerializeToString()
    for end in (1, len(whole) // 2, len(whole) - 1):
        try:
            external_files(whole[:end])
        except ValueError as error:
            assert "no protocol buffer" in str(error)


def test_what_is_newer_than_this_reader_is_said_so(artefact, capsys):
    fake_artefact.change(artefact, format=4)
    with pytest.raises(
        UnsupportedError, match="is of format 4; this seqzoo reads formats up to 3. Install a newer seqzoo"
    ):
        Artefact(artefact)
    assert cli.main(["run", str(artefact), "abc"]) == 1


def test_an_older_onnxruntime_is_refused(artefact, monkeypatch):
    check_version("model.onnx", "1.21", "1.21.0rc1")
    check_version("model.onnx", "1.21.0", "1.21")
    for installed in ("1.20.1", "1.9.0", "0.99"):
        with pytest.raises(UnsupportedError, match=rf"needs ONNX Runtime 1.21 or newer, and {installed} is installed"):
            check_version("model.onnx", "1.21", installed)
    facts = {"opset": 17, "operators": [], "onnxruntime": "99.1"}
    fake_artefact.change(artefact, onnx={"model.onnx": facts})
    with pytest.raises(UnsupportedError, match="model.onnx needs ONNX Runtime 99.1 or newer"):
        Runtime(artefact).run(["abc"])
    assert Runtime(artefact).run(["abc"], beam=1)[0].text == "abc"


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({"token_ids": [[-1, 3]], "lengths": [2]}, "token_ids must hold whole numbers between 0 and LAST; received -1"),
        (
            {"token_ids": [[5, 999]], "lengths": [2]},
            "token_ids must hold whole numbers between 0 and LAST; received 999",
        ),
        ({"token_ids": [[5, 3]], "lengths": [0]}, "lengths must hold whole numbers between 1 and 2; received 0"),
        ({"token_ids": [[5, 3]], "lengths": [3]}, "lengths must hold whole numbers between 1 and 2; received 3"),
        ({"token_ids": [[5, 3]], "lengths": [2, 2]}, r"one length for each of the 1 rows; received the shape \(2,\)"),
        (
            {"token_ids": np.zeros((0, 4), "int32"), "lengths": []},
            r"at least one row and one column; received \(0, 4\).*empty",
        ),
        (
            {"token_ids": np.zeros((2, 0), "int32"), "lengths": [0, 0]},
            r"at least one row and one column; received \(2, 0\)",
        ),
        ({"token_ids": [[5.5]], "lengths": [1]}, "whole numbers; received float"),
        ({"lengths": [1], "token_ids": [5]}, r"the shape \(batch, time\) .*received \(1,\)"),
    ],
)
def test_what_enters_a_graph_is_checked(artefact, inputs, message):
    pieces = read_manifest(artefact)["vocabulary"]["source"]
    loaded = Loaded(artefact, None, "float32", True)
    with pytest.raises(ValueError, match=message.replace("LAST", str(pieces - 1))) as caught:
        loaded.run("model.onnx", inputs)
    assert not isinstance(caught.value, ServingError)


def test_a_graph_for_words_is_none_for_texts(tmp_path):
    """A forger may name it so: the answer is refused in words all the same."""
    for kind, other in (("tag", "classify"), ("classify", "tag")):
        artefact = fake_artefact.write(tmp_path / kind, kind)
        fake_artefact.change(artefact, kind=other, graphs={other: "model.onnx"})
        with pytest.raises(DamagedError, match="by `kind` and `labels` in its manifest, probabilities have the shape"):
            Runtime(artefact).run(["abc"])


def test_pieces_that_a_tokenizer_lacks(artefact):
    loaded = Loaded(artefact, None, "float32", True)
    with pytest.raises(DamagedError, match="target.spm is damaged.*lacks a piece that a graph has written"):
        loaded.decode([[5, 10**6]])


@pytest.mark.parametrize("kind", list(fake_artefact.KINDS))
def test_no_texts_get_no_answers(tmp_path, kind):
    assert Runtime(fake_artefact.write(tmp_path, kind)).run([]) == []


def test_a_manifest_is_sealed(artefact):
    manifest = json.loads((artefact / "manifest.json").read_text())
    (artefact / "manifest.json").write_text(json.dumps(manifest, indent=7, sort_keys=True))  # spaces do not count
    Runtime(artefact)
    (artefact / "manifest.json").write_text(json.dumps(manifest | {"max_length": 63}))
    with pytest.raises(DamagedError, match="manifest_sha256 must be the SHA-256 of the other keys"):
        Runtime(artefact)
    assert Runtime(artefact, verify=False).run(["abc"])[0].text == "abc"
