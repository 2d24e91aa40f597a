"""The process: how it starts, what it does with new versions, how it ends."""

import asyncio
import gc
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import time
import warnings
from types import SimpleNamespace

import pytest

from serving.runtime.errors import ServingError
from serving.server import process
from serving.server.limits import Limits
from tests.serving.server import echo


def failed(*arguments, **kwargs):
    """`(exit status, standard error)` of a server that does not start."""
    done = subprocess.run(echo.command(*arguments), capture_output=True, text=True, timeout=60, **kwargs)
    return done.returncode, done.stderr


def test_a_caller_waits_behind_few_others_until_it_is_accepted():
    listening = process._bind("127.0.0.1", 0)
    poll, callers = select.poll(), [socket.socket() for _ in range(700)]
    try:
        for caller in callers:
            caller.setblocking(False)
            caller.connect_ex(listening.getsockname())
            poll.register(caller, select.POLLOUT)
        connected = sum(event == select.POLLOUT for _, event in poll.poll(100))
        assert 100 < connected <= 600  # 0.07 ms each
    finally:
        for made in (listening, *callers):
            made.close()


def damage(folder, name="model.onnx"):
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)


def appear(folder, make):
    """A version that is written beside and renamed, as an export does it."""
    beside = folder.with_name(f".{folder.name}.partial")
    make(beside)
    beside.rename(folder)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("out") / "echo"
    echo.write(folder / "1")
    return folder


@pytest.fixture(scope="module")
def watched(home):
    with echo.serving(home, "--version-poll", 0.1, "--drain", 5) as running:
        yield running


def a_newer_version_is_loaded_and_answers(watched, home):
    assert watched.event("serving")["version"] == 1
    appear(home / "2", lambda folder: shutil.copytree(home / "1", folder))
    assert watched.event("serving", number=2)["before"] == 1
    assert watched.ask("GET", "/v2/models/echo")[2]["versions"] == ["2"]
    assert watched.infer("echo", "abc")["output_text"] == ["abc"]
    assert watched.metric('seqzoo_model_loaded{model="echo"') == 1  # the older one is gone


def a_damaged_version_is_told_once_and_the_older_one_goes_on(watched, home):
    def make(folder):
        damage(shutil.copytree(home / "1", folder))

    appear(home / "3", make)
    told = watched.event("version_refused")
    assert (told["version"], told["serving"], told["error"]) == (3, 2, "DamagedError")
    assert "model.onnx is damaged" in told["message"]
    time.sleep(0.5)
    assert sum(event["event"] == "version_refused" for event in watched.events) == 1
    assert watched.ask("GET", "/v1/models/echo")[2]["model_version_status"][0]["version"] == "2"
    shutil.copyfile(home / "1" / "model.onnx", home / "3" / "model.onnx")  # mended: it is tried again
    assert watched.event("serving", number=3)["version"] == 3


def a_version_that_is_taken_away_gives_way_to_the_older_one(watched, home):
    shutil.rmtree(home / "3")
    assert watched.event("serving", number=4)["version"] == 2


def a_folder_that_vanishes_changes_nothing(watched, home):
    away = home.rename(home.with_name("away"))
    assert watched.event("vanished")["version"] == 2
    assert watched.infer("echo", "ab", beam=1)["output_text"] == ["ab"]  # graphs that nobody had asked are open, too
    assert watched.infer("echo", "ab", sample=True)["output_text"] == ["ab"]
    away.rename(home)


def an_orderly_end(watched):
    assert watched.end() == 0
    assert [watched.event(name)["open"] for name in ("stopping", "stopped")] == [0, 0]
    with pytest.raises(ConnectionRefusedError):
        watched.ask("GET", "/v2/health/live")


def test_versions_come_and_go(watched, home):
    """One after the other, because each begins where the one before it has ended."""
    a_newer_version_is_loaded_and_answers(watched, home)
    a_damaged_version_is_told_once_and_the_older_one_goes_on(watched, home)
    a_version_that_is_taken_away_gives_way_to_the_older_one(watched, home)
    a_folder_that_vanishes_changes_nothing(watched, home)
    an_orderly_end(watched)


def test_a_damaged_model_is_an_error_at_the_start(tmp_path):
    damage(echo.write(tmp_path / "echo" / "1"))
    status, said = failed(tmp_path / "echo", "--http-port", 0, "--grpc-port", 0)
    assert status == 1 and "model.onnx is damaged" in said.splitlines()[-1]


SLOW = """
import time
from serving.server import models
opened = models.open_runtime
def slowly(folder, opening):
    if folder.name == "2":
        print("loading", file=sys.stderr, flush=True)
        time.sleep(60)
    return opened(folder, opening)
models.open_runtime = slowly
"""  # the thread that opens version 2 cannot be ended


def test_a_signal_ends_a_server_that_still_loads(tmp_path):
    echo.write(tmp_path / "echo" / "2")
    words = echo.command(tmp_path / "echo", "--http-port", 0, "--grpc-port", 0, before=SLOW)
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr.readline() == "loading\n"
            process.send_signal(signal.SIGTERM)
            assert process.wait(15) == 1
        finally:
            process.kill()


@pytest.mark.slow
def test_a_signal_ends_a_server_that_loads_a_new_version(tmp_path):
    echo.write(tmp_path / "echo" / "1")
    with echo.serving(tmp_path / "echo", "--version-poll", 0.1, before=SLOW) as running:
        appear(tmp_path / "echo" / "2", lambda folder: shutil.copytree(tmp_path / "echo" / "1", folder))
        assert running.event("text")["message"] == "loading\n"
        assert running.end(seconds=15) == 0 and running.event("stopped")["open"] == 0


def test_a_port_is_had_by_one_alone():
    """Of two sockets that are bound to a port, the first that listens has it, and the other is told at once."""
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", 0))
        with process._bind("127.0.0.1", other.getsockname()[1]), pytest.raises(OSError, match="in use"):
            other.listen()


def test_no_port_is_kept_if_the_other_cannot_be_had():
    """Neither a socket that nobody closes, which warns, nor a server of gRPC that nobody stops."""
    with socket.create_server(("127.0.0.1", 0)) as other, warnings.catch_warnings():
        warnings.simplefilter("error")
        taken = other.getsockname()[1]
        for ports, option in (((taken, 0), "--http-port"), ((0, taken), "--grpc-port")):
            server = process.Server(process.Settings("127.0.0.1", *ports))
            server.service = SimpleNamespace(limits=Limits(), metrics=None)
            with pytest.raises(ServingError, match=option):
                asyncio.run(server._open_ports())
            assert server.http_port is None and server.grpc_port is None
            gc.collect()


@pytest.mark.slow
def test_two_models_of_one_name(tmp_path):
    for folder in ("a", "b"):
        echo.write(tmp_path / folder / "1")
    status, said = failed(tmp_path / "a", tmp_path / "b", "--http-port", 0, "--grpc-port", 0)
    assert status == 2 and "two models have the name 'echo'" in said.splitlines()[-1]


@pytest.mark.release(but=1)
@pytest.mark.slow
@pytest.mark.parametrize("which", ["http", "grpc"])
def test_a_port_that_is_taken(tmp_path, which):
    echo.write(tmp_path / "1")
    with socket.create_server(("127.0.0.1", 0)) as other:
        ports = {"http": 0, "grpc": 0} | {which: other.getsockname()[1]}
        words = [word for name, number in ports.items() for word in (f"--{name}-port", number)]
        status, said = failed(tmp_path / "1", *words)
    assert status == 1 and "another process has this port" in said and f"--{which}-port" in said


@pytest.mark.slow
def test_without_starlette_the_extra_is_named(tmp_path):
    echo.write(tmp_path / "1")
    hidden = "import sys; sys.modules['starlette'] = None; "
    words = echo.command(tmp_path / "1")
    words[2] = hidden + words[2]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr == "seqzoo serve: starlette is not installed: pip install 'seqzoo[serve]'\n"


@pytest.mark.release(but=1)
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["term", "int"])
def test_what_was_taken_on_is_finished(tmp_path, number):
    """A signal under load: who was taken on has his answer, who comes later is told to come again elsewhere."""
    echo.write(tmp_path / "1")
    with echo.serving(tmp_path / "1", "--max-delay", 500, "--max-batch-texts", 64) as running:
        found = []

        def ask():
            found.append(running.ask("POST", "/v1/models/echo:predict", {"instances": ["ab"]}))

        with echo.callers(8, ask):
            time.sleep(0.2)  # they wait in the queue
            running.process.send_signal(number)
            running.event("stopping")
            late = running.ask("POST", "/v1/models/echo:predict", {"instances": ["ab"]})
            assert late[0] == 503 and late[1]["retry-after"] == "1" and late[2] == {"error": "the server is stopping."}
            assert running.ask("GET", "/v2/health/ready")[0] == 503 and running.ask("GET", "/v2/health/live")[0] == 200
        assert [(status, value["predictions"][0]["output_text"]) for status, _, value in found] == [(200, "ab")] * 8
        assert running.process.wait(20) == 0


@pytest.mark.slow
def test_what_cannot_be_finished_in_time_is_abandoned(tmp_path):
    echo.write(tmp_path / "1")
    with echo.serving(tmp_path / "1", "--max-delay", 1000, "--drain", 0.1) as running:
        with echo.callers(1, lambda: running.ask("POST", "/v1/models/echo:predict", {"instances": ["ab"]})):
            time.sleep(0.3)
            assert running.end() == 1


def test_the_logs_are_json(watched):
    assert all("time" in event for event in watched.events if event["event"] != "end")
    assert json.dumps(watched.events).count("text") == 0 and os.getpid() != watched.process.pid
