"""Hubs on the network: on a file server, and in a repository of Hugging Face.

A file server is asked over https:// with the standard library, whose proxy settings it keeps. A repository is
hf://OWNER/REPO[@REVISION][/FOLDER], of which a revision is a branch, a tag or a commit, which never changes; without
one it is the branch main. It needs `huggingface_hub`, which has a cache of its own and does not compare hashes. So its
files are treated like those of a server: each is copied into the cache of seqzoo, and has its name there only if its
bytes have the SHA-256 of the index.
"""

import http.client
import io
import os
import re
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from zoo.core.later import installed_version
from zoo.hub.base import Answer, Folder, HubError, Interrupted, Unreachable

RETRIED = (408, 425, 429, 500, 502, 503, 504)  # statuses after which another attempt may succeed
TIMEOUT = 20.0  # seconds without a byte; SEQZOO_TIMEOUT overrides it
ADDRESS = re.compile(r"hf://(?P<repository>[^/@]+/[^/@]+)(?:@(?P<revision>[^/@]+))?(?:/(?P<folder>[^@]*))?")


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows what the standard library follows, but never from https:// to something else."""

    def redirect_request(self, request, answer, code, message, headers, url):
        if request.full_url.startswith("https:") and not url.startswith("https:"):
            raise HubError(f"{request.full_url} leads to {url!r}, which is not encrypted. It is not followed.")
        return super().redirect_request(request, answer, code, message, headers, url)


def _make_opener():
    opener = urllib.request.OpenerDirector()  # without the handlers of ftp:, file: and data:
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        _Redirects(),
    ):
        opener.add_handler(handler)
    return opener


def timeout():
    """Seconds without a byte after which a connection counts as stalled.

    Raises:
        ValueError: SEQZOO_TIMEOUT is not a positive number.
    """
    value = os.environ.get("SEQZOO_TIMEOUT")
    if not value:
        return TIMEOUT
    if not re.fullmatch(r"\d{1,4}(\.\d+)?", value) or float(value) == 0:
        raise ValueError(f"SEQZOO_TIMEOUT must be a positive number of seconds; received {value!r}.")
    return float(value)


class Web:
    """A hub on a file server; `address` is the URL of its folder."""

    remote, own = True, False

    def __init__(self, address):
        self.address = address.rstrip("/")

    def read(self, path, most):
        """At most `most` + 1 bytes of a file."""
        content = b""
        with self.open(path) as answer:
            while len(content) <= most and (block := answer.read(most + 1 - len(content))):
                content += block
        return content

    def open(self, path, start=0, validator=None):
        """The file `path` of the hub, from byte `start` on if the server can do this and the file is still the same.

        Args:
            path: relative to the hub.
            start: the number of bytes that are there already.
            validator: that of the answer from which they came.

        Raises:
            Interrupted: the server cannot be reached, stalls, or says that it is overloaded.
            HubError: the server does not have the file.
        """
        url = f"{self.address}/{urllib.parse.quote(path)}"
        headers = {"User-Agent": f"seqzoo/{installed_version('seqzoo') or 0}", "Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
            if validator:
                headers["If-Range"] = validator
        try:
            answer = _make_opener().open(urllib.request.Request(url, headers=headers), timeout=timeout())
        except urllib.error.HTTPError as error:
            with error:
                if error.code == 416:  # there are not as many bytes: from the beginning, then, with another request
                    return Answer(io.BytesIO(), 0)
                if error.code in RETRIED:
                    raise Interrupted(f"{url} answered {error.code} {error.reason}.") from error
                raise HubError(f"{url} answered {error.code} {error.reason}.") from error
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, HubError):
                raise
            raise Interrupted(f"{url} cannot be reached: {_reason(error)}.") from error
        offset = 0
        if answer.status == 206:
            part = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range", ""))
            offset = int(part[1]) if part else -1
        return Answer(_Body(answer, url), offset, _validator(answer.headers))


def _validator(headers):
    tag = headers.get("ETag", "")
    return tag if re.fullmatch(r'"[\x21\x23-\x7e]{1,200}"', tag) else None  # a weak one says nothing about bytes


def _reason(error):
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    return str(cause) or type(cause).__name__


class _Body:
    """The body of an answer, whose every failure is `Interrupted`."""

    def __init__(self, answer, url):
        self.answer, self.url = answer, url

    def read(self, most):
        try:
            block = self.answer.read1(most)
        except (OSError, http.client.HTTPException, ValueError) as error:  # ValueError: a malformed chunk
            raise Interrupted(f"{self.url} stopped answering: {_reason(error)}.") from error
        if not block and most and self.answer.length:
            raise Interrupted(f"{self.url} ended {self.answer.length:,} bytes before it said that it would.")
        return block

    def close(self):
        self.answer.close()


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
        """The file `path` of the hub from byte `start` on, as `zoo.hub.base.Folder.open`."""
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
