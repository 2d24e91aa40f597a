"""The wheel on every Python that pyproject.toml names: installed from nothing, it answers and fetches."""

import functools
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.house_rules import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NAMED = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
PIP = ["-m", "pip", "--disable-pip-version-check"]


@functools.cache
def interpreter(version):
    """The path of a Python: on the PATH, or beside the one that runs this, as pyenv and uv keep them."""
    beside = sorted(Path(sys.base_prefix).parent.glob(f"*{version}.*/bin/python"))
    for found in filter(None, [shutil.which(f"python{version}"), *beside]):
        code = "import sys, ensurepip; print('%d.%d' % sys.version_info[:2])"
        done = subprocess.run([str(found), "-c", code], capture_output=True, text=True)
        if done.stdout.strip() == version:
            return str(found)
    return None


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    home = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, *PIP, "wheel", str(ROOT), "--no-deps", "-q", "-w", str(home)], check=True)
    (path,) = home.glob("*.whl")
    return path


def test_the_oldest_is_the_one_that_is_required():
    assert PROJECT["requires-python"] == f">={NAMED[0]}"


@pytest.mark.release
@pytest.mark.parametrize("version", NAMED[1:])  # .ci/run installs on the first
def test_it_answers_right_after_pip_install(version, wheel, tmp_path):
    python = interpreter(version)
    if python is None:
        pytest.skip(f"there is no Python {version} here: pyenv install {version}")
    subprocess.run([python, "-m", "venv", str(tmp_path / "env")], check=True)
    own = tmp_path / "env" / "bin" / "python"
    done = subprocess.run([own, *PIP, "install", "-q", "-c", ROOT / "constraints.txt", wheel], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[-500:]

    def run(*words):
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, done.stderr
        return done.stdout

    seqzoo = own.with_name("seqzoo")
    assert run(seqzoo, "run", "dates", "3. März 2021") == "2021-03-03\n"
    code = "import zoo; from serving import Runtime; print(Runtime('dates').run(['March 3rd, 2021'])[0].text)"
    assert run(own, "-W", "error", "-c", code) == "2021-03-03\n"
    assert "dates-gru-additive" in run(seqzoo, "list")
