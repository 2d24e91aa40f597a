"""A headless Chromium, spoken to over two pipes in the DevTools protocol, and a file server for its pages."""

import contextlib
import fcntl
import functools
import http.server
import json
import os
import queue
import shutil
import signal
import tempfile
import threading
import time
from collections import defaultdict
from pathlib import Path

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = ("--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage")
QUIET = ("--disable-background-networking", "--disable-component-update", "--no-first-run", "--disable-extensions")
WAIT = 120.0  # seconds for an answer


def installed():
    """The path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Handler(http.server.SimpleHTTPRequestHandler):
    extensions_map = {**http.server.SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript"}

    def log_message(self, *words):
        self.server.asked.append(self.path)


@contextlib.contextmanager
def served(folder):
    """A file server over a folder: its address, and the paths that were asked for."""
    handler = functools.partial(Handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.asked = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", server.asked
        finally:
            server.shutdown()


class Browser:
    """A process of its own, with an empty profile; `close` ends it.

    Args:
        path: of a Chromium, or None for the one that is installed.
    """

    def __init__(self, path=None):
        self.profile = tempfile.mkdtemp(prefix="seqzoo-chromium-")
        to_read, self.writing = os.pipe()
        self.reading, to_write = os.pipe()
        command = [path or installed(), *FLAGS, *QUIET, f"--user-data-dir={self.profile}", "about:blank"]
        null = os.open(os.devnull, os.O_RDWR)
        # Chromium reads from descriptor 3 and writes to 4; the ends are first moved out of the way of these numbers.
        high = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 60) for each in (to_read, to_write)]
        actions = [(os.POSIX_SPAWN_DUP2, null, each) for each in (0, 1, 2)]
        actions += [(os.POSIX_SPAWN_DUP2, high[0], 3), (os.POSIX_SPAWN_DUP2, high[1], 4)]
        self.process = os.posix_spawn(command[0], command, os.environ, file_actions=actions, setsid=True)
        for each in {to_read, to_write, null, *high}:
            os.close(each)
        self.number, self.answers, self.turn = 0, {}, threading.Lock()
        self.events = defaultdict(queue.Queue)  # by the session that they are of
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        held = b""
        while more := os.read(self.reading, 1 << 16):
            *messages, held = (held + more).split(b"\0")
            for message in map(json.loads, messages):
                if "id" in message:
                    self.answers.pop(message["id"]).put(message)
                else:
                    self.events[message.get("sessionId")].put(message)

    def tell(self, method, session=None, **params):
        """The queue in which the answer to a method of the protocol will be."""
        answer = queue.Queue()
        with self.turn:
            self.number += 1
            self.answers[self.number] = answer
            message = {"id": self.number, "method": method, "params": params}
            os.write(self.writing, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        return answer

    def ask(self, method, session=None, **params):
        """The result of a method."""
        found = self.tell(method, session, **params).get(timeout=WAIT)
        if "error" in found:
            raise RuntimeError(f"{method}: {found['error']}")
        return found["result"]

    def cpu_seconds(self):
        """What all processes of the browser have used of processors until now; on Linux only."""
        ticks = 0
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):  # a process that has ended meanwhile
                values = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
                if int(values[3]) == self.process:  # its session, which begins with the first process
                    ticks += int(values[11]) + int(values[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def close(self):
        with contextlib.suppress(Exception):
            self.ask("Browser.close")
        for _ in range(50):
            if os.waitpid(self.process, os.WNOHANG)[0]:
                break
            time.sleep(0.1)
        else:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)
        os.close(self.writing)
        self.reader.join(timeout=5)  # it reads until the last process of the browser has closed its end
        if not self.reader.is_alive():
            os.close(self.reading)
        shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    """A page of a browser. `errors` are what its console said, `requests` the addresses that it asked for."""

    def __init__(self, browser, width=1200, height=900, dark=False):
        self.browser, self.errors, self.requests = browser, [], []
        target = browser.ask("Target.createTarget", url="about:blank")["targetId"]
        self.target = target
        self.session = browser.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.sessions = [self.session]  # with those of its workers
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility", "DOM"):
            self.ask(f"{domain}.enable")
        # What workers say and ask for counts, too.
        self.ask("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)
        self.size(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def ask(self, method, session=None, **params):
        return self.browser.ask(method, session or self.session, **params)

    def size(self, width, height):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def open(self, address):
        self.ask("Page.navigate", url=address)
        self.until("document.body && 'ready' in document.body.dataset")

    def heard(self):
        """Sort what has happened into `errors` and `requests`."""
        for session in self.sessions:  # which grows meanwhile
            with contextlib.suppress(queue.Empty):
                while True:
                    self._sort(self.browser.events[session].get_nowait())

    def _sort(self, event):
        method, params = event["method"], event.get("params", {})
        if method == "Target.attachedToTarget":
            self.sessions.append(params["sessionId"])
            for each in ("Runtime.enable", "Network.enable", "Log.enable", "Runtime.runIfWaitingForDebugger"):
                self.browser.tell(each, params["sessionId"])  # a target may not have it, or answer later
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.errors.append(str(params["exceptionDetails"])[:500])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(str(params["args"])[:500])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(f"{params['entry']['text']} {params['entry'].get('url')}")

    def close(self):
        self.ask("Target.closeTarget", targetId=self.target)

    def run(self, expression):
        """The value of an expression of JavaScript; a promise is waited for, within `WAIT`."""
        how = {"awaitPromise": True, "returnByValue": True}
        answer = self.browser.tell("Runtime.evaluate", self.session, expression=expression, **how)
        end = time.monotonic() + WAIT
        while True:
            self.heard()
            with contextlib.suppress(queue.Empty):
                found = answer.get(timeout=0.05)
                break
            if time.monotonic() > end:
                raise TimeoutError(f"no value after {WAIT} s: {expression[:200]}; {self.errors}")
        if "error" in found:
            raise RuntimeError(str(found["error"]))
        found = found["result"]
        if "exceptionDetails" in found:
            raise RuntimeError(str(found["exceptionDetails"].get("exception", found))[:1000])
        return found["result"].get("value")

    def until(self, condition):
        """Wait until an expression is true."""
        for _ in range(int(WAIT / 0.05)):
            if self.run(f"Promise.resolve({condition}).then(Boolean)"):
                return
            time.sleep(0.05)
        raise TimeoutError(f"not true after {WAIT} s: {condition}; {self.errors}")

    def press(self, key, code):
        """Press a key, by its name and its number (Tab is 9)."""
        text = {"text": "\r"} if key == "Enter" else {}  # without it, Enter acts on nothing
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **text)
