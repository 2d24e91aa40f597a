"""An artefact by its name: it lies in the cache of `zoo.hub`, and each file comes when it is first needed.

`zoo.hub` is the one part of `zoo` that `serving.runtime` knows, and only here: it needs no framework, and whoever gives
a folder instead of a name does not import it.
"""

import os

from serving.lazy import later
from serving.runtime.artefact import MANIFEST, Artefact, resolve
from serving.runtime.manifest_format import int8_name

hub = later("zoo.hub")


def open_artefact(name, verify=True):
    """The `Artefact` of a folder, or of a model of this name in a hub. A folder that exists wins.

    Raises:
        ValueError: there is neither such a folder nor such a model.
        zoo.hub.HubError: the model cannot be downloaded.
    """
    return Artefact(name, verify) if _is_folder(name) else FetchedArtefact(name, verify)


def locate(name):
    """What `open_artefact` takes for an argument of a command: a folder below which one artefact lies is that artefact.

    Raises: as of `serving.runtime.artefact.resolve`, for a folder.
    """
    return resolve(name) if _is_folder(name) else name


def _is_folder(name):
    if not isinstance(name, str) or os.path.isdir(name):
        return True
    return hub.is_path(name)


class FetchedArtefact(Artefact):
    """An artefact of a hub. Every file is compared with the index of the hub, too, whatever `verify` says.

    Args:
        name: "name" or "name@version".
        verify: as of `Artefact`.
    """

    def __init__(self, name, verify=True):
        self._fetch_files = hub.fetch_files
        try:
            self.published = hub.find(name)
        except ValueError as error:
            raise ValueError(f"No artefact at {name}: there is no such directory, and {error}") from error
        super().__init__(hub.fetch_files(self.published, [MANIFEST], progress=False), verify)
        self.origin = name

    def read(self, name):
        """The bytes of file `name`, which is downloaded if need be; errors as of `Artefact` and `zoo.hub.fetch`."""
        if name in self.manifest["files"]:
            self._fetch_files(self.published, [name])
        return super().read(name)

    def preferred_file(self, name):
        """The int8 form of a graph if the hub says that it loses nothing, or has that form alone; else the graph."""
        entry, light = self.published.entry, int8_name(name)
        return light if light in entry["files"] and (entry["int8"] or name not in entry["files"]) else name
