"""What every container of the text server has: its image, its command, its ports and its needs."""

import math

from serving.deploy.files import heading
from serving.deploy.own_wheel import own_wheel

HTTP, GRPC = 8080, 8081
READY, LIVE = "/v2/health/ready", "/v2/health/live"
MEGA = 2**20
PER_BYTE = 4  # of a graph: its weights, packed forms of them, and what a run of a batch holds
BASE = 512 * MEGA  # Python, ONNX Runtime and the server


def command(places, options):
    """The arguments of `seqzoo` in the container that serves these folders."""
    ports = ["--host", "0.0.0.0", "--http-port", str(HTTP), "--grpc-port", str(GRPC)]
    batches = ["--max-batch-texts", str(options.max_batch), "--max-delay", f"{options.batch_delay_ms:g}"]
    return ["serve", *places, *ports, *batches]


def megabytes(manifests):
    """A bound on memory to start with, in MiB, a multiple of 256; measure your own traffic and correct it."""
    sizes = [each for manifest in manifests for each in manifest["sizes"].items()]
    graphs = sum(size for name, size in sizes if name.endswith((".onnx", ".onnx_data")))
    return 256 * math.ceil((BASE + PER_BYTE * graphs) / MEGA / 256)


def image():
    """`{file: content}` of what an image is built from: its recipe, and the wheel of this seqzoo beside it."""
    name, content = own_wheel()
    return {"Dockerfile": heading("#") + dockerfile(name), name: content}


def dockerfile(wheel):
    """A recipe of the image; a build argument chooses another seqzoo, such as one of an index of packages."""
    return f"""FROM python:3.11-slim
COPY {wheel} /wheels/
ARG SEQZOO="seqzoo[serve] @ file:///wheels/{wheel}"
RUN pip install --no-cache-dir "$SEQZOO"
ENV PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
EXPOSE {HTTP} {GRPC}
ENTRYPOINT ["seqzoo"]
"""
