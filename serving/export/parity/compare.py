"""Runs the Keras model in this process, and the check of the exported forms in a new process."""

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from serving.export.parity.reference import expectation
from serving.runtime import own
from serving.runtime.artefact import read_manifest
from serving.runtime.errors import ParityError


def compare(kind, tokenizers, directory, texts):
    """The report of `serving.export.parity.check` as a dict.

    Raises:
        ParityError: numbers differ by more than the tolerance, tokens or names differ, or the check did not finish.
    """
    with tempfile.TemporaryDirectory() as work:
        expected, path = Path(work) / "expected.npz", Path(work) / "report.json"
        bounded = "max_input" in read_manifest(directory)
        np.savez(expected, **expectation(kind, tokenizers, texts, bounded))
        command = own.command("serving.export.parity.check", directory, expected, path)
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
