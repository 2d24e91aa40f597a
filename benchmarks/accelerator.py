"""Training steps on an accelerator, on JAX: recipes beside what `--plan` foretells, and a Transformer beside its peers.

    python benchmarks/accelerator.py recipes    # writes benchmarks/results/DEVICE/recipes.json
    python benchmarks/accelerator.py peers      # needs torch and keras_hub in this environment
    python benchmarks/accelerator.py recipes gutenberg-9-reformer --seconds 0.1  # some; prints

Each row has a process of its own, with random tokens of the greatest lengths that the recipe allows. All of them
compile at the same time; then they take turns, so that the one that is timed has the device for itself. A round makes
as many steps as take about a second and waits for the last of them; a row has the median of the rounds, and the most
memory that the device held for its process.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from harness import processor  # noqa: E402
from paper_sizes import random_batch  # noqa: E402

# A recipe, its precision, and what is changed: one shape of batches, and for the largest models fewer texts.
PAIRS = "training.num_buckets=1 training.max_length={}"
RECIPES = (
    ("multi30k-de-en-gru-additive", "float32", PAIRS.format(50)),
    ("multi30k-de-en-transformer-pre-norm", "float32", PAIRS.format(40)),
    ("multi30k-de-en-depth-adaptive", "float32", PAIRS.format(40)),
    ("tinyshakespeare-tensorized", "float32", ""),
    ("gutenberg-9-adaptive-span", "float32", ""),
    ("gutenberg-9-product-key", "float32", ""),
    ("gutenberg-9-reformer", "float32", ""),
    ("tinyshakespeare-gpu-transformer-pre-norm", "float32", ""),
    ("tinyshakespeare-gpu-transformer-pre-norm", "mixed_bfloat16", ""),
    ("wmt14-en-de-transformer-base", "float32", PAIRS.format(100)),
    ("wmt14-en-de-transformer-base", "mixed_bfloat16", PAIRS.format(100)),
    ("wmt14-en-de-universal-base", "mixed_bfloat16", PAIRS.format(100)),
    ("enwik8-adaptive-span", "mixed_bfloat16", ""),
    ("enwik8-reformer", "mixed_bfloat16", "training.batch_size=1 training.parts=1"),
    ("cc-news-product-key", "mixed_bfloat16", "training.batch_size=2"),
)
# Of the Transformer in `cases/transformer_engines.py`; the batches are of a size that fills an accelerator.
SIZES = {
    "small": dict(layers=3, units=256, hidden_units=1024, heads=4, vocabulary=8192, batch=128, time=32),
    "base": dict(layers=6, units=512, hidden_units=2048, heads=8, vocabulary=32768, batch=256, time=64),
}
PEERS = "ours", "keras_hub", "torch_eager", "torch_compiled"
DTYPES = ("float32", "mixed_bfloat16")
DROPOUT = 0.1
ROUNDS = 5


def recipe_step(name, precision, changes):
    """(a function that makes a step and returns its loss, what the row says of it)."""
    import keras

    from zoo import recipes
    from zoo.runs import forecast

    keras.utils.set_random_seed(0)
    recipe = recipes.load(name, [*changes.split(), f"training.precision={precision}", "training.warmup=1"])
    steps, batches, _ = forecast.make_steps(recipe)
    batch = random_batch(batches, recipe.text.vocab_size)
    told = forecast.forecast(recipe, "h200")
    return lambda: steps.train(batch), {
        "recipe": name,
        "precision": precision,
        "changes": changes,
        "parameters": told["parameters"],
        "tokens": batch["labels"].size,
        "matrix_operations": told["shapes"][0]["matrix"],
        "planned_seconds": told["step_seconds"],
        "planned_bytes": sum(told["memory"].values()),
    }


def peer_step(function, size, dtype):
    """As of `recipe_step`, of an engine of `cases/transformer_engines.py`."""
    import importlib

    module = importlib.import_module("cases.transformer_engines")
    step = getattr(module, function)(threads=8, size=SIZES[size], dropout=DROPOUT, dtype=dtype)
    shape = SIZES[size]
    return step.begin, {"engine": function, "size": size, "dtype": dtype, "tokens": shape["batch"] * shape["time"]}


def most_bytes():
    """The most memory that the device held for this process, in bytes; None of a processor."""
    if "torch" in sys.modules and sys.modules["torch"].cuda.is_available() and "jax" not in sys.modules:
        return sys.modules["torch"].cuda.max_memory_allocated()
    from zoo.core import devices

    return (devices.memory() or (None, None))[1]


def child(kind, settings, seconds):
    """Compile, say so, wait for a line, measure, print the row."""
    began = time.perf_counter()
    step, row = {"recipes": recipe_step, "peers": peer_step}[kind](*settings)
    first = float(step())
    for _ in range(3):
        float(step())  # the second may be compiled again; then how long one takes is known
    row["ready_seconds"] = round(time.perf_counter() - began, 1)
    print(json.dumps("ready"), flush=True)
    sys.stdin.readline()
    started = time.perf_counter()
    float(step())
    times = max(1, min(200, round(seconds / (time.perf_counter() - started))))
    rounds, value = [], None
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for _ in range(times):
            value = step()
        last = float(value)
        rounds.append((time.perf_counter() - started) / times)
    row |= {
        "seconds": statistics.median(rounds),
        "rounds": [round(each, 6) for each in rounds],
        "device_bytes": most_bytes(),
        "losses": [round(first, 4), round(last, 4)],
    }
    print(json.dumps(row), flush=True)


class Child:
    """A row's process; a thread reads what it prints."""

    def __init__(self, number, kind, settings, seconds):
        self.settings, self.lines = settings, []
        self.said = HERE.parent / "build" / f"accelerator-{kind}-{number}.log"
        self.said.parent.mkdir(exist_ok=True)
        words = [sys.executable, __file__, kind, "--child", json.dumps(settings), "--seconds", str(seconds)]
        shared = {"KERAS_BACKEND": "jax", "XLA_PYTHON_CLIENT_PREALLOCATE": "false", "TF_CPP_MIN_LOG_LEVEL": "2"}
        with self.said.open("w") as log:
            self.process = subprocess.Popen(
                words, env=os.environ | shared, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        for line in self.process.stdout:
            try:
                self.lines.append(json.loads(line))
            except ValueError:
                continue

    def wait(self, count, until):
        """Whether it printed so many lines before that time."""
        while len(self.lines) < count and time.monotonic() < until and self.thread.is_alive():
            time.sleep(0.05)
        self.thread.join(0.2 if self.process.poll() is not None else 0)
        return len(self.lines) >= count

    def measure(self, limit):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        done = self.wait(2, time.monotonic() + limit)
        self.process.kill()
        return self.lines[1] if done else self.failure("was not measured")

    def failure(self, what):
        self.process.kill()
        last = self.said.read_text(errors="replace").splitlines()[-3:]
        return {"settings": self.settings, "failed": what, "said": " | ".join(last)[-600:]}


def measure(kind, rows, seconds, limit):
    """The rows, each measured in turn once all are compiled or `limit` seconds are over."""
    children = [Child(number, kind, each, seconds) for number, each in enumerate(rows)]
    until, found = time.monotonic() + limit, []
    ready = [each.wait(1, until) for each in children]
    for each, compiled in zip(children, ready, strict=True):
        if not compiled:
            found.append(each.failure(f"did not begin within {limit:g} s"))
            print(json.dumps(found[-1]), flush=True)
    for each, compiled in zip(children, ready, strict=True):
        if compiled:
            found.append(each.measure(60 + 20 * seconds))
            print(json.dumps(found[-1]), flush=True)
    return found


def device():
    """The name and the kind of the device that JAX computes on, asked in a process of its own that gives it back."""
    ask = "import jax; print(jax.local_devices()[0].device_kind, jax.default_backend(), sep='|')"
    done = subprocess.run([sys.executable, "-c", ask], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.splitlines()[-1].split("|")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("recipes", "peers"))
    parser.add_argument("names", nargs="*", metavar="NAME", help="of recipes or peers; default: all, and they are kept")
    parser.add_argument("--seconds", type=float, default=1.0, help="of a round (default: %(default)s)")
    parser.add_argument("--limit", type=float, default=300, help="seconds for compiling (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="default: benchmarks/results")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(args.kind, json.loads(args.child), args.seconds)
        return 0
    if args.kind == "recipes":
        rows = [each for each in RECIPES if not args.names or each[0] in args.names]
    else:
        peers = args.names or PEERS
        rows = [(peer, size, dtype) for size in SIZES for dtype in DTYPES for peer in peers]
    name, platform = device()
    found = measure(args.kind, rows, args.seconds, args.limit)
    if not args.names:
        folder = args.out / name.lower().replace(" ", "-")
        folder.mkdir(parents=True, exist_ok=True)
        about = {"device": name, "platform": platform, "cores": os.cpu_count(), "commit": processor.commit()}
        about["versions"] = processor.versions(("jax", "keras", "keras-hub", "torch", "numpy"))
        path = folder / f"{args.kind}.json"
        path.write_text(json.dumps({**about, "rows": found}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
