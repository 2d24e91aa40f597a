"""An InferenceService of KServe for each model: `seqzoo serve` as its custom predictor, so that it answers texts.

It runs in KServe's Knative mode, the only one in which `canaryTrafficPercent` divides the requests. A custom predictor
states its protocol and its storage in the environment variables PROTOCOL and STORAGE_URI, which KServe reads.
"""

import math
import re
from importlib import metadata
from pathlib import Path

import yaml

from serving.deploy.files import heading
from serving.export.wheel_file import pack
from serving.runtime.errors import UnsupportedError

ROOT = Path(__file__).parents[2]
PACKAGES = ("seqzoo", "serving", "zoo")
HTTP, GRPC = 8080, 8081
READY, LIVE = "/v2/health/ready", "/v2/health/live"
MEGA = 2**20
PER_BYTE = 4  # of a graph: its weights, packed forms of them, and what a run of a batch holds
BASE = 512 * MEGA  # Python, ONNX Runtime and the server
PLACE = "/mnt/models"  # where KServe puts what STORAGE_URI names
SHARE = 0.25  # of the cores that a container may use, those that it asks for


def render(plan):
    """`{file: text}` of a `Plan`.

    Raises:
        ValueError: two models have the same name in a cluster, or a name has no letter that a cluster allows.
    """
    wheel, content = build_wheel()  # beside the recipe of the image, which is built from it
    files = {"Dockerfile": heading() + dockerfile(wheel), wheel: content}
    manifests = {(model.name, version): manifest for model, version, manifest in plan.check_versions()}
    for name, (_, labels) in plan.models.items():
        file = f"{cluster_name(name)}.yaml"
        if file in files:
            raise ValueError(f"{name}: another model is called {cluster_name(name)!r} in a cluster, too. Rename one.")
        version = labels.canary or labels.stable
        service = inference_service(name, labels, manifests[name, version], plan.options)
        files[file] = heading(f" {labels}.") + yaml.safe_dump(service, sort_keys=False, width=120)
    return files


def cluster_name(name):
    """A name that Kubernetes allows: small letters, digits and hyphens, at most 40 of them.

    Raises:
        ValueError: it does not begin with a letter then.
    """
    cleaned = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-")
    if not cleaned or not cleaned[0].isalpha():
        raise ValueError(
            f"{name!r} cannot be the name of a service: expected it to begin with a letter from a to z. Export the "
            "artefact under another --name."
        )
    return cleaned


def storage(options, name, version):
    """The address of a version.

    Raises:
        ValueError: Kubernetes would replace a part of it.
    """
    place = options.storage.rstrip("/")
    uri = f"{place}/{cluster_name(name)}:{version}" if place.startswith("oci://") else f"{place}/{name}/{version}"
    if "$(" in uri:
        raise ValueError(f"{uri} cannot be an address in a cluster, which replaces $(NAME) by a variable. Rename it.")
    return uri


def inference_service(name, labels, manifest, options):
    """The resource, a dict. The newest of the versions that are asked is that of the spec; KServe keeps the other."""
    version = labels.canary or labels.stable
    share = {"canaryTrafficPercent": options.canary_percent} if labels.canary else {}
    memory = megabytes(manifest)
    return {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {
            "name": cluster_name(name),
            "labels": {"app.kubernetes.io/name": cluster_name(name), "app.kubernetes.io/managed-by": "seqzoo"},
            "annotations": {
                "serving.kserve.io/deploymentMode": "Knative",
                "serving.kserve.io/enable-prometheus-scraping": "true",
            },
        },
        "spec": {
            "predictor": {
                **share,
                "minReplicas": 1,
                "maxReplicas": 4,
                "scaleMetric": "concurrency",
                "scaleTarget": options.max_batch,
                "timeout": 60,
                "containers": [_container(storage(options, name, version), memory, options)],
            }
        },
    }


def _container(place, memory, options):
    def probe(path, **more):
        return {"httpGet": {"path": path, "port": HTTP}, "timeoutSeconds": 5, **more}

    return {
        "name": "kserve-container",
        "image": options.image,
        "args": command([PLACE], options),
        "env": [{"name": "PROTOCOL", "value": "v2"}, {"name": "STORAGE_URI", "value": place}],
        "ports": [{"containerPort": HTTP, "protocol": "TCP"}],
        "resources": {
            "requests": {"cpu": f"{round(1000 * SHARE * options.threads)}m", "memory": f"{memory}Mi"},
            "limits": {"cpu": str(options.threads), "memory": f"{memory}Mi"},
        },
        "readinessProbe": probe(READY, periodSeconds=5, failureThreshold=3),
        "livenessProbe": probe(LIVE, periodSeconds=10, failureThreshold=6, initialDelaySeconds=30),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


def command(places, options):
    """The arguments of `seqzoo` in the container that serves these folders."""
    ports = ["--host", "0.0.0.0", "--http-port", str(HTTP), "--grpc-port", str(GRPC)]
    batches = ["--max-batch-texts", str(options.max_batch), "--max-delay", f"{options.batch_delay_ms:g}"]
    return ["serve", *places, *ports, *batches]


def megabytes(manifest):
    """A bound on memory to start with, in MiB, a multiple of 256; measure your own traffic and correct it."""
    graphs = sum(size for name, size in manifest["sizes"].items() if name.endswith((".onnx", ".onnx_data")))
    return 256 * math.ceil((BASE + PER_BYTE * graphs) / MEGA / 256)


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


def build_wheel():
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
    return f"seqzoo-{own.version}-py3-none-any.whl", pack(info, members)
