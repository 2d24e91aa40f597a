"""An InferenceService of KServe for each model: `seqzoo serve` as its custom predictor, so that it answers texts.

It runs in KServe's Knative mode, the only one in which `canaryTrafficPercent` divides the requests. A custom predictor
states its protocol and its storage in the environment variables PROTOCOL and STORAGE_URI, which KServe reads.
"""

import re

import yaml

from serving.deploy import container
from serving.deploy.files import heading

PLACE = "/mnt/models"  # where KServe puts what STORAGE_URI names
SHARE = 0.25  # of the cores that a container may use, those that it asks for


def render(plan):
    """`{file: text}` of a `Plan`.

    Raises:
        ValueError: two models have the same name in a cluster, or a name has no letter that a cluster allows.
    """
    files = container.image()
    manifests = {(model.name, version): manifest for model, version, manifest in plan.loaded()}
    for name, (_, labels) in plan.models.items():
        file = f"{cluster_name(name)}.yaml"
        if file in files:
            raise ValueError(f"{name}: another model is called {cluster_name(name)!r} in a cluster, too. Rename one.")
        asked = labels.canary or labels.stable
        service = inference_service(name, labels, manifests[name, asked], plan.options)
        files[file] = heading("#", f" {labels}.") + yaml.safe_dump(service, sort_keys=False, width=120)
    return files


def cluster_name(name):
    """A name that Kubernetes allows: small letters, digits and hyphens, at most 40 of them.

    Raises:
        ValueError: nothing is left of it.
    """
    made = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-")
    if not made or not made[0].isalpha():
        raise ValueError(
            f"{name!r} cannot be the name of a service: expected it to begin with a letter from a to z. Export the "
            "artefact under another --name."
        )
    return made


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
    memory = container.megabytes([manifest])
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
        return {"httpGet": {"path": path, "port": container.HTTP}, "timeoutSeconds": 5, **more}

    return {
        "name": "kserve-container",
        "image": options.image,
        "args": container.command([PLACE], options),
        "env": [{"name": "PROTOCOL", "value": "v2"}, {"name": "STORAGE_URI", "value": place}],
        "ports": [{"containerPort": container.HTTP, "protocol": "TCP"}],
        "resources": {
            "requests": {"cpu": f"{round(1000 * SHARE * options.threads)}m", "memory": f"{memory}Mi"},
            "limits": {"cpu": str(options.threads), "memory": f"{memory}Mi"},
        },
        "readinessProbe": probe(container.READY, periodSeconds=5, failureThreshold=3),
        "livenessProbe": probe(container.LIVE, periodSeconds=10, failureThreshold=6, initialDelaySeconds=30),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
