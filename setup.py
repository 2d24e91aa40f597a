"""What pyproject.toml has no words for: `tools` is installed as the package `seqzoo`, and a wheel knows a hub.

A wheel records the address of the hub whose models it runs by name: SEQZOO_HUB_ADDRESS of the build, which a release
sets, or else the folder `hub` of the checkout that it is built from. It also carries the index of that folder, so that
`seqzoo list` shows the models without a network.
"""

import os
import shutil
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

HUB = Path(__file__).absolute().parent / "hub"


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


setup(
    packages=[*find_packages(include=["zoo*", "serving*"]), "seqzoo"],
    package_dir={"seqzoo": "tools"},
    cmdclass={"build_py": BuildWithHub},
)
