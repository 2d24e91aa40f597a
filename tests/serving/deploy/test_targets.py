"""What `seqzoo deploy` writes, and what examples/deploy has, is what each server reads: checked by their schemas."""

import os
import subprocess

import pytest
import yaml

from serving.deploy import kserve, tf_serving
from serving.deploy.options import Options
from serving.deploy.tf_serving import prototext
from serving.server.limits import Batching
from tests.house_rules import ROOT
from tests.serving.deploy import schemas
from tests.serving.deploy.commands import deploy, served
from tests.serving.deploy.made import artefacts
from tools import cli

FOLDER = ROOT / "examples" / "deploy"


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


def test_the_text_server_starts_with_every_choice():
    for delay, batch in ((0, 1), (1000, 4096)):
        args = cli.parse(kserve.command(["a"], Options("kserve", batch_delay_ms=delay, max_batch=batch)))
        Batching(args.max_delay / 1e3, args.max_batch_tokens, args.max_batch_texts)
    with pytest.raises(ValueError, match="--batch-delay-ms: expected from 0 to 1,000, received 1001"):
        Options("kserve", batch_delay_ms=1001)


def test_other_servers_may_wait_longer():
    assert Options("tf-serving", batch_delay_ms=10_000).batch_delay_ms == 10_000
    with pytest.raises(ValueError, match="from 0 to 10,000, received 10001"):
        Options("tf-serving", batch_delay_ms=10_001)


def test_the_text_of_a_message_keeps_every_character():
    text = 'a "quoted" \\ line\nwith ü and \x07'
    parsed = schemas.parsed("tensorflow.serving.MonitoringConfig", prototext({"prometheus_config": {"path": text}}))
    assert parsed.prometheus_config.path == text


def test_batches_are_filled_up_to_powers_of_two():
    assert Options("tf-serving", max_batch=1).batch_sizes == [1]
    assert Options("tf-serving", max_batch=8).batch_sizes == [1, 2, 4, 8]
    assert Options("tf-serving", max_batch=12).batch_sizes == [1, 2, 4, 8, 12]


def test_compose_reads_its_template():
    found = yaml.safe_load((FOLDER / "compose.yaml").read_text(encoding="utf-8"))
    schemas.check("compose-spec", found)
    services = found["services"]
    args = cli.parse(services["seqzoo"]["command"])
    assert args.models == ["/models/dates/1"] and (args.http_port, args.grpc_port) == (8080, 8081)
    assert services["tensorflow-serving"]["command"] == tf_serving.flags("/deployment")
    ports = [port for service in services.values() for port in service.get("ports", [])]
    assert len(ports) == 6 and all(port.startswith("127.0.0.1:") for port in ports)  # nobody has a password
    scraped = yaml.safe_load((FOLDER / "prometheus.yml").read_text(encoding="utf-8"))["scrape_configs"]
    assert {each["job_name"] for each in scraped} <= services.keys()
    assert scraped[1]["metrics_path"] == tf_serving.METRICS


def test_triton_reads_its_template():
    found = schemas.parsed("inference.ModelConfig", (FOLDER / "triton.pbtxt").read_text(encoding="utf-8"))
    assert found.backend == "onnxruntime" and list(found.version_policy.specific.versions) == [1]
    ids, lengths = found.input
    assert list(ids.dims) == [-1] and lengths.HasField("reshape") and not lengths.reshape.shape
    assert found.parameters["intra_op_thread_count"].string_value == "1"
