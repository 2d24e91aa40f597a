"""What pyproject.toml has no words for: `tools` is installed as the package `seqzoo`, and a wheel knows a hub.

A wheel records the address of the hub whose models it runs by name: SEQZOO_HUB_ADDRESS of the build, which a release
sets, or else the folder `hub` of the checkout that it is built from. It also carries the index of that folder, so that
`seqzoo list` shows the models without a network, and one small model, so that `seqzoo run dates` answers at once.
"""

import json
import os
import shutil
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

HUB = Path(__file__).absolute().parent / "hub"
CARRIED, MOST_BYTES = "dates", 2_000_000  # the model that is part of the wheel, and how large it may be


class BuildWithHub(build_py):
    def run(self):
        super().run()
        if self.editable_mode:
            return
        home, held = Path(self.build_lib) / "zoo" / "hub", (HUB / "index.json").is_file()
        address = os.environ.get("SEQZOO_HUB_ADDRESS", HUB.as_uri() if held else "")
        (home / "address.txt").write_text(f"{address}\n" if address else "", encoding="utf-8")
        if held:
            shutil.copyfile(HUB / "index.json", home / "snapshot.json")
            carry(json.loads((HUB / "index.json").read_text(encoding="utf-8")), home / "bundled")


def carry(index, out):
    """Write a hub of one model, the newest version of `CARRIED` that is not withdrawn, if the index has one."""
    found = [each for each in index["models"] if each["name"] == CARRIED and each["withdrawn"] is None]
    if not found:
        return
    entry = max(found, key=lambda each: each["version"])
    size = sum(entry["bytes"].values())
    if size > MOST_BYTES:
        raise ValueError(f"{CARRIED} has {size:,} bytes; a wheel carries at most {MOST_BYTES:,}.")
    shutil.rmtree(out, ignore_errors=True)
    for name in entry["files"]:
        path = Path(CARRIED) / str(entry["version"]) / name
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(HUB / path, out / path)
    own = {"format": index["format"], "models": [entry]}  # without a signature, which is of the whole index
    (out / "index.json").write_text(json.dumps(own, indent=1) + "\n", encoding="utf-8")


setup(
    packages=[*find_packages(include=["zoo*", "serving*"]), "seqzoo"],
    package_dir={"seqzoo": "tools"},
    cmdclass={"build_py": BuildWithHub},
)
