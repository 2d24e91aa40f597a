"""A Compose file: the text server, a proxy with TLS, TensorFlow Serving where the models have a SavedModel, Prometheus.

The folder of the deployment is mounted, and not its files one by one: a file that is mounted alone is the old one for
ever, because a new one is written beside it and renamed.
"""

import yaml

from serving.deploy import container, proxy, tf_serving
from serving.deploy.files import heading
from serving.runtime.artefact import has_saved_model

PLACE, CONFIG = "/models", "/deployment"
SERVING = "tensorflow/serving:2.20.0"
PROMETHEUS = "prom/prometheus:v3.5.0"


def render(plan):
    """`{file: text}` of a `Plan`."""
    manifests = {(model.name, version): manifest for model, version, manifest in plan.loaded()}
    services = {"seqzoo": _text_server(plan, manifests, "stable", container.HTTP, container.GRPC)}
    if any(labels.canary for _, labels in plan.models.values()):
        services["seqzoo-canary"] = _text_server(plan, manifests, "canary", container.HTTP + 10, container.GRPC + 10)
    found = container.image()
    scraped = {name: f"{name}:{container.HTTP}" for name in services}
    if all(has_saved_model(manifest) for manifest in manifests.values()):
        services["tensorflow-serving"] = _tensorflow_serving(plan)
        found[tf_serving.MODELS] = heading("#") + tf_serving.models_config(plan, PLACE)
        rendered = tf_serving.render(plan)
        found |= {name: rendered[name] for name in (tf_serving.BATCHING, tf_serving.MONITORING)}
        scraped["tensorflow-serving"] = "tensorflow-serving:8501"
    services["seqzoo"]["command"] += ["--proxy", "127.0.0.1"]
    services["seqzoo"]["ports"] += _ports(plan, {proxy.PORT: proxy.PORT})
    services["proxy"] = proxy.service(CONFIG, "tls")
    found[proxy.FILE] = heading("#") + proxy.nginx()
    services["prometheus"] = _prometheus(plan)
    found["prometheus.yml"] = heading("#") + _yaml(_scrapes(scraped))
    found["compose.yaml"] = heading("#") + _yaml({"name": "seqzoo", "services": _literal(services)})
    return found


def _yaml(value):
    return yaml.safe_dump(value, sort_keys=False, width=120)


def _literal(value):
    """A value in which Compose replaces no variable: a name or a path may have "${HOME}" in it."""
    if isinstance(value, dict):
        return {key: _literal(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_literal(each) for each in value]
    return value.replace("$", "$$") if isinstance(value, str) else value


def _mounts(plan):
    return [
        {"type": "bind", "source": str(model.home), "target": f"{PLACE}/{name}", "read_only": True}
        for name, (model, _) in plan.models.items()
    ]


def _ports(plan, ports):
    """`{port of the machine: port of the container}`, published on the chosen address alone."""
    address = plan.options.address
    address = f"[{address}]" if ":" in address else address
    return [f"{address}:{outside}:{inside}" for outside, inside in ports.items()]


def _text_server(plan, manifests, label, http, grpc):
    """The service that answers texts with the versions of a label; a model without it has its stable version there."""
    chosen = {name: labels.named.get(label, labels.stable) for name, (_, labels) in plan.models.items()}
    ready = f"http://127.0.0.1:{container.HTTP}{container.READY}"
    return {
        "image": plan.options.image,
        "build": {"context": "."},
        "command": container.command([f"{PLACE}/{name}/{version}" for name, version in chosen.items()], plan.options),
        "ports": _ports(plan, {http: container.HTTP, grpc: container.GRPC}),
        "volumes": _mounts(plan),
        "healthcheck": {
            "test": ["CMD", "python", "-c", f"import urllib.request as r; r.urlopen('{ready}', timeout=3)"],
            "interval": "10s",
            "timeout": "5s",
            "retries": 3,
            "start_period": "60s",
        },
        "restart": "unless-stopped",
        "stop_grace_period": "30s",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "deploy": _limits(plan.options.threads, container.megabytes(manifests[each] for each in chosen.items())),
    }


def _limits(threads, megabytes):
    return {"resources": {"limits": {"cpus": str(threads), "memory": f"{megabytes}M"}}}


def _tensorflow_serving(plan):
    return {
        "image": SERVING,
        "profiles": ["tf-serving"],
        "entrypoint": ["tensorflow_model_server"],
        "command": tf_serving.flags(CONFIG),
        "ports": _ports(plan, {8500: 8500, 8501: 8501}),
        "volumes": [*_mounts(plan), {"type": "bind", "source": ".", "target": CONFIG, "read_only": True}],
        "restart": "unless-stopped",
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges:true"],
        "deploy": {"resources": {"limits": {"cpus": str(plan.options.threads)}}},
    }


def _prometheus(plan):
    return {
        "image": PROMETHEUS,
        "profiles": ["monitoring"],
        "command": [f"--config.file={CONFIG}/prometheus.yml"],
        "ports": _ports(plan, {9090: 9090}),
        "volumes": [{"type": "bind", "source": ".", "target": CONFIG, "read_only": True}],
        "restart": "unless-stopped",
    }


def _scrapes(targets):
    paths = {"tensorflow-serving": tf_serving.METRICS}
    jobs = [
        {
            "job_name": name,
            "metrics_path": paths.get(name, container.METRICS),
            "static_configs": [{"targets": [target]}],
        }
        for name, target in targets.items()
    ]
    return {"global": {"scrape_interval": "15s"}, "scrape_configs": jobs}
