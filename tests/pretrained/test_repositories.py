"""hf:// addresses, by the real `huggingface_hub` and a server of its API on this machine."""

import hashlib
import json
import sys
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.shared import python
from zoo.pretrained.source import open_address

MARIAN = Path(__file__).with_name("data") / "marian"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
ASK = """
import json, sys
from zoo.pretrained.source import open_address
for address in sys.argv[1:]:
    try:
        with open_address(address) as source:
            files = sorted(path.name for path in source.folder.rglob("*") if path.is_file())
            print(json.dumps([source.revision, source.licence(), files]))
    except Exception as error:
        print(json.dumps([type(error).__name__, str(error)]))
"""


class Hub(BaseHTTPRequestHandler):
    """The little of the API that a snapshot needs; other repositories and revisions are refused as there."""

    def __init__(self, folder, *args):
        self.folder = folder
        super().__init__(*args)

    def do_GET(self):
        path, (_, *parts) = self.path.partition("?")[0], self.path.partition("?")[0].split("/")
        files = [each for each in sorted(self.folder.iterdir()) if each.is_file()]
        if parts[:2] == ["api", "models"]:
            refused = self._refused(parts[2:])
            if refused:
                return self._send(*refused)
            if "tree" in parts:
                listed = [{"type": "file", "path": each.name, "size": each.stat().st_size, "oid": digest(each)}
                          for each in files]  # fmt: skip
                return self._send(200, json.dumps(listed).encode())
            about = {"id": "owner/name", "sha": COMMIT, "siblings": [{"rfilename": each.name} for each in files]}
            return self._send(200, json.dumps(about).encode())
        assert path.startswith(f"/owner/name/resolve/{COMMIT}/"), path
        file = self.folder / parts[-1]
        self._send(200, file.read_bytes(), **{"ETag": f'"{digest(file)}"', "X-Repo-Commit": COMMIT})

    do_HEAD = do_GET

    def _refused(self, parts):
        if parts[:2] == ["owner", "gated"]:
            return 403, b"", {"X-Error-Code": "GatedRepo"}
        if parts[:2] != ["owner", "name"]:
            return 404, b"", {"X-Error-Code": "RepoNotFound"}
        known = not parts[2:] or parts[3] in ("main", COMMIT)
        return None if known else (404, b"", {"X-Error-Code": "RevisionNotFound"})

    def _send(self, status, content, headers=(), **more):
        self.send_response(status)
        for name, value in {**dict(headers), **more, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *args):
        pass


def digest(file):
    return hashlib.sha1(file.read_bytes()).hexdigest()


@pytest.fixture
def environment(tmp_path):
    """Variables of a process whose hub is here."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Hub, MARIAN))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    own = {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}", "HF_HOME": str(tmp_path / "hf")}
    yield own | {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "HF_HUB_DISABLE_XET": "1"}
    server.shutdown()
    server.server_close()


def asked(environment, *addresses):
    return [json.loads(line) for line in python("-c", ASK, *addresses, **environment).stdout.splitlines()]


def test_a_repository_is_fetched_at_a_commit_or_refused_in_words(environment):
    names = "owner/name", f"owner/name@{COMMIT}", "owner/name@v9", "owner/nobody", "owner/gated", "owner"
    first, at_commit, revision, unknown, gated, no_address = asked(environment, *(f"hf://{each}" for each in names))
    commit, licence, files = first
    assert (commit, licence) == (COMMIT, "apache-2.0") and at_commit == first
    assert {"model.safetensors", "config.json", "vocab.json", "source.spm", "README.md"} <= {*files}
    assert "answers.npz" not in files, "one form of weights alone"
    assert revision[0] == "ValueError" and "owner/name has no revision 'v9'" in revision[1]
    assert unknown[0] == "ValueError" and "There is no owner/nobody that you may read" in unknown[1]
    assert gated[0] == "ValueError" and "accepted its terms" in gated[1]
    assert no_address[0] == "ValueError" and "expected hf://OWNER/NAME" in no_address[1]


def test_without_a_network_it_says_what_to_do(environment):
    ((kind, told),) = asked(environment | {"HF_ENDPOINT": "http://127.0.0.1:9"}, "hf://owner/name")
    assert kind == "OSError" and "could not be fetched" in told and "import its folder" in told


def test_the_package_may_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(ImportError, match="pip install 'seqzoo.huggingface.'"), open_address("hf://owner/name"):
        pass


@pytest.mark.slow
def test_the_card_names_the_commit(environment, tmp_path):
    python("-m", "tools", "import", "hf://owner/name", "--out", tmp_path / "run", **environment)
    card = (tmp_path / "run" / "card.md").read_text(encoding="utf-8")
    assert f"Imported from hf://owner/name at revision {COMMIT}." in card and "apache-2.0" in card
