"""A file server that fails as it is told: each request for a file takes the next of `server.faults`."""

import contextlib
import hashlib
import re
import threading
import time
from collections import deque
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, home):
        super().__init__(("127.0.0.1", 0), Handler)
        self.home, self.asked, self.sent = Path(home), [], 0
        self.faults, self.faults_of_index = deque(), deque()
        self.released = threading.Event()

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_):
        pass  # a client that was killed

    def of(self, name):
        """The values of `Range` of all requests for a file."""
        return [asked for path, asked in self.asked if path == name]


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        content = (path := self.server.home / self.path.lstrip("/")).read_bytes() if self._is_there() else None
        self.server.asked.append((self.path.lstrip("/"), self.headers.get("Range")))
        faults = self.server.faults_of_index if path.name == "index.json" else self.server.faults
        fault = faults.popleft() if faults else plain
        if content is None:
            return self.answer(b"", status=404)
        return fault(self, content)

    def _is_there(self):
        return (self.server.home / self.path.lstrip("/")).is_file()

    def answer(self, content, status=None, length=None, tag=None, upto=None, **headers):
        """Answer a request for `content`, of which it is told that it has `length` bytes, with `upto` bytes of it."""
        tag = tag or f'"{hashlib.sha256(content).hexdigest()}"'
        start, wanted = 0, re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if wanted and status is None and self.headers.get("If-Range", tag) == tag:
            start = int(wanted[1])
            status, headers = 206, headers | {"Content-Range": f"bytes {start}-{len(content) - 1}/{len(content)}"}
        body = content[start:]
        self.send_response(status or 200)
        for name, value in {"ETag": tag, "Content-Length": len(body) if length is None else length, **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        body = body if upto is None else body[:upto]
        self.wfile.write(body)
        self.server.sent += len(body)

    def log_message(self, *_):
        pass


def plain(handler, content):
    handler.answer(content)


def cut(upto, handler, content):
    """End the connection after some bytes."""
    handler.answer(content, upto=upto)
    handler.close_connection = True


def stall(upto, handler, content):
    """Send some bytes, and then nothing until the test is over."""
    cut(upto, handler, content)
    handler.wfile.flush()
    handler.server.released.wait(30)


def longer(more, handler, content):
    """Claim more bytes than there are, or fewer, which are also what is sent."""
    handler.answer(content, length=len(content) + more, upto=len(content) + more)


def endless(handler, content):
    """Send the file, and then more than was asked for."""
    handler.answer(content + bytes(10**6), tag='"endless"')


def wrong(handler, content):
    handler.answer(bytes(255 - byte for byte in content))


def status(code, handler, content):
    handler.answer(b"", status=code)


def without_range(upto, handler, content):
    """Ignore `Range` and `If-Range`, and send the beginning of the file."""
    handler.answer(content, status=200, upto=upto)


def changed(other, upto, handler, content):
    """Send the beginning of another file, with another ETag, as a hub does that is being replaced."""
    handler.answer(other, upto=upto)


def slow(pause, handler, content):
    """Send the file in pieces, with pauses."""
    start = int((re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", "")) or [0, 0])[1])
    handler.answer(content, upto=0)
    for place in range(start, len(content), 4096):
        handler.wfile.write(content[place : place + 4096])
        time.sleep(pause)


def redirect(to, handler, content):
    handler.answer(b"", status=302, Location=to)


@contextlib.contextmanager
def serving(home):
    """A `Server` of a folder, in a thread."""
    server = Server(home)
    thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.01), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.released.set()
        server.shutdown()
        server.server_close()
