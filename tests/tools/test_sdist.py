"""What is built from an sdist is what is built from the checkout."""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest

from tests.house_rules import ROOT


@pytest.mark.slow
def test_a_wheel_from_the_sdist_is_that_of_the_checkout(tmp_path):
    """File by file, with the address of a release; and without the hub nothing is built."""
    copy = tmp_path / "checkout"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    left = ("tests/", "docs/", "benchmarks/")  # and of the hub all but what a wheel carries
    for name in listed.decode().split("\0"):
        mine = not name.startswith("hub/") or name.startswith(("hub/index.json", "hub/dates/"))
        if mine and not name.startswith(left) and (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
    address, before = "https://example.org/hub", (copy / "zoo/hub/address.txt").read_bytes()

    def build(kind, source, out, **more):
        code = f"from setuptools import build_meta; print(build_meta.build_{kind}({str(out)!r}))"
        command = [sys.executable, "-c", code]
        done = subprocess.run(command, cwd=source, env=os.environ | more, capture_output=True, text=True)
        return done.stdout.split()[-1] if done.returncode == 0 else done.stderr

    def members(path):
        with zipfile.ZipFile(path) as file:
            return {name: file.read(name) for name in file.namelist() if ".dist-info/" not in name}

    for name in ("sdist", "one", "two"):
        (tmp_path / name).mkdir()
    source = build("sdist", copy, tmp_path / "sdist", SEQZOO_HUB_ADDRESS=address)
    assert (copy / "zoo/hub/address.txt").read_bytes() == before
    with tarfile.open(tmp_path / "sdist" / source) as file:
        file.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    made = [
        members(tmp_path / "one" / build("wheel", copy, tmp_path / "one", SEQZOO_HUB_ADDRESS=address)),
        members(tmp_path / "two" / build("wheel", unpacked, tmp_path / "two")),
    ]
    assert made[0].keys() == made[1].keys() and made[0] == made[1]
    assert made[0]["zoo/hub/address.txt"] == f"{address}\n".encode() and "zoo/hub/snapshot.json" in made[0]
    assert any(name.startswith("zoo/hub/bundled/dates/") for name in made[0])
    (unpacked / "hub" / "index.json").unlink()
    shutil.rmtree(unpacked / "build")
    assert "index.json is missing, so seqzoo would be built without its models" in build("wheel", unpacked, tmp_path)
    assert not list(tmp_path.glob("*.whl"))
