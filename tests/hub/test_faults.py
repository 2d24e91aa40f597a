"""Whatever a server does, a file that is visible is whole; and whatever can be mended is mended."""

import errno
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from functools import partial

import pytest

from tests.house_rules import ROOT
from tests.hub import server as faults
from tests.hub.conftest import SIZE
from zoo import hub
from zoo.hub import download

FILE = "big/1/model.bin"
FETCH = "import zoo.hub; print(zoo.hub.fetch('big', ['model.bin']))"


def fetch():
    return (hub.fetch("big", ["model.bin"]) / "model.bin").read_bytes()


def visible(home):
    """The files of models in the cache, which must all be whole."""
    return [path for path in (home / "models").glob("*/*/*/*") if path.is_file()]


def whole(server):
    return (server.home / FILE).read_bytes()


@pytest.fixture(autouse=True)
def nothing_half(cache, server):
    """After every test: no half file has its name, and nothing of a complete one is left in the partial files."""
    yield
    for path in visible(cache):
        assert path.read_bytes() == (server.home / "big" / "1" / path.name).read_bytes()
        assert not (cache / "partial" / f"{hashlib.sha256(path.read_bytes()).hexdigest()}.part").exists()


def spawn(code, **more):
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{code}"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


@pytest.mark.slow
def test_20_cuts_at_random_bytes_of_one_download(server):
    places = random.Random(1).sample(range(1, SIZE // 20), 20)  # bytes from where the last answer ended
    server.faults.extend(partial(faults.cut, place) for place in places)
    assert fetch() == whole(server)
    starts = [sum(places[:number]) for number in range(21)]
    assert server.of(FILE) == [f"bytes={start}-" if start else None for start in starts]
    assert server.sent <= SIZE + 3000  # the index came, too; not one byte of the file came twice


@pytest.mark.parametrize("place", [0, SIZE - 1, *random.Random(2).sample(range(SIZE), 20)])
def test_a_cut_at_any_byte(server, place):
    server.faults.append(partial(faults.cut, place))
    assert fetch() == whole(server)
    assert len(server.of(FILE)) == 2


def test_a_server_that_always_cuts_is_given_up_and_the_next_call_goes_on(server, cache):
    server.faults.extend([partial(faults.cut, 1000), *[partial(faults.cut, 0)] * 5])
    with pytest.raises(hub.HubError, match="given up after 6 attempts: .*1,000 of 300,000 bytes are kept"):
        fetch()
    assert visible(cache) == []
    assert fetch() == whole(server)
    assert server.of(FILE)[-1] == "bytes=1000-"


@pytest.mark.slow
def test_a_stall_is_ended_and_the_download_goes_on(server, monkeypatch):
    monkeypatch.setenv("SEQZOO_TIMEOUT", "0.2")
    server.faults.extend([partial(faults.stall, 0), partial(faults.stall, 70_000)])
    start = time.monotonic()
    assert fetch() == whole(server) and time.monotonic() - start < 10  # the server holds them for 30 seconds
    assert server.of(FILE) == [None, None, "bytes=70000-"]


@pytest.mark.parametrize("more", [-1, -SIZE // 2, 1, 10**9])
def test_a_lie_about_the_length(server, more):
    server.faults.append(partial(faults.longer, more))
    assert fetch() == whole(server)


def test_never_more_is_kept_than_the_index_declares(server, cache):
    server.faults.append(faults.endless)
    assert fetch() == whole(server)


def test_wrong_bytes_are_refused_and_removed(server, cache):
    server.faults.append(faults.wrong)
    with pytest.raises(hub.HubError, match="gave other bytes for big/1/model.bin than its index promises"):
        fetch()
    assert visible(cache) == [] and list((cache / "partial").iterdir()) == []
    assert fetch() == whole(server)


@pytest.mark.parametrize("code", [404, 403, 410])
def test_a_file_that_is_not_there_is_told_at_once(server, cache, code):
    server.faults.extend([partial(faults.cut, 500), partial(faults.status, code)])
    with pytest.raises(hub.HubError, match=f"model.bin answered {code}"):
        fetch()
    assert visible(cache) == [] and len(server.of(FILE)) == 2
    assert fetch() == whole(server) and server.of(FILE)[-1] == "bytes=500-"


@pytest.mark.parametrize("code", [500, 502, 503, 429])
def test_an_overloaded_server_is_asked_again(server, code):
    server.faults.extend([partial(faults.cut, 500), *[partial(faults.status, code)] * 4])
    assert fetch() == whole(server)
    assert server.of(FILE) == [None, *["bytes=500-"] * 5]
    server.faults.extend([partial(faults.status, code)] * download.ATTEMPTS)
    with pytest.raises(hub.HubError, match=f"given up after 5 attempts: .*answered {code}"):
        hub.fetch("big", ["manifest.json"])


def test_a_server_that_ignores_range(server):
    server.faults.extend([partial(faults.cut, 500), partial(faults.without_range, 9000), partial(faults.cut, 700)])
    server.faults.append(partial(faults.without_range, None))
    assert fetch() == whole(server)
    assert len(server.of(FILE)) == 4  # it was noticed at once, and not only by the hash


def test_a_file_that_changes_in_between_is_not_mixed(server):
    """By its ETag, which makes a server that keeps to the standard begin anew."""
    other = bytes(SIZE)
    server.faults.append(partial(faults.changed, other, 100_000))
    assert fetch() == whole(server)
    assert server.of(FILE) == [None, "bytes=100000-"] and server.sent > SIZE + 100_000


def test_pieces_of_two_files_without_a_validator_are_not_mixed(server):
    """A server that names no ETag, or not truly: what was put together has another hash, and is fetched again whole."""
    server.faults.append(lambda handler, content: handler.answer(bytes(SIZE), tag="W/", upto=100_000))
    assert fetch() == whole(server)
    assert server.of(FILE) == [None, "bytes=100000-", None]


@pytest.mark.parametrize("fault", [partial(faults.cut, 300), partial(faults.status, 503), partial(faults.cut, 0)])
def test_an_index_that_is_cut_is_asked_for_again(server, fault):
    server.faults_of_index.extend([fault] * 2)
    assert fetch() == whole(server) and len(server.of("index.json")) == 3


@pytest.mark.slow
def test_an_index_that_is_always_cut_is_given_up(server):
    server.faults_of_index.extend([partial(faults.cut, 300)] * 3)
    with pytest.raises(hub.HubError, match="given up after 3 attempts: .*index.json ended .* bytes before it said"):
        fetch()


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("to", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:,x"])
def test_a_redirect_leads_to_file_servers_alone(server, cache, to):
    server.faults.extend([partial(faults.redirect, to)] * 9)
    with pytest.raises(hub.HubError):
        fetch()
    assert visible(cache) == []


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("count", [5, pytest.param(50, marks=pytest.mark.slow)])
def test_kill_9(server, cache, count):
    """Processes that are killed while they download: nothing half is visible, and the next one goes on."""
    moments, kept = random.Random(3), []
    for _ in range(count):
        server.faults.append(partial(faults.slow, 0.02))
        before = len(server.of(FILE))
        process = spawn(FETCH)
        while len(server.of(FILE)) == before and process.poll() is None:
            time.sleep(0.005)
        time.sleep(moments.uniform(0, 0.3))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL and visible(cache) == []
        parts = list(cache.glob("partial/*.part"))
        kept.append(sum(part.stat().st_size for part in parts))
        assert all(whole(server).startswith(part.read_bytes()) for part in parts)
        if kept[-1] > SIZE // 2:  # begin anew, so that no process is ever done
            parts[0].write_bytes(b"")
    assert len(server.of(FILE)) == count and len(set(kept)) > 2  # they were killed at different places
    server.faults.clear()
    assert fetch() == whole(server)
    begun = server.of(FILE)
    assert begun.count(None) < count and all(
        asked == f"bytes={have}-" for asked, have in zip(begun[1:], kept, strict=True) if 0 < have <= SIZE // 2
    )


@pytest.mark.slow
def test_8_processes_download_once(server):
    server.faults.append(partial(faults.slow, 0.005))
    processes = [spawn(f"{FETCH}\nprint(open(zoo.hub.fetch('big') / 'manifest.json').read())") for _ in range(8)]
    done = [process.communicate(timeout=60) for process in processes]
    assert [process.returncode for process in processes] == [0] * 8, done
    assert len({out for out, _ in done}) == 1
    assert sorted(path for path, _ in server.asked) == ["big/1/manifest.json", FILE, "index.json"]


@pytest.mark.slow
def test_a_full_disk(server, cache):
    """The system ends the file at 100,000 bytes, as it does where a disk is full."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
    process = spawn(f"{limit}import sys; from tools.cli import main; sys.exit(main(['hub', 'fetch', 'big', '--all']))")
    _, said = process.communicate(timeout=60)
    assert process.returncode == 1 and said.count("\n") == 1, said
    assert "cannot be written" in said and "the download goes on from where it is" in said
    assert visible(cache) == [] or [path.name for path in visible(cache)] == ["manifest.json"]
    assert fetch() == whole(server)
    assert server.of(FILE)[-1] == "bytes=100000-"


@pytest.mark.slow
@pytest.mark.release(but=1)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_disk_that_fails_at_the_last_moment(server, cache, monkeypatch, number):
    def fail(handle):
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        with pytest.raises(hub.HubError, match="the cache .* cannot be written"):
            fetch()
    assert visible(cache) == []
    assert fetch() == whole(server)


def test_a_disk_that_is_too_small_is_told_before(server, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 200_000}))
    with pytest.raises(hub.HubError, match="big@1 needs 0.3 MB more, and .* has 0.2 MB left.*Nothing of that"):
        fetch()
    assert server.of(FILE) == []


@pytest.mark.slow
def test_what_has_arrived_needs_no_more_room(server, cache, monkeypatch):
    """After a full disk, a download goes on as soon as what is missing has room."""
    digest = json.loads((server.home / "index.json").read_text())["models"][0]["files"]["model.bin"]
    part = cache / "partial" / f"{digest}.part"
    part.parent.mkdir(parents=True)
    part.write_bytes(whole(server)[:250_000])
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("Usage", (), {"free": 60_000}))
    assert fetch() == whole(server)
    part.write_bytes(whole(server)[:230_000])
    with pytest.raises(hub.HubError, match="big@1 needs 0.1 MB"):
        (hub.find("big").folder / "model.bin").unlink()
        fetch()


@pytest.mark.slow
def test_a_cache_that_can_only_be_read_serves_what_it_has(server, monkeypatch):
    content = fetch()

    def refuse(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied")

    for place in ("os.replace", "os.mkdir", "tempfile.mkstemp", "zoo.hub.cache.lock", "pathlib.Path.touch"):
        monkeypatch.setattr(place, refuse)
    assert fetch() == content
    with pytest.raises(hub.HubError, match="the cache .* cannot be written: Permission denied.*SEQZOO_CACHE names"):
        hub.fetch("big", ["manifest.json"])


@pytest.mark.slow
def test_what_was_damaged_in_the_cache_is_fetched_again(server, caplog):
    path = hub.fetch("big", ["model.bin"]) / "model.bin"
    for spoil in (lambda: path.write_bytes(bytes(SIZE)), lambda: path.write_bytes(b""), path.unlink):
        spoil()
        assert fetch() == whole(server)
    assert len(server.of(FILE)) == 4 and "is damaged and is downloaded again" in caplog.text
    path.unlink()
    path.symlink_to("/dev/zero")
    assert fetch() == whole(server) and not path.is_symlink()


@pytest.mark.slow
def test_a_partial_file_of_somebody_else_is_not_believed(server, cache):
    digest = json.loads((server.home / "index.json").read_text())["models"][0]["files"]["model.bin"]
    for spoiled in (bytes(1000), bytes(SIZE), bytes(SIZE + 1)):
        part = cache / "partial" / f"{digest}.part"
        part.parent.mkdir(parents=True, exist_ok=True)
        part.write_bytes(spoiled)
        path = hub.fetch("big", ["model.bin"]) / "model.bin"
        assert path.read_bytes() == whole(server)
        path.unlink()
