"""What every container of the text server has: its image, its command, its ports and its needs."""

import math
from importlib import metadata
from pathlib import Path

from serving.deploy.files import heading
from serving.export.wheel_file import packed
from serving.runtime.errors import UnsupportedError

ROOT = Path(__file__).parents[2]
PACKAGES = ("seqzoo", "serving", "zoo")
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


def own_wheel():
    """(name, bytes) of this seqzoo as a wheel, so that an image has the version that wrote it.

    The packages are taken from where they lie: no tool that builds is needed, and no index of packages.

    Raises:
        UnsupportedError: this seqzoo runs from a folder and is not installed, so nothing says what it needs.
    """
    try:
        own = metadata.distribution("seqzoo")
    except metadata.PackageNotFoundError as error:
        raise UnsupportedError(
            "An image is made of the installed seqzoo, and this one runs from a folder: pip install -e . in it first."
        ) from error
    info = f"seqzoo-{own.version}.dist-info"
    members = {}
    for package in PACKAGES:
        folder = ROOT / package
        folder = folder if folder.is_dir() else ROOT / "tools"  # as which a checkout has the package seqzoo
        for path in sorted(folder.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and not path.name.startswith("."):
                members[f"{package}/{path.relative_to(folder).as_posix()}"] = path.read_bytes()
    members[f"{info}/METADATA"] = (own.read_text("METADATA") or own.read_text("PKG-INFO")).encode()
    members[f"{info}/entry_points.txt"] = own.read_text("entry_points.txt").encode()
    return f"seqzoo-{own.version}-py3-none-any.whl", packed(info, members)
