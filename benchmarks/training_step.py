"""The training step of one Transformer: ours, KerasHub's layers, and PyTorch's nn.Transformer, on the CPU.

    python benchmarks/training_step.py             # both sizes; writes benchmarks/results/training_step.json
    python benchmarks/training_step.py --quick     # a tiny model, ours against eager PyTorch; writes nothing

Needs `pip install keras-hub torch` beside the project; `benchmarks/training_engines.py` says what is equal (everything:
before anything is timed, the losses of three updates of a tiny model without dropout must agree to 1e-4). Each engine
lives in a process of its own with `--threads` threads and cores; they take turns; a cell is the median over the rounds.
Seconds are those that the engine's own process spent on its cores, divided by the threads, so that other work on the
machine is not counted. `ours / X`: time of X over ours, above 1 is faster than X.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from importlib.metadata import version
from statistics import median

import training_engines as engines
from timing import table, write

SIZES = {
    "small": dict(layers=3, units=256, hidden_units=1024, heads=4, vocabulary=8192, batch=32, time=32),
    "base": dict(layers=6, units=512, hidden_units=2048, heads=8, vocabulary=8192, batch=8, time=32),
    "quick": dict(layers=1, units=32, hidden_units=64, heads=2, vocabulary=64, batch=4, time=8),
}
DROPOUT = 0.1
ENGINES = ("ours", "ours_jax", "keras_hub", "torch", "torch_compile")


class Engine:
    """A child process that makes training steps when it is told to."""

    def __init__(self, name, size, dropout, threads):
        keras_backend = "jax" if name.endswith("jax") else "tensorflow"
        arguments = [sys.executable, __file__, "--engine", name, "--size", size, "--dropout", str(dropout)]
        self.name, self.threads = name, threads
        self.child = subprocess.Popen(
            [*arguments, "--threads", str(threads)],
            env={**os.environ, "KERAS_BACKEND": keras_backend, "TF_CPP_MIN_LOG_LEVEL": "2"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip

    def step(self):
        """One update: `(loss, seconds)`."""
        self.child.stdin.write("step\n")
        self.child.stdin.flush()
        answer = self.child.stdout.readline()
        if not answer:
            raise RuntimeError(f"The engine {self.name!r} ended; run it alone with --engine {self.name} to see why.")
        loss, seconds = json.loads(answer)
        return loss, seconds / self.threads

    def stop(self):
        self.child.kill()
        self.child.wait()


def serve(name, size, dropout, threads):
    """What the child does: build, then one step a line."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    weights, batch = engines.draw(size), engines.make_batch(size)
    answers, sys.stdout = sys.stdout, sys.stderr
    step = make(name, threads)(size, dropout, weights)
    for _ in sys.stdin:
        start = time.process_time()
        loss = float(step(batch))
        print(json.dumps([loss, time.process_time() - start]), file=answers, flush=True)


def make(name, threads):
    if name.startswith("torch"):
        import torch

        torch.set_num_threads(threads)
        return engines.torch_compiled if name.endswith("compile") else engines.torch_eager
    if name != "ours_jax":
        import tensorflow as tf

        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    return engines.keras_hub if name == "keras_hub" else engines.ours


def run(names, size, rounds, threads):
    """A row: milliseconds of each engine, tokens per second of ours, and ratios."""
    ready = []
    try:
        for name in names:  # one after the other: compilers are heavy
            ready.append(Engine(name, size, DROPOUT, threads))
            for _ in range(2):
                ready[-1].step()
            print(f"  {name} is ready", file=sys.stderr, flush=True)
        taken = {name: [] for name in names}
        for _ in range(rounds):
            for engine in ready:
                taken[engine.name].append(engine.step()[1])
    finally:
        for engine in ready:
            engine.stop()
    tokens = SIZES[size]["batch"] * SIZES[size]["time"]
    row = {"size": size} | {f"{name}_ms": round(1e3 * median(times), 1) for name, times in taken.items()}
    row["ours_tokens_per_second"] = round(tokens / median(taken["ours"]))
    for name in names[1:]:
        ratios = [other / own for own, other in zip(taken["ours"], taken[name], strict=True)]
        row[f"{name}/ours"] = round(median(ratios), 2)
    return row


def check(names):
    """The losses of three updates without dropout, from the same weights, are one and the same."""
    found = {}
    for name in names:
        engine = Engine(name, "quick", 0.0, 1)
        try:
            found[name] = [engine.step()[0] for _ in range(3)]
        finally:
            engine.stop()
    for losses in found.values():
        if max(abs(a - b) for a, b in zip(losses, found["ours"], strict=True)) > 1e-4:
            raise ValueError(f"The engines do not compute the same: {found}.")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tiny model; writes nothing")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--engine", choices=ENGINES, help="be this engine: a step for each line of stdin")
    parser.add_argument("--size", choices=SIZES, help="this size alone")
    parser.add_argument("--only", nargs="+", choices=ENGINES[1:], default=ENGINES[1:], help="the peers to measure")
    parser.add_argument("--dropout", type=float, default=DROPOUT, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.engine:
        return serve(options.engine, SIZES[options.size], options.dropout, options.threads)
    names = ("ours", *(["torch"] if options.quick else options.only))
    check([name for name in names if name != "torch_compile"])
    rows = []
    for size in ("quick",) if options.quick else (options.size,) if options.size else ("small", "base"):
        print(size, file=sys.stderr, flush=True)
        rows.append(run(names, size, options.rounds, options.threads))
        print(table(rows[-1:]))
        if not options.quick:
            peers = {package: version(package) for package in ("jax", "keras-hub", "torch")}
            write("training_step", rows, rounds=options.rounds, threads=options.threads, dropout=DROPOUT, peers=peers)


if __name__ == "__main__":
    main()
