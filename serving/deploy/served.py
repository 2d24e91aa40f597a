"""The models that are deployed: where their versions lie, and what these can do."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from serving.runtime.artefact import Artefact, check_files, resolve


@dataclass(frozen=True)
class Model:
    """A folder of versions.

    Args:
        name: as the manifests of the versions have it.
        home: the folder of its versions, a base path of TensorFlow Serving.
    """

    name: str
    home: Path

    def folder(self, version):
        return self.home / str(version)

    @cached_property
    def versions(self):
        """The numbers of the versions that are there, in order."""
        names = (path.parent.name for path in self.home.glob("*/manifest.json"))
        return sorted(int(name) for name in names if name.isdecimal() and name.isascii())

    def manifest(self, version):
        """The manifest of a version, after a check of every file of it.

        Raises:
            ValueError: there is no such version.
            DamagedError: a file has other bytes than the manifest records.
        """
        if version not in self.versions:
            versions = ", ".join(map(str, self.versions)) or "none"
            raise ValueError(f"{self.name} has no version {version} in {self.home}: there are {versions}.")
        manifest = Artefact(self.folder(version)).manifest
        check_files(self.folder(version), manifest)
        return manifest


def find_served(path):
    """`(Model, version)` of an artefact; of a folder of versions, or of one with a single model, the version is None.

    Raises:
        ValueError: there is no artefact, or its folder has another name than its version, which servers go by.
    """
    folder = resolve(path).resolve()
    manifest = Artefact(folder).manifest
    if folder.name != str(manifest["version"]):
        raise ValueError(
            f"{folder} cannot be deployed: its manifest says that it is version {manifest['version']}, so its folder "
            f"must have this name, and not {folder.name!r}. Rename it, or copy it to a folder of this name."
        )
    version = manifest["version"] if Path(path).resolve() == folder else None
    return Model(manifest["name"], folder.parent), version
