"""The image of a deployment is built from what lies in its folder: the lines of its Dockerfile, run without Docker."""

import os
import re
import subprocess
import sys

import pytest

from serving.deploy.kserve import build_wheel
from tests.house_rules import ROOT
from tests.serving.deploy.commands import content, deploy
from tests.serving.fake_artefact import write
from tests.shared import python


def test_the_wheel_is_that_of_the_packages_and_always_the_same_bytes(home, tmp_path):
    name, made = build_wheel()
    assert deploy(home / "1", "--target", "kserve", "--out", tmp_path / "out") == 0
    held = content(tmp_path / "out")
    assert held[name] == made and f"COPY {name} /wheels/\n" in held["Dockerfile"].decode()


@pytest.mark.slow
def test_the_lines_of_the_dockerfile_install_what_serves(home, tmp_path):
    """COPY and RUN, with the libraries of this environment in the place of those that pip would fetch."""
    out, wheels, site = tmp_path / "out", tmp_path / "wheels", tmp_path / "site"
    assert deploy(home / "1", "--target", "kserve", "--out", out) == 0
    text = (out / "Dockerfile").read_text()
    (copied,) = re.findall(r"^COPY (\S+) /wheels/$", text, re.MULTILINE)
    (wanted,) = re.findall(r'^ARG SEQZOO="(.*)"$', text, re.MULTILINE)
    (run,) = re.findall(r"^RUN (pip install .*)$", text, re.MULTILINE)
    assert re.findall(r'^ENTRYPOINT \["(.*)"\]$', text, re.MULTILINE) == ["seqzoo"]
    wheels.mkdir()
    (wheels / copied).write_bytes((out / copied).read_bytes())
    wanted = wanted.replace("/wheels/", f"{wheels}/")
    more = f"--no-deps --no-index --quiet --target {site}"
    command = run.replace("pip install", f"{sys.executable} -m pip install {more}")
    environment = os.environ | {"SEQZOO": wanted, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    subprocess.run(["sh", "-c", command], env=environment, check=True, cwd=tmp_path)
    artefact = write(tmp_path / "echo" / "1")
    code = (
        "import sys, seqzoo, zoo; print(seqzoo.__file__, zoo.__file__); from seqzoo.cli import main; sys.exit(main())"
    )
    done = python("-c", code, "run", artefact, "abc", cwd=tmp_path, PYTHONPATH=str(site))
    assert done.stdout == f"{site}/seqzoo/__init__.py {site}/zoo/__init__.py\nabc\n"
    assert (site / "bin" / "seqzoo").is_file() and not (site / "tools").exists()
    assert str(ROOT) not in (site / "zoo" / "hub" / "address.txt").read_text()
