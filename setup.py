"""What pyproject.toml has no words for: the folder `tools` is installed as the package `seqzoo`."""

from setuptools import find_packages, setup

setup(packages=[*find_packages(include=["zoo*", "serving*"]), "seqzoo"], package_dir={"seqzoo": "tools"})
