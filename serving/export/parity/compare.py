"""Runs the Keras model in this process, and the check of the exported forms in a new process."""

import contextlib
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from serving.export.parity.reference import expectation
from serving.export.parity.sensitivity import sensitivity
from serving.runtime import own
from serving.runtime.artefact import read_manifest
from serving.runtime.errors import ParityError


class Checker:
    """The new process. It starts at once, and imports TensorFlow while this process writes what it is to check.

    Args:
        work: a folder for its files.
    """

    def __init__(self, work):
        self.work, self.report = Path(work), Path(work) / "report.json"
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        command = own.command("serving.export.parity.check", self.report)
        self.process = subprocess.Popen(command, text=True, errors="replace", **pipes)

    def compare(self, kind, tokenizers, directory, texts):
        """The report of `serving.export.parity.check` on the artefact at `directory`, a dict. Call this once.

        If only numbers differ by more than the tolerance, the sensitivity of the model to the rounding of its weights
        is measured, and a second process checks with it; the report then has it as `sensitivity`.

        Raises:
            ParityError: numbers differ by more than the tolerance, tokens or names differ, or the check did not finish.
        """
        self._tell(directory)
        bounded = "max_input" in read_manifest(directory)
        expected = expectation(kind, tokenizers, texts, bounded)
        report = self._asked(directory, expected)
        if not report["passed"] and report["only_numbers"]:
            spread = sensitivity(expected, kind, tokenizers, texts, bounded)
            with checker() as again:
                again._tell(directory)
                report = again._asked(directory, expected | spread)
            report["sensitivity"] = float(max(spread.values()))
        if not report["passed"]:
            listed = "\n  ".join(report["failures"][:8])
            raise ParityError(
                f"{len(report['failures'])} parity checks of {directory} failed; the first of them:\n  {listed}"
            )
        return report

    def _asked(self, directory, expected):
        """The report on the directory that the process was told, passed or not."""
        path = self.work / "expected.npz"
        np.savez(path, **expected)
        self._tell(path)
        _, said = self.process.communicate()
        if not self.report.is_file():
            raise ParityError(
                f"The parity check of {directory} did not finish (exit {self.process.returncode}):\n{said[-2000:]}"
            )
        return json.loads(self.report.read_text(encoding="utf-8"))

    def _tell(self, path):
        with contextlib.suppress(BrokenPipeError):  # it has ended, and has said why
            self.process.stdin.write(json.dumps(str(Path(path).absolute())) + "\n")
            self.process.stdin.flush()


@contextlib.contextmanager
def checker():
    """A context with a `Checker`. Its process and its files do not outlive it."""
    with tempfile.TemporaryDirectory() as work:
        started = Checker(work)
        with started.process:
            try:
                yield started
            finally:
                started.process.kill()
                with contextlib.suppress(BrokenPipeError):
                    started.process.stdin.close()
