"""Expectation from the Keras model here, check of the exported forms in a fresh process."""

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from serving import own
from serving.artefact import read_manifest
from serving.errors import ParityError
from serving.parity.reference import expectation


def compare(kind, tokenizers, directory, texts):
    """The report of `serving.parity.check` as a dict.

    Raises:
        ParityError: a difference beyond the tolerance, other tokens, other names, or a check that did not finish.
    """
    with tempfile.TemporaryDirectory() as work:
        expected, path = Path(work) / "expected.npz", Path(work) / "report.json"
        bounded = "max_input" in read_manifest(directory)
        np.savez(expected, **expectation(kind, tokenizers, texts, bounded))
        command = own.command("serving.parity.check", directory, expected, path)
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if not path.is_file():
            raise ParityError(
                f"The parity check of {directory} did not finish (exit {done.returncode}):\n{done.stderr[-2000:]}"
            )
        report = json.loads(path.read_text(encoding="utf-8"))
    if not report["passed"]:
        listed = "\n  ".join(report["failures"][:8])
        raise ParityError(
            f"{len(report['failures'])} parity checks of {directory} failed; the first of them:\n  {listed}"
        )
    return report
