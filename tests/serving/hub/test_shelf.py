"""The folder of a hub: versions are never overwritten, and the index is always whole, whatever happens to a writer."""

import multiprocessing

import pytest

from serving.hub import publish, shelf, withdraw
from serving.runtime.artefact import read_manifest
from serving.runtime.errors import DamagedError, ServingError
from tests.serving.hub.echo import FACTS, entries, files, six
from tests.serving.hub.publishers import put, put_or_leave
from tools import cli


def test_a_version_is_never_overwritten(made, hub):
    run, artefact = made
    before = (hub / "index.json").read_bytes()
    with pytest.raises(ValueError, match="published already, .* with --version 2"):
        publish(artefact, run, hub, FACTS, test=six(run))
    assert (hub / "index.json").read_bytes() == before
    entry = publish(artefact, run, hub, FACTS, test=six(run), version=2)
    assert [each["version"] for each in entries(hub)] == [1, 2] and entries(hub)[1] == entry
    assert read_manifest(hub / "echo" / "2")["version"] == 2


def test_what_was_withdrawn_stays_and_does_not_come_back(made, hub, capsys):
    run, artefact = made
    before = {name: (hub / "echo" / "1" / name).read_bytes() for name in files(hub / "echo" / "1")}
    assert cli.main(["hub", "withdraw", "echo@1", "--reason", "It says\n everything again", "--hub", str(hub)]) == 0
    assert entries(hub)[0]["withdrawn"] == "It says everything again."
    assert {name: (hub / "echo" / "1" / name).read_bytes() for name in files(hub / "echo" / "1")} == before
    with pytest.raises(ValueError, match="was withdrawn: It says everything again. .*--version 2"):
        publish(artefact, run, hub, FACTS, test=six(run))
    with pytest.raises(ValueError, match="These weights were withdrawn as echo@1"):
        publish(artefact, run, hub, FACTS, test=six(run), version=2)
    for words, message in (
        (["echo@1", "--reason", "again"], "withdrawn already"),
        (["echo@3", "--reason", "gone"], "has no echo@3; it has echo@1"),
        (["echo", "--reason", "gone"], "such as echo@1"),
        (["echo@1", "--reason", " "], "needs a reason"),
    ):
        assert cli.main(["hub", "withdraw", *words, "--hub", str(hub)]) == 2
        assert message in capsys.readouterr().err
    with pytest.raises(ValueError, match="is no hub"):
        withdraw(hub / "echo", "echo", 1, "gone")


def test_a_damaged_index_is_left_as_it_is(made, hub):
    run, artefact = made
    (hub / "index.json").write_text('{"format": 1, "models": [')
    with pytest.raises(DamagedError, match="index.json is damaged.*Nothing was changed"):
        publish(artefact, run, hub, FACTS, test=six(run), version=2)
    assert (hub / "index.json").read_text() == '{"format": 1, "models": [' and not (hub / "echo" / "2").exists()


def test_publishers_at_once_lose_no_entry(tmp_path):
    names = [f"model-{number}" for number in range(6)]
    context = multiprocessing.get_context("spawn")
    running = [context.Process(target=put, args=(tmp_path, name)) for name in names]
    for each in running:
        each.start()
    for each in running:
        each.join()
    assert sorted(each["name"] for each in entries(tmp_path)) == names
    assert all((tmp_path / name / "1" / "manifest.json").is_file() for name in names)
    assert not list(tmp_path.rglob("*.partial"))


def test_of_publishers_of_one_version_one_publishes(tmp_path):
    context = multiprocessing.get_context("spawn")
    running = [context.Process(target=put_or_leave, args=(tmp_path, "echo")) for _ in range(4)]
    for each in running:
        each.start()
    for each in running:
        each.join()
    assert sorted(each.exitcode for each in running) == [0, 7, 7, 7]
    assert len(entries(tmp_path)) == 1 and files(tmp_path / "echo") == {"1/manifest.json"}


def test_what_a_killed_publisher_left_does_not_count(tmp_path):
    """It was killed between its folder and its entry, and another one while it was writing."""
    (tmp_path / "echo" / "1").mkdir(parents=True)
    (tmp_path / "echo" / "1" / "half").touch()
    (tmp_path / "echo" / ".1.99.partial").mkdir()
    put(tmp_path, "echo")
    assert files(tmp_path / "echo") == {"1/manifest.json"} and [each["name"] for each in entries(tmp_path)] == ["echo"]


@pytest.mark.parametrize("broken", ["os.replace", "os.fsync"])
def test_a_disk_that_fails_leaves_the_old_index(broken, tmp_path, monkeypatch):
    put(tmp_path, "first")
    before = (tmp_path / "index.json").read_bytes()

    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"serving.hub.shelf.{broken}", fail)
    with pytest.raises(OSError, match="No space"):
        put(tmp_path, "second")
    monkeypatch.undo()
    assert (tmp_path / "index.json").read_bytes() == before
    assert not list(tmp_path.rglob("*.partial"))
    put(tmp_path, "second")
    assert len(entries(tmp_path)) == 2


def test_a_writer_waits_for_another_one(tmp_path):
    with shelf.lock(tmp_path):
        with pytest.raises(ServingError, match="being written by another process"):
            with shelf.lock(tmp_path, patience=0.01):
                pass
