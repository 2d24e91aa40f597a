"""Trainings on many devices are refused in words before anything is read, and equal those on one device."""

import os
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.recipes.small import recipe
from tools import cli
from zoo.core import devices
from zoo.training import saved_step

RECIPE = ["reversal-gru-additive", "--set", "model.units=8", "--set", "data.train_size=200", "--set"]
RECIPE += ["data.valid_size=20", "--set", "training.warmup=2", "--set", "training.steps=6", "--set"]
RECIPE += ["training.validate_every=3", "--set", "model.dropout=0.2"]


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    for name in ("JOB_ADDRESSES", "NUM_PROCESSES", "PROCESS_ID"):
        monkeypatch.delenv(f"{devices.PREFIX}{name}", raising=False)


def named(monkeypatch, addresses="127.0.0.1:1", count="2", number="1"):
    for name, value in (("JOB_ADDRESSES", addresses), ("NUM_PROCESSES", count), ("PROCESS_ID", number)):
        monkeypatch.setenv(f"{devices.PREFIX}{name}", value)


def test_a_process_without_variables_is_alone_and_writes():
    assert devices.settings() is None and devices.leads()
    assert devices.start(None, recipe().training) is None


def test_only_the_first_process_writes(monkeypatch):
    named(monkeypatch)
    assert devices.settings() == ("127.0.0.1:1", 2, 1) and not devices.leads()
    named(monkeypatch, number="0")
    assert devices.leads()


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ("UNKNOWN: Gloo all-reduce failed: Connection closed by peer", devices.LostError),
        ("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes.", None),
    ],
    ids=["lost", "memory"],
)
def test_only_the_loss_of_another_process_is_told_as_that(monkeypatch, said, error):
    import jax

    named(monkeypatch)
    ends = []
    monkeypatch.setattr(devices.atexit, "register", ends.append)
    with pytest.raises(error or jax.errors.JaxRuntimeError, match=said[:20]), devices.explain_loss():
        raise jax.errors.JaxRuntimeError(said)
    assert ends == [devices._end]  # either way the others learn of it


@pytest.mark.parametrize(
    ("addresses", "count", "number", "message"),
    [
        ("127.0.0.1:1", "2", "", "PROCESS_ID is not set"),
        ("", "", "0", "JOB_ADDRESSES and KERAS_DISTRIBUTION_NUM_PROCESSES is not set"),
        ("127.0.0.1:1", "two", "0", "received 'two' and '0'"),
        ("127.0.0.1:1", "2", "2", "the second below the first"),
        ("127.0.0.1:1", "2", "-1", "the second below the first"),
    ],
)
def test_wrong_variables(monkeypatch, addresses, count, number, message):
    named(monkeypatch, addresses, count, number)
    with pytest.raises(ValueError, match=message):
        devices.settings()


def test_tensorflow_is_refused_before_anything_is_read(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(devices, "backend", lambda: "tensorflow")
    assert cli.main(["train", *RECIPE, "--devices", "2", "--out", str(tmp_path / "run")]) == 2
    assert "needs the JAX backend; this one is tensorflow" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_other_backends_are_refused_before_anything_is_read(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(devices, "backend", lambda: "torch")
    assert cli.main(["train", *RECIPE, "--out", str(tmp_path / "run")]) == 2
    assert "on Keras' backends tensorflow and jax; received 'torch'. Set KERAS_BACKEND" in capsys.readouterr().err


def test_a_batch_that_cannot_be_split(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(devices, "backend", lambda: "jax")
    assert cli.main(["train", *RECIPE, "--devices", "3", "--out", str(tmp_path / "run")]) == 2
    said = capsys.readouterr().err
    assert "64 examples cannot be split equally among 3 devices" in said and "batch_size=63 or 66" in said


@pytest.mark.parametrize("word", ["0", "-1", "some", "1.5", ""])
def test_what_is_no_number_of_devices(word, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["train", *RECIPE, "--devices", word])
    assert stop.value.code == 2 and "--devices" in capsys.readouterr().err


def test_the_backend_is_known_without_keras(monkeypatch, tmp_path):
    code = "import sys; from zoo.core.devices import backend; print(backend(), 'keras' in sys.modules)"
    (tmp_path / "keras.json").write_text('{"backend": "torch"}')
    for variables, name in (({"KERAS_BACKEND": "jax"}, "jax"), ({"KERAS_HOME": str(tmp_path)}, "torch")):
        rest = {key: value for key, value in os.environ.items() if key not in ("KERAS_BACKEND", "KERAS_HOME")}
        done = subprocess.run([sys.executable, "-c", code], env=rest | variables, capture_output=True, text=True)
        assert done.stdout.split() == [name, "False"], done.stderr


def variables(count):
    """Those of each of `count` processes; one alone has none."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    every = [{"JOB_ADDRESSES": address, "NUM_PROCESSES": str(count), "PROCESS_ID": str(n)} for n in range(count)]
    return [{f"{devices.PREFIX}{name}": value for name, value in own.items()} if count > 1 else {} for own in every]


def begun(out, *more, count=1):
    """The command line as `count` processes."""
    started = []
    for own in variables(count):
        command = [sys.executable, "-m", "seqzoo", "train", *RECIPE, "--out", out, *more]
        environment = {**os.environ, "KERAS_BACKEND": "jax", **own}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        started.append(subprocess.Popen([*map(str, command)], env=environment, text=True, **pipes))
    return started


def trained(out, *more, count=1):
    """What `count` processes of the command line printed, and their exit statuses."""
    started = begun(out, *more, count=count)
    try:
        told = [process.communicate(timeout=900)[0] for process in started]
    finally:
        for process in started:
            process.kill()
    return told, [process.returncode for process in started]


def weights(run):
    with np.load(run / "checkpoint" / "state.npz") as held:
        return {name: held[name] for name in held.files if name.startswith("model/")}


def assert_near(one, other, tolerance):
    one, other = weights(one), weights(other)
    assert one.keys() == other.keys()
    for name, value in one.items():
        np.testing.assert_allclose(value.astype("float64"), other[name].astype("float64"), atol=tolerance, err_msg=name)


@pytest.mark.release
def test_many_devices_and_processes_train_as_one(tmp_path):
    told, status = trained(tmp_path / "one")
    assert status == [0], told
    told, status = trained(tmp_path / "four", "--devices", "4")
    assert status == [0] and "4 devices (cpu) in 1 process, 16 examples of each batch on one" in told[0], told
    assert_near(tmp_path / "one", tmp_path / "four", 1e-4)
    told, status = trained(tmp_path / "two-two", "--devices", "4", count=2)
    assert status == [0, 0] and "4 devices (cpu) in 2 processes" in told[0], told
    assert_near(tmp_path / "one", tmp_path / "two-two", 1e-4)
    names = [sorted(path.name for path in (tmp_path / run).iterdir()) for run in ("one", "two-two")]
    assert names[0] == names[1]  # the second process has written nothing else


@pytest.mark.release
def test_a_run_goes_on_with_another_number_of_devices(tmp_path):
    """It is killed after a checkpoint; what is resumed on two devices ends where a run on one device does."""
    more = ("--set", "training.checkpoint_every=1", "--set", "training.steps=60", "--set", "training.validate_every=60")
    assert trained(tmp_path / "one", *more)[1] == [0]
    command = [sys.executable, "-m", "seqzoo", "train", *RECIPE, "--out", tmp_path / "run", *more, "--devices", "4"]
    killed = subprocess.Popen(
        [*map(str, command)], env={**os.environ, "KERAS_BACKEND": "jax"}, stderr=subprocess.DEVNULL
    )
    state, patience = tmp_path / "run" / "checkpoint" / "state.npz", time.monotonic() + 600
    while not state.is_file() and killed.poll() is None and time.monotonic() < patience:
        time.sleep(0.05)
    killed.kill()
    killed.wait()
    assert state.is_file() and not (tmp_path / "run" / "model.keras").exists()
    told, status = trained(tmp_path / "run", *more, "--devices", "2", "--resume")
    assert status == [0], told
    assert_near(tmp_path / "one", tmp_path / "run", 1e-4)


@pytest.mark.release
def test_when_one_process_is_killed_the_other_says_so_and_one_device_goes_on(tmp_path):
    more = ("--set", "training.checkpoint_every=1", "--set", "training.steps=80")
    more += ("--set", "training.validate_every=80", "--devices", "2")
    first, second = begun(tmp_path / "run", *more, count=2)
    try:
        state, patience = tmp_path / "run" / "checkpoint" / "state.npz", time.monotonic() + 300
        while not state.is_file() and second.poll() is None and time.monotonic() < patience:
            time.sleep(0.05)
        second.kill()
        killed = time.monotonic()
        said = first.communicate(timeout=120)[0]
        assert time.monotonic() - killed < 30 and first.returncode not in (0, None), said
    finally:
        for process in (first, second):
            process.kill()
            process.communicate()
    assert "Another process of this training has ended" in said and "--resume" in said, said
    assert 0 < saved_step(tmp_path / "run") < 80
    told, status = trained(tmp_path / "run", *more[:-2], "--resume")
    assert status == [0] and saved_step(tmp_path / "run") == 80, told
