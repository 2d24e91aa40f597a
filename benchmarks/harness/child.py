"""The process of an engine: `child.py MODULE FUNCTION SETTINGS THREADS`; see `harness.engine.Engine`.

It imports the module, calls the function with the settings, and then makes what that returns once for each line of
standard input, answering `[value, processor seconds, seconds]`. The end of the input ends it.
"""

import importlib
import json
import os
import resource
import sys
import time
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[1]


def main(module, function, settings, threads):
    sys.path[:0] = [str(BENCHMARKS), str(BENCHMARKS.parent)]
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(threads)])
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever a library or a process of its own prints is no answer
    make = getattr(importlib.import_module(module), function)
    step = make(threads=int(threads), **json.loads(settings))
    print(json.dumps("ready"), file=answers, flush=True)
    for _ in sys.stdin:
        (before, _), start = used(step), time.perf_counter()
        value = step()
        clock, (after, most) = time.perf_counter() - start, used(step)
        print(json.dumps([value, after - before, clock, most]), file=answers, flush=True)


def used(step):
    """`(processor seconds, megabytes)` of this process, or of those that it starts if the step says `in_processes`."""
    who = resource.RUSAGE_CHILDREN if getattr(step, "in_processes", False) else resource.RUSAGE_SELF
    found = resource.getrusage(who)
    return found.ru_utime + found.ru_stime, found.ru_maxrss / 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
