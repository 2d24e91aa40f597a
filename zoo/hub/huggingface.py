"""A hub in a repository of Hugging Face: hf://OWNER/REPO, or hf://OWNER/REPO/FOLDER. It needs `huggingface_hub`.

That library keeps a cache of its own and does not compare hashes. So what it gives counts as what a server gives: the
file is copied into the cache of seqzoo, and has its name there only if its bytes have the SHA-256 of the index.
"""

import os
from pathlib import Path

from zoo.hub.errors import HubError, Unreachable
from zoo.hub.folder import Folder


class HuggingFace:
    """A hub in a repository of models."""

    remote, own = True, False

    def __init__(self, address):
        self.address = address.rstrip("/")
        owner, mark, rest = self.address.removeprefix("hf://").partition("/")
        repository, _, self.folder = rest.partition("/")
        if not (owner and mark and repository):
            raise ValueError(
                f"{address!r} is not the address of a hub: expected hf://OWNER/REPO or hf://OWNER/REPO/FOLDER."
            )
        self.repository = f"{owner}/{repository}"

    def read(self, path, most):
        """At most `most` + 1 bytes of a file."""
        return self._local(path).read(os.path.basename(path), most)

    def open(self, path, start=0, validator=None):
        """The file `path` of the hub from byte `start` on, as `zoo.hub.folder.Folder.open`."""
        return self._local(path).open(os.path.basename(path), start)

    def _local(self, path):
        try:
            from huggingface_hub import hf_hub_download
        except ImportError as error:
            needed = f"{self.address} is read with huggingface_hub: pip install 'seqzoo[huggingface]'"
            raise ImportError(needed, name="huggingface_hub") from error
        inside = f"{self.folder}/{path}" if self.folder else path
        try:
            found = Path(hf_hub_download(repo_id=self.repository, filename=inside))
        except Exception as error:  # its many errors have no common base class
            kind = Unreachable if isinstance(error, OSError) and "404" not in str(error) else HubError
            raise kind(f"{self.address} did not give {path}: {' '.join(str(error).split())[:300]}") from error
        return Folder(found.parent, self.address)
