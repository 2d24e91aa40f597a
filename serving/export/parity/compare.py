"""Runs the Keras model in this process, and the check of the exported forms in a new process."""

import contextlib
import json
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

from serving.export.parity.check import OTHERWISE, save_cases
from serving.export.parity.expected import expectation, find_differing, find_ties, find_unexplained, sensitivity
from serving.runtime import own
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

        If rows are answered otherwise whose answers hang on rounding (near ties), a second process checks without them;
        the report then has their number as `near_ties`. If only numbers differ by more than the tolerance, the
        sensitivity of the model to the rounding of its weights is measured, and another process checks with it; the
        report then has it as `sensitivity`.

        Raises:
            ParityError: numbers differ by more than the tolerance, tokens or names differ, or the check did not finish.
        """
        self._tell(directory)
        arguments = kind, tokenizers, texts
        cases, near, unexplained = expectation(*arguments), {}, []
        report = self._ask(directory, cases)
        rows = find_differing(cases, self._read_otherwise())
        if rows:
            near = find_ties(*arguments, cases, rows)
            unexplained = find_unexplained(kind, cases, rows, near)
        if near and not unexplained:
            cases = [replace(case, left_out=near.get(number, [])) for number, case in enumerate(cases)]
            report = self._check_again(directory, cases)
        if not report["passed"] and report["only_numbers"]:
            spreads = sensitivity(cases, *arguments)
            cases = [replace(case, spread=spread) for case, spread in zip(cases, spreads, strict=True)]
            report = self._check_again(directory, cases)
            report["sensitivity"] = float(max(each for spread in spreads for each in spread.values()))
        if not report["passed"]:
            raise ParityError(_describe_failures(directory, report["failures"], unexplained))
        return report | ({"near_ties": sum(map(len, near.values()))} if near else {})

    def _read_otherwise(self):
        path = self.work / OTHERWISE
        if not path.is_file():
            return {}
        with np.load(path) as arrays:
            return dict(arrays)

    @staticmethod
    def _check_again(directory, cases):
        with checker() as again:
            again._tell(directory)
            return again._ask(directory, cases)

    def _ask(self, directory, cases):
        """The report on the directory that the process was told, passed or not."""
        path = self.work / "expected.npz"
        save_cases(path, cases)
        self._tell(path)
        _, errors = self.process.communicate()
        if not self.report.is_file():
            raise ParityError(
                f"The parity check of {directory} did not finish (exit {self.process.returncode}):\n{errors[-2000:]}"
            )
        return json.loads(self.report.read_text(encoding="utf-8"))

    def _tell(self, path):
        with contextlib.suppress(BrokenPipeError):  # it has ended, and has said why
            self.process.stdin.write(json.dumps(str(Path(path).absolute())) + "\n")
            self.process.stdin.flush()


def _describe_failures(directory, failures, unexplained):
    """The message about checks that failed, with the rows that rounding does not explain."""
    lines = [f"{len(failures)} parity checks of {directory} failed; the first of them:", *failures[:8]]
    if unexplained:
        lines += ["Rounding does not explain these rows:", *unexplained[:8]]
    return "\n  ".join(lines) + (
        "\nA form that computes something else must not be served. If the model has layers of your own, `python -m "
        "zoo.check` finds most causes; if it has none, this is a fault of the export: please report it with this text."
    )


@contextlib.contextmanager
def checker():
    """A context with a `Checker`. Its process and its files do not outlive it."""
    with tempfile.TemporaryDirectory() as work:
        child = Checker(work)
        with child.process:
            try:
                yield child
            finally:
                child.process.kill()
                with contextlib.suppress(BrokenPipeError):
                    child.process.stdin.close()
