"""A hub in a repository of Hugging Face: hf://OWNER/REPO[@REVISION][/FOLDER]. It needs `huggingface_hub`.

A revision is a branch, a tag or a commit, which never changes; without one it is the branch main.

That library has a cache of its own and does not compare hashes. So its files are treated like those of a server: each
is copied into the cache of seqzoo, and has its name there only if its bytes have the SHA-256 of the index.
"""

import os
import re
from pathlib import Path

from zoo.hub.errors import HubError, Unreachable
from zoo.hub.folder import Folder

ADDRESS = re.compile(r"hf://(?P<repository>[^/@]+/[^/@]+)(?:@(?P<revision>[^/@]+))?(?:/(?P<folder>[^@]*))?")


class HuggingFace:
    """A hub in a repository of models."""

    remote, own = True, False

    def __init__(self, address):
        self.address = address.rstrip("/")
        parts = ADDRESS.fullmatch(self.address)
        if not parts:
            raise ValueError(
                f"{address!r} is not the address of a hub: expected hf://OWNER/REPO, with @REVISION or /FOLDER behind "
                "it, or both in this order."
            )
        self.repository, self.revision, self.folder = parts["repository"], parts["revision"], parts["folder"] or ""

    def read(self, path, most):
        """At most `most` + 1 bytes of a file."""
        return self._download(path).read(os.path.basename(path), most)

    def open(self, path, start=0, validator=None):
        """The file `path` of the hub from byte `start` on, as `zoo.hub.folder.Folder.open`."""
        return self._download(path).open(os.path.basename(path), start)

    def _download(self, path):
        try:
            from huggingface_hub import hf_hub_download
        except ImportError as error:
            message = f"{self.address} is read with huggingface_hub: pip install 'seqzoo[huggingface]'"
            raise ImportError(message, name="huggingface_hub") from error
        inside = f"{self.folder}/{path}" if self.folder else path
        try:
            local = Path(hf_hub_download(repo_id=self.repository, filename=inside, revision=self.revision))
        except Exception as error:  # its many errors have no common base class
            kind = Unreachable if isinstance(error, OSError) and "404" not in str(error) else HubError
            raise kind(f"{self.address} did not give {path}: {' '.join(str(error).split())[:300]}") from error
        return Folder(local.parent, self.address)
