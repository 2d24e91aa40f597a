"""Memory of a `Runtime` that threads ask at once, with texts of every length: it must reach its level and stay there.

    python benchmarks/runtime_memory.py                     # ten minutes; writes benchmarks/results/
    python benchmarks/runtime_memory.py --seconds 120       # two minutes; writes nothing
    python benchmarks/runtime_memory.py --artefact DIR      # of an artefact that is there already

Eight threads share one `Runtime` of an untrained Transformer (128 units, 4 heads, 2 + 2 blocks). Each asks again and
again, one to four texts at a time, of 1 to 2,000 tokens, half of them short. The resident memory of the process is
looked at twice a second. The level is the highest of the first minute (or tenth of the time, if that is longer); the
highest of all that follows must stay within 1.2 times of it. Expected: about 1.0.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import timing

from serving.runtime import Runtime

THREADS, LONGEST, BOUND = 8, 2000, 1.2
PAGE = os.sysconf("SC_PAGE_SIZE")


def make_artefact(home):
    """An untrained Transformer, exported with a bound of 2,048 tokens."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import keras

    from serving.export import Settings, export
    from zoo.depth import make_stack
    from zoo.models import Transformer
    from zoo.text import Tokenizer

    keras.utils.set_random_seed(0)
    tokenizer = Tokenizer.train(["abcdefghijklmnopqrstuvwxyz"], 64, model_type="char")
    size = {"num_layers": 2, "units": 128, "num_heads": 4, "hidden_units": 256}
    vocabularies = tokenizer.vocab_size, tokenizer.vocab_size
    model = Transformer(*vocabularies, make_stack(**size), make_stack(**size, cross=True))
    model.build()
    settings = Settings("memory", "benchmark", beams=(1,), max_length=8, max_input=2048, int8=False)
    return export(model, (tokenizer, tokenizer), home, settings)


def resident():
    """Megabytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE / 1e6


def ask(runtime, seed, until, counts):
    """Ask until the clock says so."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    while time.monotonic() < until:
        longest = LONGEST - 2 if rng.random() < 0.5 else 60
        texts = ["".join(rng.choice(letters, rng.integers(1, longest))) for _ in range(rng.integers(1, 5))]
        results = runtime.run(texts)
        if any(result.error for result in results):
            raise AssertionError(f"a text was refused: {[result.error for result in results]}")
        counts[seed] += len(texts)


def measure(runtime, seconds, threads=THREADS):
    """`[(second, megabytes)]` while the threads ask, and how many texts were answered."""
    started, counts, seen = time.monotonic(), [0] * threads, []
    until = started + seconds
    workers = [threading.Thread(target=ask, args=(runtime, seed, until, counts)) for seed in range(threads)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        seen.append((time.monotonic() - started, resident()))
        time.sleep(0.5)
    return seen, sum(counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--artefact", metavar="DIR")
    parser.add_argument("--threads", type=int, default=1, help="of an operator")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        if args.artefact is None:
            make = (
                f"import sys; sys.path[:0] = {sys.path!r}; import runtime_memory as r; print(r.make_artefact({home!r}))"
            )
            done = subprocess.run([sys.executable, "-c", make], check=True, stdout=subprocess.PIPE, text=True)
            args.artefact = done.stdout.split()[-1]
        runtime = Runtime(args.artefact, threads=args.threads)
    seen, answered = measure(runtime, args.seconds)
    first = max(60.0, args.seconds / 10)
    level = max(megabytes for second, megabytes in seen if second <= first)
    later = max((megabytes for second, megabytes in seen if second > first), default=level)
    rows = []
    for minute in range(int(args.seconds // 60) + 1):
        held = [megabytes for second, megabytes in seen if minute <= second / 60 < minute + 1]
        if held:
            rows.append({"minute": minute + 1, "least_mb": round(min(held), 1), "most_mb": round(max(held), 1)})
            print("minute {minute:>2}: {least_mb:7.1f} to {most_mb:7.1f} MB".format(**rows[-1]))
    if args.seconds >= 600:
        timing.write("runtime_memory", rows, texts=answered, ratio=round(later / level, 3))
    print(f"{answered} texts answered; highest {level:.0f} MB, then {later:.0f} MB: {later / level:.3f} times")
    return 0 if later <= BOUND * level else 1


if __name__ == "__main__":
    sys.exit(main())
