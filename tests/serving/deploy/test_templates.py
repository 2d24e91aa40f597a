"""The templates of examples/deploy are what each server reads: checked against the schemas of the servers."""

import yaml

from serving.deploy import tf_serving
from tests.house_rules import ROOT
from tests.serving.deploy import schemas
from tools import cli

FOLDER = ROOT / "examples" / "deploy"


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
