"""Engines: what is measured, each in a process of its own, taking turns."""

import contextlib
import json
import os
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from harness.environments import interpreter
from tools.startup import LARGEST, VARIABLE

CHILD = Path(__file__).with_name("child.py")
KEPT = {  # memory, as `seqzoo train` does; peers, too
    VARIABLE: f"glibc.malloc.arena_max=1:glibc.malloc.mmap_threshold={LARGEST}:glibc.malloc.trim_threshold={2**64 - 1}"
}


@dataclass(frozen=True)
class Engine:
    """Something that does the work of a cell.

    Args:
        name: as it is shown.
        module, function: `function(threads=N, **settings)` of a module of the benchmarks returns a function without
            arguments that does the work once and returns a value for JSON: what the engines of a cell must agree on.
        settings: further arguments.
        environment: of `harness.environments`; None is the project's.
        variables: of the process, such as KERAS_BACKEND.
    """

    name: str
    module: str
    function: str
    settings: dict = field(default_factory=dict)
    environment: str | None = None
    variables: dict = field(default_factory=dict)


class Running:
    """The process of an `Engine`, which does the work when it is told to."""

    def __init__(self, engine, threads):
        self.engine, self.threads, self.megabytes = engine, threads, 0
        self.said = tempfile.TemporaryFile("w+")
        command = [interpreter(engine.environment), str(CHILD), engine.module, engine.function]
        count = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(threads))
        self.child = subprocess.Popen(
            [*command, json.dumps(engine.settings), str(threads)],
            env={**os.environ, **KEPT, "TF_CPP_MIN_LOG_LEVEL": "2", **count, **engine.variables},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.said,
            text=True,
        )
        try:
            self._answer()  # it is ready
        except RuntimeError:
            self.stop()
            raise

    def step(self):
        """Do the work once: `(value, processor seconds by thread, seconds)`."""
        self.child.stdin.write("\n")
        self.child.stdin.flush()
        value, processor, clock, self.megabytes = self._answer()
        return value, processor / self.threads, clock

    def _answer(self):
        line = self.child.stdout.readline()
        if not line:
            self.said.seek(0)
            last = "\n".join(self.said.read().splitlines()[-15:])
            raise RuntimeError(f"The engine {self.engine.name} ended:\n{last}")
        return json.loads(line)

    def stop(self):
        self.child.kill()
        self.child.communicate()
        self.said.close()


@contextlib.contextmanager
def running(engines, threads, log):
    """The processes of several engines, started one after the other because compilers are heavy."""
    ready = []
    try:
        for engine in engines:
            ready.append(Running(engine, threads))
            log(f"  {engine.name} is ready")
        yield ready
    finally:
        for each in ready:
            each.stop()
