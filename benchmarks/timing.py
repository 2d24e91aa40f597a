"""What the benchmarks share: engines that take turns, medians and ratios, and where it was measured."""

import json
import os
import platform
import statistics
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("tensorflow", "keras", "tf2onnx", "onnx", "onnxruntime", "numpy")


def seconds(call, times):
    """Mean seconds of one call over `times` calls."""
    start = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - start) / times


def measure(calls, rounds, least):
    """`{name: [seconds per call] * rounds}`: in every round the engines take turns of at least `least` seconds.

    So a busy machine hurts all alike.
    """
    times = {}
    for name, call in calls.items():
        call()
        times[name] = max(1, round(least / seconds(call, 1)))
    taken = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            taken[name].append(seconds(call, times[name]))
    return taken


def compared(taken, peer):
    """Median milliseconds of each engine, and the median over rounds of the ratio `peer / engine`."""
    row = {}
    for name, times in taken.items():
        row[f"{name}_ms"] = round(1e3 * statistics.median(times), 3)
        if name != peer:
            ratios = [a / b for a, b in zip(taken[peer], times, strict=True)]
            row[f"{peer}/{name}"] = round(statistics.median(ratios), 2)
    return row


def write(name, rows, **more):
    """`benchmarks/results/NAME.json`: rows, versions, machine."""
    RESULTS.mkdir(exist_ok=True)
    report = {"machine": machine(), "versions": versions(), **more, "rows": rows}
    (RESULTS / f"{name}.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def machine():
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next(line.partition(":")[2].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    return {"processor": name, "cores": os.cpu_count(), "system": platform.system()}


def versions():
    found = {name: version(name) for name in PACKAGES if find_spec(name)}  # an environment of Ray has no TensorFlow
    return {"python": platform.python_version(), **found}
