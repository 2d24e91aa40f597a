"""ONNX Runtime sessions of one artefact, with options that keep memory and latency steady."""

import os
import re
import threading

import onnxruntime

from serving.runtime.artefact import damaged_error
from serving.runtime.errors import UnsupportedError
from serving.runtime.external import weights_files
from serving.runtime.manifest_format import graph_bytes, int8_name

PRECISIONS = ("float32", "int8")
SMALL = 8_000_000  # bytes of a graph: one of fewer is faster with one thread (benchmarks/threads.py)
MOST_THREADS = 1_024
OLDEST = "1.24"  # the ONNX Runtime that this package requires, for graphs whose manifest does not name a version


def session_options(threads=None):
    """Session options for inputs of many lengths on shared cores."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.enable_mem_pattern = False  # otherwise a pattern is kept for every input shape
    options.inter_op_num_threads = 1
    options.intra_op_num_threads = threads or _default_threads()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # The fused kernel takes six times as long as a separate addition and norm (onnxruntime 1.31, CPU).
    options.add_session_config_entry("optimization.disable_specified_optimizers", "SkipLayerNormFusion")
    return options


def open_graph(graph, options=None):
    """A session for a graph of one's own, of one thread unless the options say otherwise.

    Args:
        graph: the path of a file, or bytes.
        options: onnxruntime's; None are those of the runtime.
    """
    options = options or session_options(1)
    content = graph if isinstance(graph, bytes) else str(graph)
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def cores():
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _default_threads():
    """0, which is one thread for each physical core, or as many as this process has cores, if it may not use all.

    ONNX Runtime counts the cores of the machine. In a process that is bound to some of them, as in a container, its
    threads would wait for each other.
    """
    return 0 if cores() == os.cpu_count() else cores()


def graph_file(name, precision):
    """The file name of graph `name` in a precision, such as "model.onnx" and "model.int8.onnx"."""
    return int8_name(name) if precision == "int8" else name


def turns(threads=None):
    """The number of graph runs that may be active at once.

    There are as many as the cores allow, and at least two, so that a short text need not wait for a long one.
    """
    return max(2, cores() // (threads or cores()))


def choose_threads(manifest):
    """The threads of an operator for the graphs of a manifest: 1 if all are small, and else None.

    The operators of a small graph take so little time that threads cost more than they save, and a core that is left
    alone may run another request.
    """
    sizes = graph_bytes(manifest).values()
    return 1 if sizes and max(sizes) < SMALL else None


class Graph:
    """An opened graph, and what it asks and answers, which ONNX Runtime would look up again in every run.

    Attributes:
        path: of its file, for messages.
        session: of ONNX Runtime.
        inputs, outputs: their names.
        optional: the names of the inputs that have a default.
    """

    def __init__(self, path, session):
        self.path, self.session = path, session
        self.inputs = [node.name for node in session.get_inputs()]
        self.outputs = [node.name for node in session.get_outputs()]
        self.optional = {node.name for node in session.get_overridable_initializers()}


class Graphs:
    """Opens the graphs of an artefact at their first use and keeps them open.

    Any number of threads may use it; `turns` bounds how many runs are active at once. The memory arena of ONNX Runtime
    keeps the memory that its simultaneous runs needed at most. Without this bound, or if the memory were returned after
    each run (which fragments the heap), the process would grow for hours. `benchmarks/runtime_memory.py` measures this.

    Args:
        artefact: `serving.runtime.artefact.Artefact`.
        precision: "float32" or "int8", the default of `open`; None leaves it to the artefact.
        threads: the number of threads of one operator; None leaves it to `choose_threads`.

    Raises:
        ValueError: the precision is unknown, or there is less than one thread, or more than any machine could begin.
        TypeError: threads is not an integer.
    """

    def __init__(self, artefact, precision=None, threads=None):
        if precision not in (None, *PRECISIONS):
            raise ValueError(f"Unknown precision: expected one of {PRECISIONS}, received {precision!r}.")
        if threads is not None and type(threads) is not int:
            raise TypeError(f"threads must be a positive integer or None; received {threads!r}.")
        if threads is not None and not 1 <= threads <= MOST_THREADS:
            raise ValueError(f"threads must be a positive integer up to {MOST_THREADS:,} or None; received {threads}.")
        self.artefact, self.precision = artefact, precision
        self.threads = threads or choose_threads(artefact.manifest)
        self._opened, self._opening = {}, threading.Lock()
        self.turns = threading.BoundedSemaphore(turns(self.threads))  # held while a session runs

    def open(self, name, precision=None):
        """The `Graph` of the name `name`, such as "model.onnx"; its int8 form is "model.int8.onnx".

        Raises:
            ValueError: the artefact has no such graph.
            DamagedError: the file was changed since the export, or cannot be read.
            UnsupportedError: the installed ONNX Runtime is older than the graph needs.
        """
        precision = precision or self.precision
        name = graph_file(name, precision) if precision else self.artefact.preferred_file(name)
        with self._opening:
            if name not in self._opened:
                self._opened[name] = self._load(name)
            return self._opened[name]

    def _load(self, name):
        content, path = self.artefact.read(name), self.artefact.directory / name
        check_version(path, self.artefact.manifest["onnx"].get(name, {}).get("onnxruntime", OLDEST))
        try:
            weights = {file: self.artefact.read(file) for file in weights_files(content, self.artefact.manifest, name)}
            options, sizes = session_options(self.threads), list(map(len, weights.values()))
            options.add_external_initializers_from_files_in_memory(list(weights), list(weights.values()), sizes)
            session = open_graph(content, options)
        except Exception as error:  # the only common base class of ONNX Runtime's errors
            raise damaged_error(path, error) from error
        session._model_bytes = None  # a second copy of the graph, kept only for a restart with other providers
        return Graph(path, session)


def check_version(path, oldest, installed=onnxruntime.__version__):
    """Check that ONNX Runtime is at least as new as the oldest version that runs the graph correctly.

    Raises:
        UnsupportedError: it is older.
    """
    if version_numbers(installed) < version_numbers(oldest):
        raise UnsupportedError(
            f"{path} needs ONNX Runtime {oldest} or newer, and {installed} is installed: older ones refuse the graph "
            f"or answer wrongly. Install a newer one: pip install 'onnxruntime>={oldest}'."
        )


def version_numbers(version):
    """The first three numbers of a version, for comparisons: (1, 24, 0) for "1.24"."""
    return tuple(int(number) for number in [*re.findall(r"\d+", version), 0, 0, 0][:3])
