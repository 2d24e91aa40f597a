"""Other servers for `benchmarks/server_load.py`, with the same artefact and over the same protocol.

- `savedmodel`: `seqzoo serve` with the same batches, and TensorFlow's SavedModel in the place of ONNX Runtime.
- `mlserver`: MLServer with its adaptive batching (32 texts, 2 ms) around `serving.runtime.Runtime`. It runs in an
  environment of its own, whose Python MLSERVER_PYTHON names: `pip install mlserver onnxruntime sentencepiece`.
- `ctranslate2`: a FastAPI page around CTranslate2, of a pre-norm Transformer alone (`server_ctranslate2.py`). Its
  environment has a Python that CTRANSLATE2_PYTHON names.
- `plain`: a FastAPI page around `Runtime.run`, one text a request, in FastAPI's threads: what one writes first.

`python benchmarks/server_peers.py NAME FOLDER PORT` runs one of those that need this environment.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).absolute().parents[1]
ADAPTER = """
from mlserver import MLModel
from mlserver.codecs import NumpyCodec, StringCodec
from mlserver.types import InferenceResponse
import numpy as np
from serving.runtime import Runtime


def join_tags(answer):
    return answer if isinstance(answer, str) else " ".join(answer)


class Model(MLModel):
    async def load(self):
        self.runtime = Runtime(self.settings.parameters.uri, threads=1)
        self.runtime.run(["a"])
        return True

    async def predict(self, payload):
        results = self.runtime.run(StringCodec.decode_input(payload.inputs[0]))
        answers = StringCodec.encode_output("{output}", [join_tags(result.answer) for result in results])
        return InferenceResponse(model_name=self.name, id=payload.id, outputs=[answers])
"""


@dataclass
class Served:
    """A server that runs: its process, its port, and where it is asked."""

    process: object
    port: int
    path: str


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as held:
        return held.getsockname()[1]


@contextlib.contextmanager
def running(words, port, ready, path, **kwargs):
    """A process, once `ready` answers."""
    process = subprocess.Popen(list(map(str, words)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **kwargs)
    try:
        until = time.monotonic() + 300
        while True:
            if process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"{words} has not started: exit status {process.poll()}")
            with contextlib.suppress(OSError):
                if urllib.request.urlopen(f"http://127.0.0.1:{port}{ready}", timeout=5).status == 200:
                    break
            time.sleep(0.5)
        yield Served(process, port, path)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


def mine(name):
    """A peer that this file runs in this environment."""

    def peer(folder, model):
        port = free_port()
        words = [sys.executable, __file__, name, Path(folder).resolve(), port]
        return running(words, port, "/v2/health/ready", f"/v2/models/{model}/infer", cwd=ROOT)

    return peer


@contextlib.contextmanager
def mlserver(folder, model):
    python, port = os.environ["MLSERVER_PYTHON"], free_port()
    output = (
        "label" if json.loads((Path(folder) / "manifest.json").read_text())["kind"] == "classify" else "output_text"
    )
    with tempfile.TemporaryDirectory() as home:
        settings = {"http_port": port, "grpc_port": free_port(), "metrics_port": free_port(), "debug": False}
        settings |= {"parallel_workers": 0, "host": "127.0.0.1"}
        own = {"name": model, "implementation": "adapter.Model", "max_batch_size": 32, "max_batch_time": 0.002}
        own["parameters"] = {"uri": str(Path(folder).resolve())}
        for file, content in (("settings.json", settings), ("model-settings.json", own)):
            (Path(home) / file).write_text(json.dumps(content))
        (Path(home) / "adapter.py").write_text(ADAPTER.replace("{output}", output))
        environment = os.environ | {"PYTHONPATH": f"{home}{os.pathsep}{ROOT}"}
        words = [Path(python).parent / "mlserver", "start", home]
        with running(words, port, "/v2/health/ready", f"/v2/models/{model}/infer", env=environment, cwd=home) as served:
            yield served


@contextlib.contextmanager
def ctranslate2(folder, model):
    script, port = Path(__file__).with_name("server_ctranslate2.py"), free_port()
    with tempfile.TemporaryDirectory() as home:
        out = Path(home) / "model"
        subprocess.run([sys.executable, script, "write", Path(folder).resolve(), out], check=True, cwd=ROOT)
        words = [os.environ["CTRANSLATE2_PYTHON"], script, "serve", out, port]
        with running(words, port, "/v2/health/ready", f"/v2/models/{model}/infer") as served:
            yield served


PEERS = {"savedmodel": mine("savedmodel"), "plain": mine("plain"), "mlserver": mlserver, "ctranslate2": ctranslate2}


class SavedRuntime:
    """What the server needs of a `Runtime`, on TensorFlow's SavedModel."""

    options = ()

    def __init__(self, folder):
        import tensorflow as tf
        import tensorflow_text  # noqa: F401  its operations

        from serving.runtime import Runtime

        self.known, self.tf = Runtime(folder), tf
        self.kind, self.manifest = self.known.kind, self.known.manifest
        self.module = tf.saved_model.load(str(folder))
        self.function, self.signatures, self.lengths = self.module.signatures["serving_default"], {}, self.known.lengths

    def run(self, texts):
        from serving.client.work import results_of

        found = {key: value.numpy() for key, value in self.function(text=self.tf.constant(texts)).items()}
        columns = {key: [_text(row) for row in value.tolist()] for key, value in found.items()}
        kind = "generate" if self.kind == "continue" else self.kind
        return results_of(kind, texts, columns, self.manifest.get("labels", ()))


def _text(value):
    if isinstance(value, list):
        return [_text(each) for each in value]
    return value.decode() if isinstance(value, bytes) else value


def serve_saved(folder, port):
    import tensorflow as tf

    from serving.server import models, process

    tf.config.threading.set_intra_op_parallelism_threads(1)
    models.open_runtime = lambda directory, opening: SavedRuntime(directory)
    return process.run([folder], process.Settings(http_port=port, grpc_port=None))


def serve_plain(folder, port):
    import uvicorn
    from fastapi import Body, FastAPI

    from serving.runtime import Runtime

    app, runtime = FastAPI(), Runtime(folder, threads=1)
    output = {"classify": "label", "compare": "label", "tag": "tags"}.get(runtime.kind, "output_text")

    @app.get("/v2/health/ready")
    def ready():
        return {"ready": True}

    @app.post("/v2/models/{name}/infer")
    def infer(name: str, body: dict = Body()):  # noqa: B008
        answers = [result.answer for result in runtime.run(body["inputs"][0]["data"])]
        answers = answers[0] if output == "tags" else answers  # the tags of one text
        return {"id": body["id"], "outputs": [{"name": output, "data": answers}]}

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit({"savedmodel": serve_saved, "plain": serve_plain}[sys.argv[1]](sys.argv[2], int(sys.argv[3])))
