"""`seqzoo deploy`: what it writes is what each server reads, and moving a label changes nothing else."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest
import yaml
from google.protobuf import text_format

from serving.deploy import files
from serving.deploy.options import Options
from serving.deploy.prototext import prototext
from tests.house_rules import ROOT
from tests.serving.deploy import schemas
from tests.serving.deploy.made import artefacts, saved_model
from tests.shared import made_once
from tools import cli

TARGETS = ("kserve", "triton", "compose")


@pytest.fixture(scope="session")
def saved(tmp_path_factory):
    return made_once(tmp_path_factory, "deployed-saved-model", saved_model)


@pytest.fixture
def home(tmp_path, saved):
    return artefacts(tmp_path / "artefacts", saved=saved)


def content(folder):
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items()}


def deploy(*arguments):
    return cli.main(["deploy", *map(str, arguments)])


def served(out):
    """`models.config` in `out`, as TensorFlow Serving parses it: {model: its `ModelConfig`}."""
    from tensorflow_serving.config import model_server_config_pb2

    text = (out / "models.config").read_text()
    parsed = text_format.Parse(text, model_server_config_pb2.ModelServerConfig())
    return {each.name: each for each in parsed.model_config_list.config}


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


def test_a_canary_is_tried_promoted_and_taken_back(home, tmp_path, capsys):
    out, before = tmp_path / "server", sorted(path.name for path in home.iterdir())
    assert deploy(home / "1", "--target", "tf-serving", "--out", out, "--models", "/models") == 0
    walk = [
        ([home, "--canary", 2], {"stable": 1, "canary": 2}, [1, 2]),
        (["--canary", 2], {"stable": 1, "canary": 2}, [1, 2]),
        ([home], {"stable": 1, "canary": 2}, [1, 2]),
        (["--promote"], {"stable": 2, "previous": 1}, [1, 2]),
        (["--rollback"], {"stable": 1}, [1]),
        (["--canary", 2], {"stable": 1, "canary": 2}, [1, 2]),
        (["--rollback"], {"stable": 1}, [1]),
    ]
    for arguments, labels, versions in walk:
        assert deploy(*arguments, "--out", out) == 0
        model = served(out)["echo"]
        assert dict(model.version_labels) == labels and list(model.model_version_policy.specific.versions) == versions
        assert model.base_path == "/models/echo"
    assert deploy("--rollback", "--out", out) == 2
    assert "Nothing was changed" in capsys.readouterr().err
    assert sorted(path.name for path in home.iterdir()) == before
    assert (home / "2" / "assets.extra" / "tf_serving_warmup_requests").is_file()


@pytest.mark.parametrize("target", ["tf-serving", *TARGETS])
def test_repeating_a_deployment_writes_the_same_bytes(home, tmp_path, target):
    command = [home, "--target", target, "--out", tmp_path / "out"]
    assert deploy(*command) == 0
    before, stamps = content(tmp_path), {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    assert deploy(*command) == 0 and deploy("--out", tmp_path / "out", home / "2") == 0
    assert content(tmp_path) == before
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps


def test_a_second_model_comes_beside_the_first(home, tmp_path, saved, capsys):
    out, other = tmp_path / "server", artefacts(tmp_path / "artefacts", (3,), "Über 1", saved)
    assert deploy(home, "--target", "tf-serving", "--out", out) == 0
    assert deploy(other, "--out", out, "--json") == 0
    assert {name: dict(model.version_labels) for name, model in served(out).items()} == {
        "echo": {"stable": 2},
        "Über 1": {"stable": 3},
    }
    assert json.loads(capsys.readouterr().out.partition("\n")[2])["models"]["Über 1"] == {
        "home": str(other),
        "stable": 3,
    }
    assert deploy("--out", out, "--promote") == 2
    assert "changes the labels of one model: name it. Here are echo, Über 1" in capsys.readouterr().err


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
    assert container["args"][:2] == ["serve", "/mnt/models"] and "canaryTrafficPercent" not in predictor
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


def test_compose_reads_its_file(home, tmp_path, saved):
    light = artefacts(tmp_path / "artefacts", (1,), "light")
    assert deploy(home / "1", "--target", "compose", "--out", tmp_path / "both", "--canary", 2) == 0
    assert deploy(home, light, "--target", "compose", "--out", tmp_path / "text") == 0
    both, text = (yaml.safe_load((tmp_path / name / "compose.yaml").read_text()) for name in ("both", "text"))
    for each in (both, text):
        schemas.check("compose-spec", each)
    assert both["services"].keys() == {"seqzoo", "seqzoo-canary", "tensorflow-serving", "prometheus"}
    assert text["services"].keys() == {"seqzoo", "prometheus"}
    assert both["services"]["seqzoo"]["command"][:2] == ["serve", "/models/echo/1"]
    assert both["services"]["seqzoo-canary"]["command"][:2] == ["serve", "/models/echo/2"]
    assert text["services"]["seqzoo"]["command"][1:3] == ["/models/echo/2", "/models/light/1"]
    assert {each["source"] for each in text["services"]["seqzoo"]["volumes"]} == {str(home), str(light)}
    assert served(tmp_path / "both")["echo"].base_path == "/models/echo"
    scraped = yaml.safe_load((tmp_path / "both" / "prometheus.yml").read_text())["scrape_configs"]
    assert {each["job_name"]: each["metrics_path"] for each in scraped} == {
        "seqzoo": "/metrics",
        "seqzoo-canary": "/metrics",
        "tensorflow-serving": "/monitoring/prometheus/metrics",
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["{home}", "--out", "new"], "--target is needed at the first deployment"),
        (["--target", "kserve", "--out", "new"], "name an artefact"),
        (["{home}", "--target", "kserve", "--out", "new", "--canary", "9"], "has no version 9 in .*: there are 1, 2"),
        (["{home}", "--target", "kserve", "--out", "new", "--promote"], "nothing is deployed in this folder yet"),
        (["{home}", "--target", "kserve", "--out", "new", "--storage", "bucket"], "expected an address such as pvc://"),
        (
            ["{home}", "--target", "kserve", "--out", "new", "--max-batch", "9999"],
            "--max-batch: expected from 1 to 4096",
        ),
        (["{home}", "--target", "triton", "--out", "old"], "this folder has a deployment for kserve"),
        (["{home}/2", "--out", "old"], "Version 2 of echo is not deployed: stable is version 1. Try it first"),
        (["{other}", "--out", "old"], "echo is deployed from .*; received .*elsewhere"),
        (["nowhere/here", "--target", "kserve", "--out", "new"], "No artefact at nowhere/here"),
        (["{light}", "--target", "tf-serving", "--out", "new"], "it has no SavedModel. `seqzoo export"),
    ],
)
def test_wrong_use_is_told_and_writes_nothing(home, tmp_path, monkeypatch, capsys, arguments, said):
    other = artefacts(tmp_path / "elsewhere", (1,))
    light = artefacts(tmp_path / "light", (1,), "light")
    monkeypatch.chdir(tmp_path)
    assert deploy(home / "1", "--target", "kserve", "--out", "old") == 0
    before = content(tmp_path)
    assert deploy(*(each.format(home=home, other=other, light=light) for each in arguments)) == 2
    error = capsys.readouterr().err
    assert error.count("\n") <= 4 and re.search(said, error), error
    assert content(tmp_path) == before and not (tmp_path / "new").exists()


def test_a_damaged_version_or_plan_is_not_deployed(home, tmp_path, capsys):
    out = tmp_path / "out"
    (home / "2" / "model.onnx").write_bytes(b"another")
    assert deploy(home, "--target", "kserve", "--out", out) == 1
    assert "model.onnx" in capsys.readouterr().err and not out.exists()
    assert deploy(home / "1", "--target", "kserve", "--out", out) == 0
    for text in ("{", '{"format": 1}', (out / "deployment.json").read_text().replace('"stable": 1', '"stable": "1"')):
        (out / "deployment.json").write_text(text)
        assert deploy(home / "1", "--out", out) == 1
        assert "deployment.json is damaged" in capsys.readouterr().err


def test_an_artefact_whose_folder_is_no_version_is_refused(home, tmp_path, capsys):
    (home / "2").rename(home / "second")
    assert deploy(home / "second", "--target", "kserve", "--out", tmp_path / "out") == 2
    assert "so its folder must have this name" in capsys.readouterr().err


def test_what_a_killed_deployment_left_goes_with_the_next(home, tmp_path):
    out = tmp_path / "out"
    assert deploy(home, "--target", "kserve", "--out", out) == 0
    (out / ".echo.yaml.77.partial").write_text("half")
    assert deploy("--out", out, home) == 0
    assert not list(out.glob(".*.partial"))


@pytest.mark.slow
def test_fifty_kills_leave_a_whole_deployment(home, tmp_path):
    """Whenever it ends, each file is the old or the new one, and the same command brings the rest."""
    out = tmp_path / "out"
    assert deploy(home / "1", "--target", "kserve", "--out", out) == 0
    states = {}
    for change in (["--canary", "2"], ["--rollback"]):
        assert deploy(*change, "--out", out) == 0
        states[change[0]] = content(out)
    seen = {name: {state[name] for state in states.values()} for name in states["--rollback"]}
    program = "import sys; from tools.cli import main; sys.exit(main(sys.argv[1:]))"
    killed = 0
    for number in range(50):
        change = ["--rollback"] if number % 2 else ["--canary", "2"]
        command = [sys.executable, "-c", program, "deploy", *change, "--out", str(out)]
        running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            running.wait(0.15 + 0.02 * number % 0.5)
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGKILL)
            running.wait()
            killed += 1
        for name, text in content(out).items():
            assert name.startswith(".") or text in seen[name]
        done = subprocess.run(command, cwd=ROOT, capture_output=True)
        if done.returncode == 2:  # the one that was killed had come to its end
            assert b"Nothing was changed" in done.stderr
        assert content(out) == states[change[0]]
    assert killed >= 10


def test_the_text_of_a_message_keeps_every_character():
    text = 'a "quoted" \\ line\nwith ü and \x07'
    parsed = schemas.parsed("tensorflow.serving.MonitoringConfig", prototext({"prometheus_config": {"path": text}}))
    assert parsed.prometheus_config.path == text


def test_batches_are_filled_up_to_powers_of_two():
    assert Options("triton", max_batch=1).batch_sizes == [1]
    assert Options("triton", max_batch=8).batch_sizes == [1, 2, 4, 8]
    assert Options("triton", max_batch=12).batch_sizes == [1, 2, 4, 8, 12]


def test_a_file_is_replaced_as_a_whole(tmp_path, monkeypatch):
    files.write(tmp_path / "a", "old")
    monkeypatch.setattr(os, "replace", lambda *names: (_ for _ in ()).throw(OSError("killed")))
    with pytest.raises(OSError, match="killed"):
        files.write(tmp_path / "a", "new")
    assert content(tmp_path) == {"a": b"old"}
