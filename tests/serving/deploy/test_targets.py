"""What `seqzoo deploy` writes is what each server reads: checked against the schemas of the servers."""

import os
import re
import subprocess

import pytest
import yaml

from serving.deploy import container, files
from serving.deploy.options import Options
from serving.deploy.prototext import prototext
from serving.server.limits import Batching
from tests.serving.deploy import schemas
from tests.serving.deploy.commands import deploy, served
from tests.serving.deploy.made import artefacts
from tools import cli


def test_tensorflow_serving_reads_its_configuration(home, tmp_path):
    out = tmp_path / "server"
    assert deploy(home, "--target", "tf-serving", "--out", out, "--max-batch", 6, "--threads", 2) == 0
    model = served(out)["echo"]
    assert model.base_path == str(home) and model.model_platform == "tensorflow"
    assert list(model.model_version_policy.specific.versions) == [2] and dict(model.version_labels) == {"stable": 2}
    batching = schemas.parsed("tensorflow.serving.BatchingParameters", (out / "batching.config").read_text())
    assert list(batching.allowed_batch_sizes) == [1, 2, 4, 6] and batching.max_batch_size.value == 6
    assert batching.num_batch_threads.value == 2 and batching.pad_variable_length_inputs
    assert batching.batch_timeout_micros.value == 2000
    own = schemas.parsed("tensorflow.serving.BatchingParameters", (home / "2" / "batching_params.pbtxt").read_text())
    assert own.allowed_batch_sizes == batching.allowed_batch_sizes and not own.HasField("num_batch_threads")
    monitoring = schemas.parsed("tensorflow.serving.MonitoringConfig", (out / "monitoring.config").read_text())
    assert monitoring.prometheus_config.enable and monitoring.prometheus_config.path.startswith("/monitoring/")
    assert not (home / "1" / "assets.extra").exists()  # it is not served


def test_the_script_starts_the_server_with_these_files(home, tmp_path):
    out = tmp_path / "a server"
    assert deploy(home, "--target", "tf-serving", "--out", out) == 0
    stand_in = tmp_path / "tensorflow_model_server"
    stand_in.write_text('#!/bin/sh\nfor each; do echo "$each"; done\n')
    stand_in.chmod(0o755)
    environment = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run([out / "start.sh", "--more"], env=environment, capture_output=True, text=True, check=True)
    told = dict(line.partition("=")[::2] for line in done.stdout.splitlines())
    for name in ("model_config_file", "batching_parameters_file", "monitoring_config_file"):
        assert os.path.dirname(told[f"--{name}"]) == str(out) and os.path.isfile(told[f"--{name}"])
    assert "--more" in told and told["--enable_batching"] == "true"


def test_kserve_gets_a_service_that_fits_its_schema(home, tmp_path):
    out = tmp_path / "cluster"
    assert deploy(home / "1", "--target", "kserve", "--out", out, "--storage", "s3://bucket/zoo/") == 0
    stable = yaml.safe_load((out / "echo.yaml").read_text())
    schemas.check("inferenceservice", stable)
    predictor = stable["spec"]["predictor"]
    (container,) = predictor["containers"]
    assert {each["name"]: each["value"] for each in container["env"]} == {
        "PROTOCOL": "v2",
        "STORAGE_URI": "s3://bucket/zoo/echo/1",
    }
    assert cli.parse(container["args"]).models == ["/mnt/models"] and cli.parse(container["args"]).host == "0.0.0.0"
    assert "canaryTrafficPercent" not in predictor
    assert deploy("--canary", 2, "--canary-percent", 5, "--out", out) == 0
    trial = yaml.safe_load((out / "echo.yaml").read_text())
    schemas.check("inferenceservice", trial)
    assert trial["spec"]["predictor"].pop("canaryTrafficPercent") == 5
    assert trial["spec"]["predictor"]["containers"][0]["env"][1]["value"] == "s3://bucket/zoo/echo/2"
    assert deploy("--rollback", "--out", out) == 0
    assert yaml.safe_load((out / "echo.yaml").read_text()) == stable
    trial["spec"]["predictor"]["replicas"] = 1  # the schema tells what does not exist
    with pytest.raises(Exception, match="replicas"):
        schemas.check("inferenceservice", trial)


def test_a_cluster_replaces_no_variable(tmp_path, capsys):
    home = artefacts(tmp_path, (1,), "echo$(TOKEN)")
    assert deploy(home, "--target", "kserve", "--out", tmp_path / "out") == 2
    assert "pvc://models/echo$(TOKEN)/1 cannot be an address in a cluster" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_image_registry_may_hold_the_models(home, tmp_path):
    assert deploy(home, "--target", "kserve", "--out", tmp_path, "--storage", "oci://registry.example/zoo") == 0
    assert "value: oci://registry.example/zoo/echo:2\n" in (tmp_path / "echo.yaml").read_text()


def test_triton_reads_its_repository(home, tmp_path):
    out = tmp_path / "triton"
    assert deploy(home / "1", "--target", "triton", "--out", out) == 0
    assert sorted(path.name for path in (out / "repository").iterdir()) == ["echo-step", "echo-tokens"]
    tokens, step = (
        schemas.parsed("inference.ModelConfig", (out / "repository" / name / "config.pbtxt").read_text())
        for name in ("echo-tokens", "echo-step")
    )
    assert tokens.backend == "onnxruntime" and list(tokens.version_policy.specific.versions) == [1]
    ids, lengths = tokens.input
    assert (tokens.max_batch_size, list(ids.dims)) == (32, [-1])
    assert list(lengths.dims) == [1] and lengths.HasField("reshape") and not lengths.reshape.shape
    assert [list(each.dims) for each in tokens.output[:1]] == [[4, -1]]
    assert step.max_batch_size == 0 and list(step.input[0].dims) == [-1, 1] and not step.HasField("dynamic_batching")
    graph = out / "repository" / "echo-tokens" / "1" / "model.onnx"
    assert graph.read_bytes() == (home / "1" / "model.onnx").read_bytes()
    assert deploy("--canary", 2, "--out", out) == 0
    trial = out / "repository" / "echo-tokens-canary"
    assert (trial / "2" / "model.onnx").is_file()
    assert deploy("--promote", "--out", out) == 0 and not trial.exists()
    parsed = schemas.parsed("inference.ModelConfig", (graph.parents[1] / "config.pbtxt").read_text())
    assert list(parsed.version_policy.specific.versions) == [2]
    assert (graph.parents[1] / "2" / "model.onnx").is_file() and graph.is_file()


def test_triton_never_reads_of_a_graph_that_is_not_there(home, tmp_path, monkeypatch):
    out, write, seen = tmp_path / "triton", files.write, []

    def looked_at(path, content):
        write(path, content)
        if path.name == "config.pbtxt":
            (version,) = schemas.parsed("inference.ModelConfig", path.read_text()).version_policy.specific.versions
            seen.append((path.parent / str(version) / "model.onnx").is_file())

    monkeypatch.setattr(files, "write", looked_at)
    for arguments in ([home / "1", "--target", "triton"], ["--canary", 2], ["--promote"]):
        assert deploy(*arguments, "--out", out) == 0
    assert seen == [True] * 8


def served_by(service):
    """The models of a service, as `seqzoo serve` reads its command."""
    return cli.parse(service["command"]).models


def test_compose_reads_its_file(home, tmp_path, saved):
    light = artefacts(tmp_path / "artefacts", (1,), "light")
    assert deploy(home / "1", "--target", "compose", "--out", tmp_path / "both", "--canary", 2) == 0
    assert deploy(home, light, "--target", "compose", "--out", tmp_path / "text") == 0
    both, text = (yaml.safe_load((tmp_path / name / "compose.yaml").read_text()) for name in ("both", "text"))
    for each in (both, text):
        schemas.check("compose-spec", each)
    assert both["services"].keys() == {"seqzoo", "seqzoo-canary", "proxy", "tensorflow-serving", "prometheus"}
    assert text["services"].keys() == {"seqzoo", "proxy", "prometheus"}
    assert served_by(both["services"]["seqzoo"]) == ["/models/echo/1"]
    assert served_by(both["services"]["seqzoo-canary"]) == ["/models/echo/2"]
    assert served_by(text["services"]["seqzoo"]) == ["/models/echo/2", "/models/light/1"]
    assert {each["source"] for each in text["services"]["seqzoo"]["volumes"]} == {str(home), str(light)}
    assert served(tmp_path / "both")["echo"].base_path == "/models/echo"
    scraped = yaml.safe_load((tmp_path / "both" / "prometheus.yml").read_text())["scrape_configs"]
    assert {each["job_name"]: each["metrics_path"] for each in scraped} == {
        "seqzoo": "/metrics",
        "seqzoo-canary": "/metrics",
        "tensorflow-serving": "/monitoring/prometheus/metrics",
    }


def test_compose_publishes_on_this_machine_alone_unless_told(home, tmp_path, capsys):
    """A server without a password is not for the network because somebody tried it."""
    out = tmp_path / "out"

    def addresses():
        services = yaml.safe_load((out / "compose.yaml").read_text())
        schemas.check("compose-spec", services)
        ports = [port for service in services["services"].values() for port in service.get("ports", [])]
        assert len(ports) == 8
        return {port.rsplit(":", 2)[0] for port in ports}

    assert deploy(home / "1", "--target", "compose", "--out", out, "--canary", 2) == 0
    assert addresses() == {"127.0.0.1"}
    for given, written in (("0.0.0.0", "0.0.0.0"), ("::1", "[::1]")):
        assert deploy("--out", out, "--address", given) == 0
        assert addresses() == {written}
    assert deploy("--out", out, "--threads", 2) == 0 and addresses() == {"[::1]"}  # it is remembered
    capsys.readouterr()
    assert deploy("--out", out, "--address", "everywhere") == 2
    assert "--address: expected an address such as 127.0.0.1 or ::1, received 'everywhere'" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["compose", "kserve"])
def test_the_text_server_starts_with_every_choice(target):
    for delay, batch in ((0, 1), (1000, 4096)):
        args = cli.parse(container.command(["a"], Options(target, batch_delay_ms=delay, max_batch=batch)))
        Batching(args.max_delay / 1e3, args.max_batch_tokens, args.max_batch_texts)
    with pytest.raises(ValueError, match="--batch-delay-ms: expected from 0 to 1,000, received 1001"):
        Options(target, batch_delay_ms=1001)


def test_other_servers_may_wait_longer():
    assert Options("tf-serving", batch_delay_ms=10_000).batch_delay_ms == 10_000
    with pytest.raises(ValueError, match="from 0 to 10,000, received 10001"):
        Options("triton", batch_delay_ms=10_001)


STRANGE = "a$b ${HOME}"


def replaced(value):
    """A value of a Compose file with its variables replaced, as Compose does; all of them are set to "LEAK"."""
    if isinstance(value, dict):
        return {key: replaced(each) for key, each in value.items()}
    if isinstance(value, list):
        return [replaced(each) for each in value]
    if isinstance(value, str):
        return re.sub(r"\$(\$|\w+|\{\w+\})", lambda found: "$" if found[1] == "$" else "LEAK", value)
    return value


def test_compose_replaces_no_variable(tmp_path, saved):
    home = artefacts(tmp_path / "$artefacts", (1,), STRANGE, saved)
    assert deploy(home, "--target", "compose", "--out", tmp_path / "out", "--image", "own/${IMAGE}:1") == 0
    read = replaced(yaml.safe_load((tmp_path / "out" / "compose.yaml").read_text()))
    schemas.check("compose-spec", read)
    service = read["services"]["seqzoo"]
    assert served_by(service) == [f"/models/{STRANGE}/1"] and service["image"] == "own/${IMAGE}:1"
    (mount,) = service["volumes"]
    assert (mount["source"], mount["target"]) == (str(home), f"/models/{STRANGE}")
    assert "LEAK" not in str(read)
    assert f'"/models/{STRANGE}"' in (tmp_path / "out" / "models.config").read_text()  # which Compose does not read


def test_the_text_of_a_message_keeps_every_character():
    text = 'a "quoted" \\ line\nwith ü and \x07'
    parsed = schemas.parsed("tensorflow.serving.MonitoringConfig", prototext({"prometheus_config": {"path": text}}))
    assert parsed.prometheus_config.path == text


def test_batches_are_filled_up_to_powers_of_two():
    assert Options("triton", max_batch=1).batch_sizes == [1]
    assert Options("triton", max_batch=8).batch_sizes == [1, 2, 4, 8]
    assert Options("triton", max_batch=12).batch_sizes == [1, 2, 4, 8, 12]
