"""Draws the figures of the questions from what was measured: `python docs/questions/draw.py`.

`--measure NAME...` measures these again first. A script is docs/questions/NAME.py; what it measured is kept in
docs/questions/results/NAME.json. Its figure is docs/questions/figures/NAME.png, which holds the SHA-256 of the results.
"""

import argparse
import hashlib
import importlib
import json
import os
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1])]

from zoo.core.storage import write_atomically, write_text  # noqa: E402
from zoo.reproduce import findings  # noqa: E402
from zoo.reproduce.report import processor  # noqa: E402

NAMES = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in ("draw", "shared"))


def result(name):
    return HERE / "results" / f"{name}.json"


def digest(name):
    return hashlib.sha256(result(name).read_bytes()).hexdigest()


def measure(name):
    os.environ.setdefault("KERAS_BACKEND", "jax")  # a script imports Keras when it measures
    started = time.process_time()
    found = importlib.import_module(name).measure()
    found = {"processor": processor(), "cpu_seconds": round(time.process_time() - started, 1)} | found
    write_text(result(name), json.dumps(found, indent=1) + "\n")


def png(name):
    """The bytes of a figure, the same for the same results, fonts and version of matplotlib."""
    module = importlib.import_module(name)
    return findings.png(lambda: module.draw(json.loads(result(name).read_text("utf-8"))), digest(name))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0] + ".")
    parser.add_argument("--measure", nargs="+", choices=NAMES, default=[], metavar="NAME", help=", ".join(NAMES))
    given = parser.parse_args(arguments)
    for name in given.measure:
        print(f"measures {name}", file=sys.stderr, flush=True)
        measure(name)
    for name in NAMES:
        if not result(name).exists():
            print(f"{name} was not measured yet: python docs/questions/draw.py --measure {name}", file=sys.stderr)
            return 1
        content = png(name)
        write_atomically(HERE / "figures" / f"{name}.png", lambda file, content=content: file.write(content))
    print(HERE / "figures")
    return 0


if __name__ == "__main__":
    sys.exit(main())
