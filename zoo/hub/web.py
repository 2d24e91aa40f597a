"""A hub on a file server: https://, with the standard library, whose proxy settings it keeps."""

import http.client
import io
import os
import re
import urllib.error
import urllib.parse
import urllib.request

from zoo.core.later import installed_version
from zoo.hub.errors import HubError, Interrupted
from zoo.hub.folder import Answer

RETRIED = (408, 425, 429, 500, 502, 503, 504)  # statuses after which another attempt may succeed
TIMEOUT = 20.0  # seconds without a byte; SEQZOO_TIMEOUT overrides it


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
