"""What docs/clients.md shows in other languages is run, each where its tool is."""

import glob
import os
import shutil
import subprocess
from pathlib import Path

import onnxruntime
import pytest

from serving.runtime import Runtime
from tests.house_rules import ROOT
from tests.serving.server import echo
from tests.shared import NODE

CLIENTS = ROOT / "examples" / "clients"
TEXTS = ["the cat sat on the mat", "a mat", "", "on a cat", "a cat sat on a mat on the mat"]
pytestmark = pytest.mark.slow


def needs(tool):
    return pytest.mark.skipif(shutil.which(tool) is None, reason=f"no {tool}: apt-get install {tool}")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    home = tmp_path_factory.mktemp("models")
    with echo.serving(*(echo.write(home / kind / "1", kind, kind).parent for kind in ("generate", "classify"))) as held:
        yield held


def call(*words, **more):
    return subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=300, **more)


@needs("curl")
def test_curl(server):
    """The lines of the page, with the port and the model of this server."""
    page = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("curl ")]
    assert len(lines) >= 2
    for line in lines:
        done = call(
            "bash", "-c", line.replace("127.0.0.1:8080", f"127.0.0.1:{server.http}").replace("dates", "generate")
        )
        assert done.returncode == 0 and "2021" in done.stdout, done.stderr


def test_node(server):
    url, texts = f"http://127.0.0.1:{server.http}", [f"{number} abc" for number in range(70)]
    done = call(NODE, CLIENTS / "infer.mjs", url, "generate", *texts)
    assert (done.returncode, done.stdout.splitlines()) == (0, texts), done.stderr
    done = call(NODE, CLIENTS / "infer.mjs", url, "classify", "abc", "a" * 20000)
    assert done.returncode == 1 and done.stdout == "zwei\n\n" and "text 2 is not answered: 20000" in done.stderr
    for words, status, said in (
        ((url, "nobody", "a"), 1, "404"),
        (("http://127.0.0.1:9", "generate", "a"), 1, "http://127.0.0.1:9: "),
        ((url,), 2, "usage"),
    ):
        done = call(NODE, CLIENTS / "infer.mjs", *words)
        assert done.returncode == status and said in done.stderr and not done.stdout


@needs("g++")
def test_cpp(artefacts, tmp_path):
    headers = os.environ.get("ONNXRUNTIME_INCLUDE")
    if not headers:
        pytest.skip("the wheel of ONNX Runtime has no headers: set ONNXRUNTIME_INCLUDE to `include` of a release")
    if not glob.glob("/usr/include/sentencepiece_processor.h"):
        pytest.skip("no headers of SentencePiece: apt-get install libsentencepiece-dev")
    (library,) = (Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so.*")
    for name in ("libonnxruntime.so", "libonnxruntime.so.1"):
        (tmp_path / name).symlink_to(library)
    built = call(
        *("g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", CLIENTS / "greedy.cpp", "-isystem", headers),
        *("-L", tmp_path, f"-Wl,-rpath,{tmp_path}", "-lonnxruntime", "-lsentencepiece", "-o", tmp_path / "greedy"),
    )
    assert built.returncode == 0, built.stderr
    artefact = artefacts("generate")
    runtime = Runtime(artefact, precision="float32")
    lines = "".join(f"{text}\n" for text in TEXTS)
    done = call(tmp_path / "greedy", artefact, runtime.manifest["max_length"], input=lines)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [each.text for each in runtime.run(TEXTS, beam=1)]
    assert call(tmp_path / "greedy", tmp_path, 3).returncode == 1 and call(tmp_path / "greedy").returncode == 2
