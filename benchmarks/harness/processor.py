"""Where something was measured: processor, instruction sets, versions, commit."""

import os
import platform
import re
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from zoo.core import processor as this

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("tensorflow", "keras", "jax", "onnx", "onnxruntime", "tf2onnx", "numpy")
# Those that decide how fast products and int8 are, the newest first.
SETS = (
    "amx_int8",
    "amx_bf16",
    "avx512_fp16",
    "avx512_bf16",
    "avx512_vnni",
    "avx512f",
    "avx_vnni",
    "avx2",
    "fma",
    "asimddp",
    "asimd",
)


def processor():
    """`{"name", "family", "model", "instruction_sets", "cores", "system"}` of this machine."""
    found, sets = this.fields(), this.instruction_sets()
    return {
        "name": this.name(),
        "family": found.get("cpu family", ""),
        "model": found.get("model", ""),
        "instruction_sets": [name for name in SETS if name in sets],
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "system": platform.system(),
    }


def slug(found):
    """The name of the folder of a processor's results, such as "intel-xeon-processor-6-143"."""
    name = re.sub(r"\((r|tm)\)|@.*|\bcpu\b", " ", found["name"].lower())
    words = re.findall(r"[a-z0-9]+", name) + [found["family"], found["model"]]
    return "-".join(word for word in words if word) or "unknown"


def versions(packages=PACKAGES):
    """Of Python and those packages that are installed."""
    known = {"python": platform.python_version()}
    for name in packages:
        try:
            known[name] = version(name)
        except PackageNotFoundError:
            continue
    return known


def commit():
    """The commit that was measured, with "+" after it if files were changed; None outside a checkout."""
    try:
        shown = subprocess.run(["git", "describe", "--always", "--dirty=+"], cwd=ROOT, capture_output=True, text=True)
    except OSError:
        return None
    return shown.stdout.strip() or None
