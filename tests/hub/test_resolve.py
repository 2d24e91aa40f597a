"""Names: which hub has them, what is said where none does, offline, withdrawn versions, and the kept index."""

import json
import os
import shutil
import time

import pytest

from tests.hub import tiny
from tests.hub.server import serving
from tools import cli
from zoo import hub
from zoo.hub import cache, places


@pytest.fixture
def hubs(monkeypatch):
    """Sets the hubs."""
    return lambda *addresses: monkeypatch.setenv("SEQZOO_HUB", ", ".join(map(str, addresses)))


def write(home, name, versions, **facts):
    """A hub of one model in some versions; its files are those versions as text."""
    entries = []
    for version in versions:
        folder = home / name / str(version)
        folder.mkdir(parents=True)
        (folder / "manifest.json").write_text(f"{home.name} {version}")
        entries.append(tiny.entry(name, version, folder, **facts))
    tiny.write_index(home, *entries)
    return home


def held(name):
    return (hub.fetch(name, ["manifest.json"]) / "manifest.json").read_text()


def test_the_first_hub_that_has_the_name_wins(tmp_path, hubs):
    one, two = write(tmp_path / "one", "a", [1]), write(tmp_path / "the second", "a", [1, 2])
    three = write(tmp_path / "three", "b", [7])
    hubs(one, two, three)
    assert held("a") == held("a@1") == "one 1"
    assert held("a@2") == "the second 2" and held("b") == "three 7"
    assert hub.find("b").place.address == str(three) and hub.find("b", 7).entry["version"] == 7
    hubs(two, one)
    assert held("a@1") == "the second 1"  # not the file of the same name that is in the cache already


def test_an_unknown_name_says_what_is_near_and_where_was_looked(tmp_path, hubs):
    one, two = write(tmp_path / "one", "dates", [1, 3]), write(tmp_path / "two", "dat", [1])
    hubs(one, two)
    with pytest.raises(ValueError, match=rf"no model 'datse': looked in {one}, {two}; did you mean 'dates' or 'dat'\?"):
        hub.find("datse")
    with pytest.raises(ValueError, match=f"no model 'dates@2': looked in {one}, {two}; it has the versions 1, 3"):
        hub.find("dates@2")
    with pytest.raises(
        ValueError, match="no model 'xyzzy': looked in .*; `seqzoo list` shows the models that are there"
    ):
        hub.find("xyzzy")
    with pytest.raises(ValueError, match="dates@1 has no file 'manifest.jsn' in .*; did you mean 'manifest.json'"):
        hub.fetch("dates@1", ["manifest.jsn"])
    assert hub.fetch("dates@1", "manifest.json") == hub.fetch("dates@1", ["manifest.json"])


WRONG = ("ftp://a/b", "https://", "hf://owner", "hf://a/b@", "hf://a@v1/b", "file:///x", "http://127.0.0.1.a/b")


@pytest.mark.parametrize("address", WRONG)
def test_a_wrong_address_is_told(hubs, address):
    hubs(address)
    with pytest.raises(
        ValueError, match=f"'{address}' is not the address of a hub: expected (hf|.*http:// of a server)"
    ):
        hub.find("a")


def test_a_hub_that_is_not_there(tmp_path, hubs, caplog):
    hubs(tmp_path / "nowhere")
    with pytest.raises(hub.HubError, match="'a' was not found. .*nowhere/index.json cannot be read: No such file"):
        hub.find("a")
    hubs(tmp_path / "nowhere", write(tmp_path / "one", "a", [1]))
    assert held("a") == "one 1" and "nowhere/index.json cannot be read" in caplog.text


@pytest.mark.parametrize("content", [b"<html>", b"", b'{"format": 9, "models": []}', b"\x1f\x8b\x08"])
def test_an_index_that_is_none(tmp_path, hubs, content):
    (tmp_path / "index.json").write_bytes(content)
    hubs(tmp_path)
    with pytest.raises(hub.HubError, match="index.json is not the index of a hub: "):
        hub.find("a")


def test_an_index_of_100_megabytes_is_not_read(tmp_path, hubs):
    with open(tmp_path / "index.json", "wb") as file:
        file.truncate(10**8)
    hubs(tmp_path)
    with pytest.raises(hub.HubError, match="at most 16,777,216 bytes; received more"):
        hub.find("a")
    with serving(tmp_path) as running:
        hubs(running.address)
        start = time.monotonic()
        with pytest.raises(hub.HubError, match="at most 16,777,216 bytes; received more"):
            hub.find("a")
        assert time.monotonic() - start < 5


def test_a_pipe_is_not_waited_for(tmp_path, hubs):
    os.mkfifo(tmp_path / "index.json")
    hubs(tmp_path)
    with pytest.raises(hub.HubError, match="it is no regular file"):
        hub.find("a")


def test_withdrawn_versions(tmp_path, hubs, caplog):
    home = write(tmp_path / "one", "a", [1, 2])
    entries = json.loads((home / "index.json").read_text())["models"]
    entries[1]["withdrawn"] = "It was trained on the test set."
    tiny.write_index(home, *entries)
    hubs(home)
    assert held("a") == "one 1" and not caplog.text
    assert held("a@2") == "one 2" and "a@2 was withdrawn: It was trained on the test set." in caplog.text
    entries[0]["withdrawn"] = "Too small."
    tiny.write_index(home, *entries)
    with pytest.raises(ValueError, match="every version of 'a' .* is withdrawn; the newest, a@2, because: It was"):
        hub.find("a")


def test_no_network_on_a_hit(tmp_path, hubs, monkeypatch):
    with serving(write(tmp_path / "one", "a", [1])) as running:
        hubs(running.address)
        assert held("a") == "one 1"
        asked = len(running.asked)
        assert asked == 2 and held("a") == held("a@1") == "one 1"
        assert len(running.asked) == asked
        monkeypatch.setattr(places, "FRESH", 0)
        monkeypatch.setattr(places.read_entries, "__defaults__", (False, 0))
        assert held("a@1") == "one 1" and len(running.asked) == asked  # a version never changes
        assert held("a") == "one 1" and len(running.asked) == asked + 1  # there might be a newer one
    assert held("a@1") == "one 1"  # the server is gone


def test_the_kept_index_serves_when_the_network_is_gone(tmp_path, hubs, monkeypatch, caplog):
    with serving(write(tmp_path / "one", "a", [1])) as running:
        hubs(running.address)
        assert held("a") == "one 1"
    monkeypatch.setattr(places.read_entries, "__defaults__", (False, 0))
    assert held("a") == "one 1"
    assert "does not answer; its index of 20" in caplog.text
    with pytest.raises(ValueError, match="there is no model 'b'"):
        hub.find("b")
    os.unlink(cache.index_file(running.address))
    assert held("a") == "one 1"  # the entry beside the files is enough
    hubs("http://127.0.0.1:9")
    with pytest.raises(hub.HubError, match="'a' was not found. given up after 3 attempts: .* cannot be reached"):
        held("a")  # but not for another hub


def test_what_was_published_since_is_found(tmp_path, hubs):
    home = write(tmp_path / "one", "a", [1])
    with serving(home) as running:
        hubs(running.address)
        assert held("a") == "one 1"
        shutil.rmtree(home)
        write(home, "a", [1, 2])
        assert held("a@2") == "one 2" and held("a") == "one 2"


def test_offline(tmp_path, hubs, monkeypatch):
    with serving(write(tmp_path / "one", "a", [1, 2])) as running:
        hubs(running.address)
        with pytest.raises(hub.HubError, match="is not asked, because this process is offline, and no index of it"):
            hub.fetch("a", offline=True)
        assert held("a") == "one 2"
        asked = len(running.asked)
        monkeypatch.setenv("SEQZOO_OFFLINE", "1")
        monkeypatch.setattr(places.read_entries, "__defaults__", (False, 0))
        assert held("a") == "one 2"
        with pytest.raises(
            hub.HubError, match=r"offline .*lacks files of a@1: manifest.json \(missing\). Run `seqzoo hub"
        ):
            held("a@1")
        assert len(running.asked) == asked
        assert hub.fetch("a@1", ["manifest.json"], offline=False).is_dir()  # what the caller says, wins
    hubs(tmp_path / "one")
    assert held("a@1") == "one 1"  # a folder is no network


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o002, 0o664)])
def test_others_read_what_one_user_fetched(tmp_path, hubs, cache, umask, mode):
    """The files of a cache that several users share: those of models, entries and indexes alike."""
    before = os.umask(umask)
    try:
        with serving(write(tmp_path / "one", "a", [1])) as running:
            hubs(running.address)
            assert held("a") == "one 1"
    finally:
        os.umask(before)
    modes = {path.relative_to(cache).parts[0]: path.stat().st_mode & 0o777 for path in cache.rglob("*.json")}
    assert modes == {"indexes": mode, "models": mode}
    assert {path.stat().st_mode & 0o777 for path in (cache / "models").rglob("*") if path.is_file()} == {mode}


def test_a_kept_index_that_cannot_be_read_is_no_missing_one(tmp_path, hubs, monkeypatch, caplog):
    """What a user meets whose colleague filled the cache; where tests run as root, nothing is refused."""
    with serving(write(tmp_path / "one", "a", [1])) as running:
        hubs(running.address)
        assert held("a") == "one 1"
        kept, plain = places.cache.index_file(running.address), open

        def refused(path, *more, **options):
            if os.fspath(path) == str(kept) or os.path.basename(path) == "entry.json":
                raise PermissionError(13, "Permission denied", str(path))
            return plain(path, *more, **options)

        monkeypatch.setattr("builtins.open", refused)
        with pytest.raises(hub.HubError, match=f"offline, and the index .*{kept} cannot be read: Permission denied"):
            hub.find("a", offline=True)
        assert "entry.json cannot be read: Permission denied. Let its owner" in caplog.text
        assert hub.find("a").entry["version"] == 1  # the hub is asked


def test_a_hub_of_this_installation_is_used_where_it_lies(tmp_path, monkeypatch, cache):
    home = write(tmp_path / "own", "a", [1])
    monkeypatch.setattr("zoo.hub.resolve.places", lambda: [places.Folder(home, own=True)])
    assert hub.fetch("a", ["manifest.json"]) == home / "a" / "1" and not cache.exists()
    (home / "a" / "1" / "manifest.json").write_text("changed")
    with pytest.raises(hub.HubError, match=r"is damaged: manifest.json .*Install seqzoo again"):
        held("a")


def test_without_settings_the_hub_is_that_of_the_installation(monkeypatch):
    monkeypatch.delenv("SEQZOO_HUB")
    monkeypatch.setattr(places, "recorded_address", lambda: "https://example.org/hub")
    found = places.places()
    assert found[-1].address == "https://example.org/hub" and all(place.own for place in found[:-1])


@pytest.mark.parametrize(
    ("address", "revision", "folder"),
    [
        ("hf://owner/repo/hub", None, "hub/"),
        ("hf://owner/repo@v1.2/hub/", "v1.2", "hub/"),
        ("hf://owner/repo@0a1b2c", "0a1b2c", ""),
    ],
)
def test_hugging_face_is_hashed_again(tmp_path, hubs, monkeypatch, address, revision, folder):
    import huggingface_hub

    home, asked = write(tmp_path / "one", "a", [1]), []

    def download(repo_id, filename, revision):
        asked.append((repo_id, filename, revision))
        return str(home / filename.removeprefix("hub/"))

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    hubs(address)
    assert held("a") == "one 1"
    assert asked == [("owner/repo", f"{folder}{name}", revision) for name in ("index.json", "a/1/manifest.json")]
    shutil.rmtree(hub.find("a").folder)
    (home / "a" / "1" / "manifest.json").write_text("eno 1")
    with pytest.raises(hub.HubError, match="gave other bytes"):
        held("a")


def test_hugging_face_that_is_not_installed(hubs, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "huggingface_hub", None)
    hubs("hf://owner/repo")
    with pytest.raises(ImportError, match="pip install 'seqzoo.huggingface.'"):
        hub.find("a")


def test_progress(tmp_path, hubs, capsys, monkeypatch):
    hubs(write(tmp_path / "one", "a", [1]))
    told = []
    hub.fetch("a", ["manifest.json"], progress=lambda have, total: told.append((have, total)))
    assert told[0] == (0, 5) and told[-1] == (5, 5) and capsys.readouterr() == ("", "")
    shutil.rmtree(hub.find("a").folder)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    held("a")
    assert capsys.readouterr().err.endswith("\ra@1 manifest.json [########################] 0.0 of 0.0 MB\n")


def test_without_a_home_folder_it_is_told_where_models_can_be_kept(tmp_path, hubs, monkeypatch, capsys):
    """As in a container that runs under a number which is no user's: a hub that lies in a folder is read there."""
    for name in ("SEQZOO_CACHE", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 2**30 + 7)
    home = write(tmp_path / "far", "a", [1])
    with serving(home) as server:
        hubs(server.address)
        assert cli.main(["hub", "fetch", "a"]) == 1
        told = capsys.readouterr().err
        assert "has no home folder (HOME). Set SEQZOO_CACHE to a folder" in told and told.count("\n") == 1
        assert cli.main(["list", "--json"]) == 0
    hubs("~/hub")
    assert cli.main(["hub", "fetch", "a"]) == 1


def test_the_names_of_files_may_come_one_by_one(tmp_path, hubs):
    hubs(write(tmp_path / "one", "a", [1]))
    assert (hub.fetch("a", (name for name in ["manifest.json"])) / "manifest.json").read_text() == "one 1"
    with pytest.raises(ValueError, match="has no file 'b'"):
        hub.fetch("a", iter(["manifest.json", "b"]))
