"""Beside a user's own packages of the same names, the command line uses the ones that were installed with it."""

import json
import os
import re
import subprocess
import sys
import venv
from importlib.metadata import version
from pathlib import Path

import pytest

from serving.runtime import own
from tests.house_rules import ROOT
from tests.serving import fake_artefact

HOSTILE = ("serving", "tools", "zoo")


def hostile(folder):
    """A folder with a user's packages, whose import would fail."""
    for name in HOSTILE:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(f"raise RuntimeError('the {name} of somebody else')\n")
    return folder


def start(command, folder, *path, **variables):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))} | variables
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """(working folder, another one for PYTHONPATH) with packages called as ours are."""
    home = tmp_path_factory.mktemp("theirs")
    return hostile(home / "work"), hostile(home / "path")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder with the packages under the names under which they are installed."""
    home = tmp_path_factory.mktemp("site")
    for name, folder in (("seqzoo", "tools"), ("serving", "serving"), ("zoo", "zoo")):
        (home / name).symlink_to(ROOT / folder)
    return home


@pytest.mark.slow
def test_the_command_line(theirs, site, tmp_path):
    artefact = fake_artefact.write(tmp_path / "echo")
    run = [sys.executable, "-m", "seqzoo", "run", str(artefact), "ab"]
    done = start(run, theirs[0], theirs[1], site)
    assert (done.returncode, done.stdout) == (0, "ab\n"), done.stderr
    done = start([sys.executable, "-m", "seqzoo", "list"], theirs[0], theirs[1], site)
    assert done.returncode == 0 and "dates-gru-additive" in done.stdout, done.stderr


@pytest.mark.slow
def test_the_packages_and_nothing_else(theirs, site):
    code = (
        "import sys; before = list(sys.path); import seqzoo; assert sys.path == before;"
        "import serving.runtime, importlib.util as find; print(serving.__file__, find.find_spec('zoo').origin);"
        "print(find.find_spec('tools').origin)"
    )
    done = start([sys.executable, "-c", code], theirs[0], theirs[1], site)
    expected = [site / "serving" / "__init__.py", site / "zoo" / "__init__.py", theirs[0] / "tools" / "__init__.py"]
    assert done.stdout.split() == list(map(str, expected)), done.stderr


@pytest.mark.slow
def test_a_process_of_ones_own(theirs):
    done = start(own.command("serving.runtime.artefact"), *theirs)
    assert (done.returncode, done.stderr) == (0, "")
    done = start(own.command("serving.export.parity.nothing"), *theirs)
    assert "No module named serving.export.parity.nothing" in done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The `seqzoo` command of an environment with the real wheel, and with this one's libraries."""
    home = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    modern = int(version("setuptools").split(".")[0]) >= 77
    build = [*pip, "wheel", str(ROOT), "--no-deps", "-q", "-w", str(home)]
    done = subprocess.run([*build, "--no-build-isolation"] if modern else build, capture_output=True, text=True)
    assert done.returncode == 0, f"the wheel cannot be built: {done.stderr[-300:]}"
    (wheel,) = home.glob("*.whl")
    venv.create(home / "env", with_pip=False, symlinks=True)
    python = home / "env" / "bin" / "python"
    subprocess.run([*pip, "--python", str(python), "install", "-q", "--no-deps", "--no-index", str(wheel)], check=True)
    (site,) = home.glob("env/lib/python*/site-packages")
    import numpy

    (site / "libraries.pth").write_text(f"{Path(numpy.__file__).parents[1]}\n")
    assert not (site / "tools").exists()
    return home / "env" / "bin" / "seqzoo"


@pytest.mark.slow
def test_a_wheel_has_what_every_machine_can_have(installed, tmp_path):
    """The models that it carries, the names of the others, and no folder of who built it."""
    (room,) = installed.parents[1].glob("lib/python*/site-packages/zoo/hub")
    assert (room / "address.txt").read_text() == ""
    assert (room / "snapshot.json").read_bytes() == (ROOT / "hub" / "index.json").read_bytes()
    for path in room.parents[1].rglob("*"):
        if path.is_file() and path.suffix not in (".pth", ".pyc") and path.parent.suffix != ".dist-info":
            assert bytes(ROOT) + b"/" not in path.read_bytes(), path

    def run(*words, code=0):
        clean = {"PATH": os.environ["PATH"], "SEQZOO_CACHE": str(tmp_path / "cache")}
        done = subprocess.run([installed, *words], cwd=tmp_path, env=clean, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        return done.stdout + done.stderr

    names = {each["name"] for each in json.loads((room / "snapshot.json").read_text())["models"]}
    assert [each["name"] for each in json.loads(run("list", "--json"))["models"]] == ["dates"]
    told = run("list")
    assert f"{len(names) - 1} more models, of all tasks, such as " in told and "set SEQZOO_HUB to its folder" in told
    assert run("run", "dates", "3. März 2021", "--offline") == "2021-03-03\n"
    said = run("run", "pos-en", "a", code=2)
    assert "it is in seqzoo's own hub, whose address is not known here: set SEQZOO_HUB" in said


@pytest.mark.release
def test_an_installed_wheel_trains_exports_verifies_and_runs(installed, theirs, tmp_path):
    def seqzoo(*arguments, command=(installed,)):
        done = start([*map(str, command), *map(str, arguments)], *theirs, KERAS_BACKEND="tensorflow")
        assert done.returncode == 0, done.stderr
        return done

    small = "data.train_size=40 data.valid_size=5 data.test_size=6 data.longest=4 model.units=3 training.batch_size=8"
    steps = "training.steps=2 training.validate_every=1 training.warmup=0 training.num_buckets=1"
    changes = [word for setting in f"{small} {steps} search.max_output_length=5".split() for word in ("--set", setting)]
    trained = seqzoo("train", "reversal-gru-additive", "--out", tmp_path / "run", *changes)
    assert not re.search(r"oneDNN|absl|cuInit|^[IWE]0000", trained.stderr, re.MULTILINE), trained.stderr
    as_module = (installed.with_name("python"), "-m", "seqzoo")
    export = ("export", tmp_path / "run", "--out", tmp_path, "--no-int8")
    path = seqzoo(*export, command=as_module).stdout.strip()
    assert "is intact" in seqzoo("verify", path).stdout
    assert seqzoo("run", path, "a b").stdout.count("\n") == 1
