"""What pyproject.toml has no words for: `tools` is installed as the package `seqzoo`, and a wheel knows models.

A wheel carries one small model, so that `seqzoo run dates` answers at once, and the index of the hub beside which it
was built, so that the other models are known by their names. It records the address of that hub only where
SEQZOO_HUB_ADDRESS of the build says one, which a release sets: a folder of the builder is nowhere else. An sdist has
all of this, too, so the wheel that is built from it is the same.
"""

import json
import os
import shutil
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

ROOT = Path(__file__).absolute().parent
HUB, ADDRESS = ROOT / "hub", Path("zoo") / "hub" / "address.txt"
CARRIED, MOST_BYTES = "dates", 2_000_000  # the model that is part of the wheel, and how large it may be


class BuildWithHub(build_py):
    def run(self):
        super().run()
        if self.editable_mode:
            return
        index, home = read_index(), Path(self.build_lib) / "zoo" / "hub"
        record(Path(self.build_lib))
        shutil.copyfile(HUB / "index.json", home / "snapshot.json")
        entry = carry(index, home / "bundled")
        own = {"format": index["format"], "models": [entry]}  # without a signature, which is of the whole index
        (home / "bundled" / "index.json").write_text(json.dumps(own, indent=1) + "\n", encoding="utf-8")


class SdistWithHub(sdist):
    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        record(Path(base_dir))
        carry(read_index(), Path(base_dir) / "hub")
        shutil.copyfile(HUB / "index.json", Path(base_dir) / "hub" / "index.json")


def read_index():
    path = HUB / "index.json"
    if not path.is_file():
        raise SystemExit(
            f"{path} is missing, so seqzoo would be built without its models. Build it from a checkout, or from the "
            "sdist that `python -m build --sdist` writes in one."
        )
    return json.loads(path.read_text(encoding="utf-8"))


def record(out):
    """Write the address of the hub: what the environment says, or else what the sdist says that is built from."""
    address = os.environ.get("SEQZOO_HUB_ADDRESS", (ROOT / ADDRESS).read_text(encoding="utf-8").strip())
    (out / ADDRESS).unlink(missing_ok=True)  # it may be a second name of the file of the checkout
    (out / ADDRESS).write_text(f"{address}\n" if address else "", encoding="utf-8")


def carry(index, out):
    """Copy the newest version of `CARRIED` that is not withdrawn to the folder of a hub, and return its entry."""
    found = [each for each in index["models"] if each["name"] == CARRIED and each["withdrawn"] is None]
    if not found:
        raise SystemExit(f"{HUB / 'index.json'} has no model {CARRIED}, which a wheel carries.")
    entry = max(found, key=lambda each: each["version"])
    size = sum(entry["bytes"].values())
    if size > MOST_BYTES:
        raise SystemExit(f"{CARRIED} has {size:,} bytes; a wheel carries at most {MOST_BYTES:,}.")
    shutil.rmtree(out, ignore_errors=True)
    for name in entry["files"]:
        path = Path(CARRIED) / str(entry["version"]) / name
        (out / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(HUB / path, out / path)
    return entry


setup(
    packages=[*find_packages(include=["zoo*", "serving*"]), "seqzoo"],
    package_dir={"seqzoo": "tools"},
    cmdclass={"build_py": BuildWithHub, "sdist": SdistWithHub},
)
