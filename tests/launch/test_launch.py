"""The launchers of examples/launch give each process its number and run the same command; manifests fit their schemas.

A cluster is stood for by programs of the same names: `srun` and `ssh` start their command here.
"""

import gzip
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from tests.core.test_devices import RECIPE, assert_near, trained
from tests.house_rules import ROOT
from tests.serving.deploy.schemas import closed

LAUNCH = ROOT / "examples" / "launch"
PROGRAMS = {
    "scontrol": '[ "$1 $2 $3" = "show hostnames node[1-4]" ] && printf "127.0.0.1\\nnode2\\n"',
    "srun": 'shift; for ((i = 0; i < SLURM_NTASKS; i++)); do SLURM_PROCID=$i "$@" & all+=($!); done\n'
    'for each in "${all[@]}"; do wait "$each" || failed=1; done; exit "${failed:-0}"',
    "ssh": 'shift; cd / && exec bash -c "$*"',
}
TOLD = "KERAS_BACKEND KERAS_DISTRIBUTION_JOB_ADDRESSES KERAS_DISTRIBUTION_NUM_PROCESSES KERAS_DISTRIBUTION_PROCESS_ID"
SHOW = 'printf "%s\\n" "$@" > {to}; for each in {names}; do echo "$each=${{!each}}"; done >> {to}'


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


@pytest.fixture
def cluster(tmp_path):
    """The environment of a shell that has the programs of a cluster, and a `seqzoo` that tells how it was called."""
    programs = PROGRAMS | {"seqzoo": SHOW.format(names=TOLD, to='"$SHOWN/$KERAS_DISTRIBUTION_PROCESS_ID"')}
    (tmp_path / "bin").mkdir()
    (tmp_path / "shown").mkdir()
    for name, text in programs.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KERAS", "SLURM", "JAX_"))}
    return kept | {"PATH": path, "SHOWN": str(tmp_path / "shown"), "SEQZOO_PORT": free_port()}


def launch(name, count, environment, *arguments, cwd):
    """Run a launcher on a cluster of so many hosts."""
    hosts = {"SLURM_JOB_NODELIST": "node[1-4]", "SLURM_NTASKS": str(count)}
    hosts = hosts if name == "slurm.sh" else {"HOSTS": " ".join(["127.0.0.1"] * count)}
    command = ["bash", str(LAUNCH / name), *map(str, arguments)]
    return subprocess.run(command, env=environment | hosts, cwd=cwd, capture_output=True, text=True, timeout=900)


@pytest.mark.parametrize("count", [2, 4])
@pytest.mark.parametrize("name", ["slurm.sh", "ssh.sh"])
def test_every_process_is_told_its_number(cluster, tmp_path, name, count):
    done = launch(name, count, cluster, "my recipe.toml", "--set", "a.b='$x \"y\"'", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    address = f"127.0.0.1:{cluster['SEQZOO_PORT']}"
    for number in range(count):
        shown = (tmp_path / "shown" / str(number)).read_text().splitlines()
        assert shown[:-4] == "train|my recipe.toml|--set|a.b='$x \"y\"'|--devices|all|--resume".split("|")
        told = dict(line.split("=", 1) for line in shown[-4:])
        assert list(told.values()) == ["jax", address, str(count), str(number)] and " ".join(told) == TOLD
    assert len(list((tmp_path / "shown").iterdir())) == count


@pytest.mark.parametrize("name", ["slurm.sh", "ssh.sh"])
def test_a_launcher_ends_with_the_error_of_a_process(cluster, tmp_path, name):
    (tmp_path / "bin" / "seqzoo").write_text('#!/bin/bash\nexit "$KERAS_DISTRIBUTION_PROCESS_ID"\n')
    assert launch(name, 2, cluster, "recipe", cwd=tmp_path).returncode == 1


@pytest.mark.parametrize("name", ["slurm.sh", "ssh.sh"])
def test_wrong_use_is_told(cluster, tmp_path, name):
    none = launch(name, 2, cluster, cwd=tmp_path)
    bare = subprocess.run(["bash", str(LAUNCH / name), "x"], env=cluster, capture_output=True, text=True)
    for done in (none, bare):
        assert done.returncode == 2 and done.stderr.startswith("usage: ") and not done.stdout


def manifest(name):
    return yaml.safe_load((LAUNCH / f"{name}.yaml").read_text())


@pytest.mark.parametrize("name", ["jobset", "trainjob"])
def test_a_manifest_fits_its_schema(name):
    schema = closed(json.loads(gzip.decompress((Path(__file__).parent / "schemas" / f"{name}.json.gz").read_bytes())))
    value = manifest(name)
    jsonschema.validate(value, schema, cls=jsonschema.Draft7Validator)
    value["spec"]["unknown"] = 1
    with pytest.raises(jsonschema.ValidationError, match="unknown"):
        jsonschema.validate(value, schema, cls=jsonschema.Draft7Validator)


def container(name):
    """(command line, environment, number of processes) of a manifest's container."""
    spec = manifest(name)["spec"]
    if name == "trainjob":  # its runtime sets the rest
        count = spec["trainer"]["numNodes"]
        given = {"JAX_COORDINATOR_ADDRESS": "first:1", "JAX_NUM_PROCESSES": str(count)}
        return spec["trainer"]["command"] + spec["trainer"]["args"], given, count
    (job,) = spec["replicatedJobs"]
    pods = job["template"]["spec"]
    (held,) = pods["template"]["spec"]["containers"]
    assert pods["completions"] == pods["parallelism"] and pods["completionMode"] == "Indexed"
    address = f"{manifest(name)['metadata']['name']}-{job['name']}-0-0.{manifest(name)['metadata']['name']}"
    given = {each["name"]: each["value"] for each in held["env"]}
    port = held["ports"][0]["containerPort"]
    assert given["KERAS_DISTRIBUTION_JOB_ADDRESSES"] == f"{address}:{port}"  # the first pod's name in JobSet's network
    return held["command"] + held["args"], given, pods["completions"]


@pytest.mark.parametrize("name", ["jobset", "trainjob"])
def test_the_container_of_a_manifest_runs_the_same_command(cluster, tmp_path, name):
    command, given, count = container(name)
    recipe = re.search(r"seqzoo train (\S+)", command[-1])[1]
    assert (ROOT / "zoo" / "catalogue" / f"{recipe}.toml").is_file()
    for number in range(count):
        index = {"JOB_COMPLETION_INDEX": str(number), "JAX_PROCESS_ID": str(number)}
        done = subprocess.run(command, env=cluster | given | index, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        *words, backend, address, processes, own = (tmp_path / "shown" / str(number)).read_text().splitlines()
        assert words[:2] == ["train", recipe] and words[-3:] == ["--devices", "all", "--resume"]
        assert backend.endswith("=jax") and processes.endswith(f"={count}") and own.endswith(f"={number}")
        assert address.partition("=")[2] in given.values()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count"), [("slurm.sh", 2), pytest.param("ssh.sh", 4, marks=pytest.mark.release)])
def test_launched_processes_train_as_one(cluster, tmp_path, name, count):
    (tmp_path / "bin" / "seqzoo").write_text(f'#!/bin/bash\nexec {sys.executable} -m seqzoo "$@"\n')
    told, status = trained(tmp_path / "one")
    assert status == [0], told
    done = launch(name, count, cluster | {"PYTHONPATH": str(ROOT)}, *RECIPE, "--out", tmp_path / "many", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"{count} devices (cpu) in {count} processes" in done.stderr
    assert_near(tmp_path / "one", tmp_path / "many", 1e-4)
