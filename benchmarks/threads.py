"""Translation with 1, 2 and 4 threads of an operator, waiting threads asleep or spinning, and two requests at once.

    python benchmarks/threads.py                                    # writes benchmarks/results/PROCESSOR/threads.json
    python benchmarks/threads.py --sentences 64 --rounds 1 --dry    # seconds, to see whether it works; writes nothing
    python benchmarks/threads.py --artefact hub/translate-de-en/5   # another model of the hub, with its test sentences

1,000 sentences through `serving.Runtime`, in batches of 32 and alone, in wall-clock and processor seconds. It needs a
machine with nothing else to do, and tells the load at its start. Each way has a process of its own, and they take
turns. Two requests at once share one `Runtime`, as in `seqzoo serve`, and each takes the next batch. `threads: null` is
the default of `Runtime`. Threads that spin look for work in a loop before they fall asleep, which ONNX Runtime does by
itself and we switch off (`serving.runtime.sessions`).
"""

import argparse
import gzip
import json
import os
import statistics
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT)]

from harness import processor, report  # noqa: E402
from harness.engine import Engine, running  # noqa: E402
from run import log, unequal  # noqa: E402

ARTEFACT = ROOT / "hub" / "translate-en-zh" / "4"
# requests at once, threads of each, spinning; the others are compared with the first
WAYS = (
    (1, 1, False),
    (1, 2, False),
    (1, 2, True),
    (1, 4, False),
    (1, 4, True),
    (1, None, False),
    (2, 1, False),
    (2, 2, False),
    (2, 2, True),
)
BATCHES = (32, 1)


def make(threads, artefact, count, batch, way):
    """The engine of a way; `threads` is only the number of cores that it may use."""
    from concurrent.futures import ThreadPoolExecutor

    from serving import Runtime
    from serving.runtime import sessions

    requests, own, spinning = way
    if spinning:
        asleep = sessions.session_options

        def options(threads):
            made = asleep(threads)
            made.add_session_config_entry("session.intra_op.allow_spinning", "1")
            return made

        sessions.session_options = options
    with gzip.open(Path(artefact) / "outputs.jsonl.gz", "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["input"] for line in lines]
    runtime = Runtime(artefact, threads=own)
    chosen = texts[:: max(1, len(texts) // count)][:count]
    order = [chosen[place] for place in sorted(range(len(chosen)), key=runtime.lengths(chosen).__getitem__)][::-1]
    groups = [order[first : first + batch] for first in range(0, len(order), batch)]
    pool = ThreadPoolExecutor(requests)
    return lambda: [result.answer for results in pool.map(runtime.run, groups) for result in results]


def measure(batch, options, cores):
    """The rows of one size of batches, one for each way."""
    settings = {"artefact": str(options.artefact), "count": options.sentences, "batch": batch}
    engines = [Engine(str(way), "threads", "make", settings | {"way": way}) for way in WAYS]
    with running(engines, cores, log) as ready:
        answers = [each.step()[0] for each in ready]
        steps = [[each.step()[1:] for each in ready] for _ in range(options.rounds)]
    rows = []
    for place, (requests, threads, spinning) in enumerate(WAYS):
        speedup, spread = report.ratio([each[0][1] for each in steps], [each[place][1] for each in steps])
        seconds, busy = (statistics.median(each[place][which] for each in steps) for which in (1, 0))
        rows.append(
            {
                "batch": batch,
                "requests": requests,
                "threads": threads,
                "spinning": spinning,
                "seconds": round(seconds, 3),
                "core_seconds": round(busy * cores, 3),  # an engine tells them by core
                "speedup": speedup,
                "spread": spread,
                "unequal": unequal([answers[0]], [answers[place]]),
            }
        )
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--artefact", type=Path, default=ARTEFACT, metavar="DIR")
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--dry", action="store_true", help="write nothing")
    options = parser.parse_args()
    here, load = processor.processor(), round(os.getloadavg()[0], 2)
    cells = [row for batch in BATCHES for row in measure(batch, options, here["cores"])]
    result = {"benchmark": "threads", "processor": here, "load": load, "rounds": options.rounds}
    result |= {"artefact": "/".join(options.artefact.parts[-2:]), "sentences": options.sentences}
    result |= {"date": datetime.now(UTC).date().isoformat(), "commit": processor.commit()}
    result |= {"versions": processor.versions(("onnxruntime", "numpy")), "cells": cells}
    print(report.table(cells))
    if not options.dry:
        log(f"written: {report.write(processor.slug(here), 'threads', result)}")


if __name__ == "__main__":
    sys.exit(main())
