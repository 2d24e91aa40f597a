"""The operators and attributes that each version of TensorFlow Serving knows: those of TensorFlow and TensorFlow Text.

`python benchmarks/serving_operators.py [--work DIR] [2.19 2.20 2.21]` makes an environment of its own for each version,
with the newest packages of it, asks them for their operators, and writes `serving/export/server_operators.json.gz`. A
server has no Python, but it is built from the same sources and registers the same operators.
"""

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

OUT = Path(__file__).resolve().parents[1] / "serving" / "export" / "server_operators.json.gz"
VERSIONS = ("2.19", "2.20", "2.21")
PACKAGES = ("tensorflow", "tensorflow-text")
ASK = """
import json, sys
from importlib import metadata
import tensorflow_text
from tensorflow.core.framework import op_def_pb2
from tensorflow.python.client import pywrap_tf_session
held = op_def_pb2.OpList.FromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
operators = {
    op.name: sorted(attr.name + ("" if attr.HasField("default_value") else "!") for attr in op.attr) for op in held.op
}
versions = {name: metadata.version(name) for name in ("tensorflow", "tensorflow-text")}
json.dump({"packages": versions, "operators": operators}, open(sys.argv[1], "w"))
"""


def ask(version, work):
    """`{"packages": .., "operators": {name: [attribute, ..]}}` of a version; "!" marks attributes without a default."""
    home = work / version
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        wanted = [f"{name}=={version}.*" for name in PACKAGES]
        subprocess.run([python, "-m", "pip", "install", "--quiet", *wanted, "setuptools<81"], check=True)
    told = work / f"{version}.json"
    subprocess.run([python, "-c", ASK, told], check=True)
    return json.loads(told.read_text())


def compact(found):
    """The operators of all versions as one table, in which an entry that no version changed stands once.

    Args:
        found: `{version: what `ask` returns}`.
    """
    table = {}
    for version, each in found.items():
        for name, attributes in each["operators"].items():
            known = table.setdefault(name, {})
            known.setdefault(" ".join(attributes), []).append(version)
    packages = {version: each["packages"] for version, each in found.items()}
    return {"packages": packages, "operators": {name: table[name] for name in sorted(table)}}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="*", default=list(VERSIONS))
    parser.add_argument("--work", type=Path, help="keep the environments in this folder")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = args.work or Path(folder)
        work.mkdir(parents=True, exist_ok=True)
        found = {version: ask(version, work) for version in args.versions}
    made = compact(found)
    OUT.write_bytes(gzip.compress(json.dumps(made, separators=(",", ":")).encode(), 9, mtime=0))
    print(f"{OUT}: {len(made['operators'])} operators, {OUT.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
