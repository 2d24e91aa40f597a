"""A hub that means harm: what each trick is, and that it is refused before anything of it is used.

Every trick that could run code would write a file, `pwned`; no test finds one.
"""

import io
import json
import os
import pickle
import shutil
import struct
import zipfile
from pathlib import Path

import pytest

import zoo
from serving import Runtime
from serving.hub import check, package, publish
from serving.hub.published import open_model
from serving.runtime.errors import DamagedError
from tests.house_rules import ROOT
from tests.serving import fake_artefact
from tests.serving.hub import echo
from tests.serving.hub.test_card import reseal
from tests.shared import python
from tools import cli
from zoo.hub.keras_file import UnsafeError, check_keras

HDF5 = b"\x89HDF\r\n\x1a\n"
SOUND = {"module": "zoo.models.seq2seq", "class_name": "Seq2Seq", "config": {}, "registered_name": "zoo>Seq2Seq"}


class Pickled:
    """Runs when it is unpickled."""

    def __reduce__(self):
        return os.system, ("touch pwned",)


def lambda_layer():
    """A model that Keras itself would save: its Lambda layer writes a file when it is called."""
    import keras

    layer = keras.layers.Lambda(lambda x: (__import__("os").system("touch pwned"), x)[1], output_shape=(3,))
    model = keras.Sequential([keras.Input((3,)), layer])
    held = json.loads(json.dumps(keras.saving.serialize_keras_object(model)))
    assert "__lambda__" in json.dumps(held)
    return held


def named(**said):
    """A sound model with a layer inside that is not."""
    return SOUND | {"config": {"layers": [{"config": {}} | said]}}


def archive(config=SOUND, weights=HDF5, more=(), compression=zipfile.ZIP_STORED):
    """The bytes of a `.keras` file; `more` are further members, (name or ZipInfo, content)."""
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", compression) as made:
        made.writestr("metadata.json", '{"keras_version": "3.15.0"}')
        made.writestr("config.json", config if isinstance(config, bytes) else json.dumps(config))
        made.writestr("model.weights.h5", weights)
        for member, content in more:
            made.writestr(member, content)
    return held.getvalue()


def link():
    member = zipfile.ZipInfo("model.weights.h5")
    member.external_attr = 0o120777 << 16
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as made:
        made.writestr("metadata.json", "{}")
        made.writestr("config.json", json.dumps(SOUND))
        made.writestr(member, "/etc/passwd")
    return held.getvalue()


def declares_much():
    """The directory of the zip says that the weights have four gigabytes."""
    content = bytearray(archive())
    place = content.rindex(b"model.weights.h5") - 46  # the entry in the central directory
    assert content[place : place + 4] == b"PK\x01\x02"
    content[place + 24 : place + 28] = struct.pack("<I", 2**32 - 2)
    return bytes(content)


LOOKUP = {"module": "keras.layers", "class_name": "StringLookup", "config": {"vocabulary": "/etc/passwd"}}
FILES = {  # trick -> (the bytes of model.keras, what is said)
    "a Lambda layer": (lambda_layer, "'Lambda', which can run code"),
    "a Lambda as a registered name": (lambda: named(class_name="x", registered_name="zoo>Lambda"), "can run code"),
    "a pickled function": (lambda: named(class_name="__lambda__", config={"value": "4wEAAAA="}), "can run code"),
    "a class of the system": (lambda: named(module="os", class_name="system", registered_name=None), "of 'os'"),
    "an unknown class": (lambda: named(module="evil", class_name="E", registered_name="evil>E"), "of 'evil'"),
    "an unknown package": (lambda: named(module=None, class_name="E", registered_name="evil>E"), "of 'evil'"),
    "a class of nowhere": (lambda: named(class_name="eval"), "does not say of which module"),
    "a builtin": (lambda: named(module="builtins", class_name="eval"), "'eval' of 'builtins'"),
    "a function": (lambda: named(module="subprocess", class_name="function", config="run"), "function of 'subprocess'"),
    "a tool of Keras": (lambda: named(module="keras.utils", class_name="get_file"), "'get_file' of 'keras.utils'"),
    "a layer that reads files": (lambda: named(**LOOKUP), "can run code or read other files"),
    "a name that is no text": (lambda: named(module=["os"], class_name="E"), "no text"),
    "no class at all": (lambda: {"config": {}}, "names no class"),
    "a pickle": (lambda: pickle.dumps(Pickled()), "no sound zip"),
    "a pickle as weights": (lambda: archive(weights=pickle.dumps(Pickled())), "no HDF5 file"),
    "a pickle as configuration": (lambda: archive(pickle.dumps(Pickled())), "config.json is no JSON"),
    "a deep configuration": (lambda: archive(b"[" * 100_000), "config.json is no JSON"),
    "zip slip": (lambda: archive(more=[("../../pwned", "x")]), "it holds '../../pwned'"),
    "an absolute path": (lambda: archive(more=[("/tmp/pwned", "x")]), "it holds '/tmp/pwned'"),
    "one more file": (lambda: archive(more=[("assets/pwned.py", "x")]), "it holds 'assets/pwned.py'"),
    "a link": (link, "is a link"),
    "a bomb": (lambda: archive(weights=HDF5 + bytes(10**8), compression=zipfile.ZIP_DEFLATED), "which is too many"),
    "a huge declared size": (declares_much, "which is too many"),
    "half of it": (lambda: archive()[:-30], "no sound zip"),
    "nothing": (lambda: b"", "no sound zip"),
}


def written(trick, path):
    made = FILES[trick][0]()
    path.write_bytes(made if isinstance(made, bytes) else archive(made))
    return FILES[trick][1]


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    yield tmp_path / "here"
    assert not list(tmp_path.rglob("pwned*")) and not os.path.exists("/tmp/pwned")


@pytest.mark.parametrize("trick", FILES)
def test_a_crafted_model_is_not_loaded(trick, here):
    (here / "model").mkdir()
    message = written(trick, here / "model" / "model.keras")
    with pytest.raises(UnsafeError, match=r"is not loaded: .*" + message):
        zoo.load(here / "model")


def test_sound_models_are_loaded(here):
    """All that are published, and one with layers of somebody who is named."""
    published = list((ROOT / "hub").glob("*/*/model.keras"))
    assert published
    for path in published:
        check_keras(path)
    own = SOUND | {
        "config": {"layer": {"module": "stranger", "class_name": "Mine", "registered_name": "stranger>Mine"}}
    }
    (here / "own.keras").write_bytes(archive(own))
    check_keras(here / "own.keras", modules=("stranger",))
    with pytest.raises(UnsafeError, match="of 'stranger'"):
        check_keras(here / "own.keras")


def test_layers_that_this_process_knows_are_loaded(here):
    """Keras finds a registered class without importing anything."""
    import keras

    class Layer(keras.layers.Layer):
        pass

    (here / "own.keras").write_bytes(archive(named(module=None, class_name="Known", registered_name="known>Known")))
    with pytest.raises(UnsafeError, match="of 'known'"):
        check_keras(here / "own.keras")
    with keras.saving.CustomObjectScope({}):
        keras.saving.get_custom_objects()["known>Known"] = Layer
        try:
            check_keras(here / "own.keras")
        finally:
            del keras.saving.get_custom_objects()["known>Known"]


def test_a_link_to_a_model_is_not_loaded(here):
    (here / "sound.keras").write_bytes(archive())
    (here / "model.keras").symlink_to(here / "sound.keras")
    with pytest.raises(UnsafeError, match="no regular file"):
        check_keras(here / "model.keras")


@pytest.mark.parametrize("trick", ["a Lambda layer", "a class of the system", "zip slip"])
def test_a_crafted_model_is_neither_published_nor_checked(trick, here, copied, hub, made):
    run, artefact = copied
    message = written(trick, artefact / "model.keras")
    fake_artefact.change(artefact)
    with pytest.raises(DamagedError, match=message):
        publish(artefact, run, hub, echo.FACTS, test=echo.six(made[0]), version=2)
    written(trick, hub / "echo" / "1" / "model.keras")
    reseal(hub)  # whoever has the hub can make hashes, too
    for part in ("parameters", "parity"):
        with pytest.raises(DamagedError, match=message):
            check(hub / "echo" / "1", echo.entries(hub)[0], (part,))


def test_unpickling_and_lambdas_would_have_run(here):
    """The tricks are real: without the checks, their code runs."""
    python("-c", f"import pickle; pickle.loads({pickle.dumps(Pickled())!r})", cwd=here)
    (here / "pwned").unlink()


NAMES = [
    *("../evil", "/etc/passwd", "a/../../b", "..", "a\\b", "C:evil", "https://elsewhere.example/f", "//elsewhere/f"),
    *("a//b", "./a", ".hidden", "a/", "a\0b", "a\nb", "~/a", "%2e%2e/a"),
]


@pytest.mark.parametrize("name", NAMES)
def test_an_index_that_points_elsewhere_is_refused(name, hub, here, monkeypatch, capsys):
    with echo.changing(hub) as index:
        (entry,) = index["models"]
        entry["files"][name], entry["bytes"][name] = "0" * 64, 1
    before = (hub / "index.json").read_bytes()
    monkeypatch.setenv("SEQZOO_HUB", str(hub))
    for words in (
        ["run", "echo", "abc"],
        ["hub", "card", "echo"],
        ["hub", "card", "echo", "--check", "--hub", str(hub)],
        ["hub", "package", "echo", "--hub", str(hub), "--out", str(here)],
        ["hub", "withdraw", "echo@1", "--reason", "Wrong.", "--hub", str(hub)],
    ):
        assert cli.main(words) == 1
        assert "index.json" in capsys.readouterr().err
    assert (hub / "index.json").read_bytes() == before and not list(here.iterdir())


@pytest.mark.parametrize("name", ["../echo", "/echo", "a/b", "..", "con\\x", "Echo", ".echo", "echo\n", "", "x" * 101])
def test_a_model_whose_name_is_a_path_is_refused(name, hub, monkeypatch, capsys):
    with echo.changing(hub) as index:
        index["models"][0]["name"] = name
    assert cli.main(["hub", "card", "echo", "--hub", str(hub)]) == 1
    assert "must be a name of lower-case letters" in capsys.readouterr().err


@pytest.mark.parametrize("size", [2**60, -1, 1.5, "9", None, True])
def test_a_declared_size_that_cannot_be_is_refused(size, hub, capsys):
    with echo.changing(hub) as index:
        index["models"][0]["bytes"]["model.keras"] = size
    assert cli.main(["hub", "card", "echo", "--hub", str(hub)]) == 1
    assert "bytes.model.keras must be" in capsys.readouterr().err


def swapped(hub):
    """A file with the right name, and of the right size."""
    path = hub / "echo" / "1" / "model.int8.onnx"
    path.write_bytes(bytes(path.stat().st_size))


def linked(hub):
    """A link out of the hub, to a file with the right bytes."""
    path = hub / "echo" / "1" / "model.int8.onnx"
    shutil.move(path, hub.parent / "outside.onnx")
    path.symlink_to(hub.parent / "outside.onnx")


def folder(hub):
    path = hub / "echo" / "1" / "model.int8.onnx"
    path.unlink()
    path.mkdir()


def names_outside(hub):
    """The manifest has a file outside, and its hash is right."""
    (hub / "echo" / "outside.onnx").write_bytes((hub / "echo" / "1" / "model.int8.onnx").read_bytes())
    path = hub / "echo" / "1" / "manifest.json"
    text = path.read_text(encoding="utf-8").replace('"model.int8.onnx"', '"../outside.onnx"')
    path.write_text(text, encoding="utf-8")


def other_manifest(hub):
    """A manifest that is sound by itself, and is not the one of the index."""
    fake_artefact.change(hub / "echo" / "1", task="another")


@pytest.mark.release(but=4)
@pytest.mark.parametrize("trick", [swapped, linked, folder, names_outside, other_manifest])
def test_files_that_are_not_those_of_the_index_are_not_used(trick, hub, here, monkeypatch):
    entry, home = open_model("echo", hub)
    trick(hub)
    monkeypatch.setenv("SEQZOO_HUB", str(hub))
    rows = check(home, entry)
    assert {row.part for row in rows} == {"files"} and not all(row.equal for row in rows)
    if trick is linked:  # its bytes are those of the index: they are copied to the cache, and not the link
        assert Runtime("echo").run(["abc"])[0].text == "abc" and not any(
            map(os.path.islink, Path(os.environ["SEQZOO_CACHE"]).rglob("*"))
        )
    else:
        with pytest.raises((DamagedError, OSError)):
            Runtime("echo").run(["abc"])
    with pytest.raises(DamagedError):
        package(home, entry, here)
    assert not list(here.iterdir())
