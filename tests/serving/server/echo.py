"""Servers of artefacts made by hand, each in a process of its own, and callers that speak to them.

The artefacts are those of `tests.serving.fake_artefact`, with the tables of their signatures.
"""

import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time

from tests.house_rules import ROOT
from tests.serving import fake_artefact

KINDS = tuple(kind for kind in fake_artefact.KINDS if kind != "rate")


def write_all(home):
    """Kind -> its artefact, version 7 of a model that is called like the kind."""
    return {kind: write(home / kind / "7", kind, kind) for kind in KINDS}


def write(folder, kind="generate", name="echo"):
    """An artefact of a kind, with the tables of its signatures, in `folder`; returns the folder."""
    fake_artefact.write(folder, kind)
    return fake_artefact.change(folder, name=name, signatures=fake_artefact.signatures(folder, kind))


class Running:
    """A server in a process: its ports, and the events that it has logged."""

    def __init__(self, process):
        self.process, self.events, self.changed = process, [], threading.Condition()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        ready = self.event("ready", 60)
        self.http, self.grpc = ready["http_port"], ready["grpc_port"]

    def _read(self):
        for line in self.process.stderr:
            with self.changed:
                self.events.append(json.loads(line) if line.startswith("{") else {"event": "text", "message": line})
                self.changed.notify_all()
        with self.changed:
            self.events.append({"event": "end"})
            self.changed.notify_all()

    def event(self, name, seconds=20, number=1):
        """The `number`th event of a name, waited for."""
        until = time.monotonic() + seconds
        with self.changed:
            while True:
                held = [event for event in self.events if event["event"] == name]
                if len(held) >= number:
                    return held[number - 1]
                ended = any(event["event"] == "end" for event in self.events)
                if ended or not self.changed.wait(until - time.monotonic()):
                    raise AssertionError(f"no event {name!r} within {seconds} seconds: {self.events}")

    def ask(self, method, path, body=None, headers=(), seconds=30):
        """`(status, headers, value)` of one request; JSON is read."""
        connection = http.client.HTTPConnection("127.0.0.1", self.http, timeout=seconds)
        try:
            content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
            connection.request(method, path, content, dict(headers))
            response = connection.getresponse()
            held, kind = response.read(), response.headers.get("content-type", "")
            return response.status, response.headers, json.loads(held) if kind == "application/json" else held
        finally:
            connection.close()

    def infer(self, model, *texts, name="text", **parameters):
        """The outputs by name of a request of the Open Inference Protocol."""
        body = {"inputs": [{"name": name, "datatype": "BYTES", "shape": [len(texts)], "data": texts}]}
        status, _, value = self.ask("POST", f"/v2/models/{model}/infer", body | {"parameters": parameters})
        assert status == 200, value
        return {each["name"]: each["data"] for each in value["outputs"]}

    def metric(self, line):
        """The value of a line of /metrics that begins with `line`."""
        text = self.ask("GET", "/metrics")[2].decode()
        return sum(float(each.rpartition(" ")[2]) for each in text.splitlines() if each.startswith(line))

    def end(self, number=signal.SIGTERM, seconds=30):
        """The exit status after a signal."""
        self.process.send_signal(number)
        return self.process.wait(seconds)


@contextlib.contextmanager
def callers(count, ask):
    """So many threads that call `ask()`, and are done when the block ends."""
    threads = [threading.Thread(target=ask) for _ in range(count)]
    for thread in threads:
        thread.start()
    yield
    for thread in threads:
        thread.join(60)


def command(*arguments, before=""):
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); {before}from tools.cli import main; sys.exit(main())"
    return [sys.executable, "-c", code, "serve", *map(str, arguments)]


@contextlib.contextmanager
def serving(*arguments, cwd=None, before=""):
    """A running server on free ports; it is killed at the end if it still runs. `before` is code that is run first."""
    words = command(*arguments, "--http-port", 0, "--grpc-port", 0, before=before)
    environment = os.environ | {"SEQZOO_OFFLINE": "1"}
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, cwd=cwd, env=environment)
    try:
        yield Running(process)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        process.stderr.close()
