"""ONNX Runtime sessions of one artefact, with options that keep memory and latency steady."""

import os
import re
import threading

import onnxruntime

from serving.artefact import damaged
from serving.errors import UnsupportedError
from serving.external import names_files

PRECISIONS = ("float32", "int8")
OLDEST = "1.24"  # of ONNX Runtime, for graphs whose manifest does not say: what this package itself asks for


def session_options(threads=None):
    """Options for inputs of many lengths on shared cores."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.enable_mem_pattern = False  # a pattern is kept for every input shape ever seen
    options.inter_op_num_threads = 1
    options.intra_op_num_threads = threads or 0  # 0: one per physical core
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Its kernel takes six times as long as the addition and the norm that it stands for (onnxruntime 1.31, CPU).
    options.add_session_config_entry("optimization.disable_specified_optimizers", "SkipLayerNormFusion")
    return options


def graph_file(name, precision):
    """The file of graph `name` in a precision: "model.onnx" or "model.int8.onnx"."""
    return f"{name.removesuffix('.onnx')}.int8.onnx" if precision == "int8" else name


def turns(threads=None):
    """How many runs may go on at once: as many as there are cores for, and two at least, so that a short text need not
    wait for a long one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(2, cores // (threads or cores))


class Graphs:
    """Opens the graphs of an artefact at first use and keeps them open.

    Any number of threads may ask; as many run at once as `turns` says. An arena holds what its largest runs needed at
    once and keeps it: were it unbounded how many they are, or given back after each (which leaves the holes to the
    C library), the process would grow for hours. `benchmarks/runtime_memory.py` measures it.

    Args:
        artefact: `serving.artefact.Artefact`.
        precision: "float32" or "int8", what `open` chooses unless told otherwise.
        threads: threads inside one operator, or None.

    Raises:
        ValueError: an unknown precision, or fewer than one thread.
        TypeError: threads is not an integer.
    """

    def __init__(self, artefact, precision="float32", threads=None):
        if precision not in PRECISIONS:
            raise ValueError(f"Unknown precision: expected one of {PRECISIONS}, received {precision!r}.")
        if threads is not None and type(threads) is not int:
            raise TypeError(f"threads must be a positive integer or None; received {threads!r}.")
        if threads is not None and threads < 1:
            raise ValueError(f"threads must be a positive integer or None; received {threads}.")
        self.artefact, self.precision, self.threads = artefact, precision, threads
        self._sessions, self._opening = {}, threading.Lock()
        self.turns = threading.BoundedSemaphore(turns(threads))  # held while a session runs

    def open(self, name, precision=None):
        """The session of graph `name`, such as "model.onnx"; its int8 form is "model.int8.onnx".

        Raises:
            ValueError: the artefact has no such graph.
            DamagedError: its bytes are not those that were written, or it cannot be read.
            UnsupportedError: the installed ONNX Runtime is older than the graph needs.
        """
        name = graph_file(name, precision or self.precision)
        with self._opening:
            if name not in self._sessions:
                self._sessions[name] = self._load(name)
            return self._sessions[name]

    def _load(self, name):
        content, path = self.artefact.read(name), self.artefact.directory / name
        check_version(path, self.artefact.manifest["onnx"].get(name, {}).get("onnxruntime", OLDEST))
        try:
            if names_files(content):
                raise ValueError("it keeps tensors in other files, which no graph of an artefact does")
            options = session_options(self.threads)
            session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime's errors share no base but Exception
            raise damaged(path, error) from error
        session._model_bytes = None  # it keeps them for another provider to start from: as much memory again
        return session


def check_version(path, oldest, installed=onnxruntime.__version__):
    """Refuse an ONNX Runtime that is older than the oldest that answers right.

    Raises:
        UnsupportedError: it is.
    """
    if _numbers(installed) < _numbers(oldest):
        raise UnsupportedError(
            f"{path} needs ONNX Runtime {oldest} or newer, and {installed} is installed: older ones refuse the graph "
            f"or answer wrongly. Install a newer one: pip install 'onnxruntime>={oldest}'."
        )


def _numbers(version):
    """(1, 24, 0) of "1.24", for comparison; what comes behind the third number does not count."""
    return tuple(int(number) for number in [*re.findall(r"\d+", version), 0, 0, 0][:3])
