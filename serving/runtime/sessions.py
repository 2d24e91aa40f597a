"""ONNX Runtime sessions of one artefact, with options that keep memory and latency steady, and runs that can be ended.

ONNX Runtime opens the files that a model names; for a model given as bytes it looks for them in the working folder. So
a graph of an artefact may name one file, the one that its manifest names, whose bytes are given to ONNX Runtime. To
find the names without the package onnx, the model is parsed as the numbered fields of protobuf. The numbers are those
of onnx.proto, and only messages that can hold a tensor are parsed further.
"""

import contextlib
import os
import re
import threading
from contextvars import ContextVar

import onnxruntime

from serving.lazy import later
from serving.runtime.artefact import damaged_error
from serving.runtime.errors import UnsupportedError
from serving.runtime.manifest_format import graph_bytes, int8_name, weight_files

protobuf = later("zoo.text.protobuf")  # a process that checks parity must not import zoo

PRECISIONS = ("float32", "int8")
SMALL = 8_000_000  # bytes of a graph: one of fewer is faster with one thread (benchmarks/threads.py)
MOST_THREADS = 1_024
OLDEST = "1.24"  # the ONNX Runtime that this package requires, for graphs whose manifest does not name a version
EXTERNAL = 1  # of TensorProto.data_location
GIVEN = ("n_best",)  # inputs with a default that nearly every run gives
INSIDE = {  # message -> number of a field -> the message in this field
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
}
NESTING = 64
SHRINK = "memory.enable_memory_arena_shrinkage", "cpu:0"  # after a run, what it needed is given back
FATAL = 4  # of ONNX Runtime's log, so that it says nothing on standard error of a run that is ended
_CURRENT = ContextVar("stop", default=None)


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
        session: of ONNX Runtime; `fixed` inputs are constants there.
        inputs, outputs: their names.
        optional: the names of the inputs that have a default.

    Args:
        fixed: names of optional inputs.
        open_whole: opens the session in which they are inputs.
    """

    def __init__(self, path, session, fixed=frozenset(), open_whole=None):
        self.path, self.session = path, session
        self.inputs = [node.name for node in session.get_inputs()]
        self.outputs = [node.name for node in session.get_outputs()]
        self.optional = {node.name for node in session.get_overridable_initializers()} | fixed
        self._fixed, self._open_whole, self._whole = fixed, open_whole, None
        self._opening = threading.Lock()

    def session_for(self, names):
        """The session that takes these inputs."""
        if self._fixed.isdisjoint(names):
            return self.session
        with self._opening:
            self._whole = self._whole or self._open_whole()
            return self._whole


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
        fixed = frozenset()
        try:
            files = weights_files(content, self.artefact.manifest, name)
            if len(content) < SMALL and not files:
                content, fixed = fix_defaults(content, GIVEN)
            session = self._session(content, files)
        except Exception as error:  # the only common base class of ONNX Runtime's errors
            raise damaged_error(path, error) from error
        return Graph(path, session, fixed, lambda: self._whole(name, path))

    def _whole(self, name, path):
        """The session of a graph whose defaults are not fixed."""
        content = self.artefact.read(name)
        try:
            return self._session(content)
        except Exception as error:
            raise damaged_error(path, error) from error

    def _session(self, content, files=()):
        weights = {file: self.artefact.read(file) for file in files}
        options, sizes = session_options(self.threads), list(map(len, weights.values()))
        options.add_external_initializers_from_files_in_memory(list(weights), list(weights.values()), sizes)
        session = open_graph(content, options)
        session._model_bytes = None  # a second copy of the graph, kept only for a restart with other providers
        return session


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


def weights_files(content, manifest, name):
    """The names of the files, one or none, with the weights of the graph `name`, whose bytes are `content`.

    Raises:
        ValueError: the bytes are not a model, or it names other files than the manifest does.
    """
    names = weight_files(manifest, name)
    others = external_files(content) ^ set(names)
    if others:
        raise ValueError(f"it keeps tensors in other files than the manifest says: {', '.join(sorted(others))}")
    return names


def fix_defaults(content, kept=()):
    """A model whose inputs with a default are constants, and the names of these.

    Then ONNX Runtime computes once what depends on them alone, such as which rules of a search are in force. A text by
    itself takes about 6 % less time in a small graph, and one in a batch 1 to 3 %.

    Args:
        content: of the file of a model.
        kept: the names of inputs that stay what they are.

    Raises:
        ValueError: the bytes are not a model in protobuf's format.
    """
    model, fixed = [], set()
    for number, whole, graph in protobuf.fields(memoryview(content)):
        if number != 7:  # graph
            model.append(whole)
            continue
        parts = list(protobuf.fields(graph))
        named = {_name_of(value, 8) for number, _, value in parts if number == 5}  # initializer
        inputs = {_name_of(value, 1) for number, _, value in parts if number == 11}  # input
        fixed = (named & inputs) - set(kept)
        left = (whole for number, whole, value in parts if number != 11 or _name_of(value, 1) not in fixed)
        model.append(protobuf.field(7, b"".join(left)))
    return b"".join(model), frozenset(fixed)


def _name_of(message, number):
    """The content of a field with a name."""
    return next((bytes(value).decode() for each, _, value in protobuf.fields(message) if each == number), "")


def external_files(content):
    """The set of the files that tensors of the model in `content`, bytes, are stored in; "" for one without a name.

    Raises:
        ValueError: the bytes are not a model in protobuf's format.
    """
    files, waiting = set(), [("model", memoryview(content), 0)]
    while waiting:
        message, view, depth = waiting.pop()
        if depth > NESTING:
            raise ValueError(f"messages are nested more than {NESTING} levels deep")
        if message == "tensor":
            files |= _external_files(view)
            continue
        for number, _, value in protobuf.fields(view):
            if number in INSIDE[message]:
                waiting.append((INSIDE[message][number], value, depth + 1))
    return files


def _external_files(tensor):
    """The set of the files that a tensor names: none if it holds its numbers."""
    is_external, names = False, set()
    for number, _, value in protobuf.fields(tensor):
        if number == 14 and protobuf.read_integer(value) == EXTERNAL:  # data_location
            is_external = True
        elif number == 13:  # external_data: keys and values, 1 and 2
            is_external, entry = True, {number: bytes(part) for number, _, part in protobuf.fields(value)}
            names |= {entry.get(2, b"").decode(errors="replace")} if entry.get(1) == b"location" else set()
    return names or {""} if is_external else set()


class Stop:
    """Ends the runs of graphs that a thread begins while it is within `over`, at once, between two of their operators.

    The caller must bound how many graphs run at once.

    Args:
        shrink: whether memory is given back after each run, which takes time: for runs that may need much of it, and
            are rare.
    """

    def __init__(self, shrink=False):
        self.options = onnxruntime.RunOptions()
        self.options.log_severity_level = FATAL
        if shrink:
            self.options.add_run_config_entry(*SHRINK)

    @property
    def is_ended(self):
        """Whether `end` was called."""
        return self.options.terminate

    def end(self):
        """End what runs; whatever would begin later ends as well. Any thread may call this."""
        self.options.terminate = True

    @contextlib.contextmanager
    def over(self):
        """A context in which this thread's runs may be ended."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)


def current():
    """The `Stop` of this thread, or None."""
    return _CURRENT.get()
