"""What storing weights in 16 bits changes: bytes, time to the first answer, time of an answer, answers.

    seqzoo export RUN --out build/whole && seqzoo export RUN --out build/half --storage float16
    python benchmarks/storage.py build/whole/NAME/1 build/half/NAME/1 [--texts FILE] [--rounds 9]

Times are processor seconds with one thread, medians of rounds in which the two artefacts take turns; a start is a new
`Runtime` of this process and its first answer. `identical` is the share of texts with the same answers from both.
"""

import argparse
import time
from functools import partial
from pathlib import Path
from statistics import median

from harness.report import table
from timing import write

from serving.runtime import Runtime
from serving.runtime.sessions import PRECISIONS, graph_file

MOST = 500  # texts that are answered


def start(path, precision, mode, text):
    """A new `Runtime` and its first answer."""
    return Runtime(path, precision=precision, threads=1).run([text], **mode.options)


def milliseconds(calls, rounds, times):
    """The milliseconds of each call, a list over the rounds."""
    taken = [[] for _ in calls]
    for number in range(rounds + 1):
        for call, found in zip(calls, taken, strict=True):
            before = time.process_time()
            for _ in range(times):
                call()
            if number:  # the first round warms up
                found.append(1e3 * (time.process_time() - before) / times)
    return taken


def row(pair, precision, mode, texts, rounds):
    """A row of the table, on the artefacts of a pair: float32 and float16."""
    opened = [Runtime(path, precision=precision, threads=1) for path in pair]
    starts = milliseconds([partial(start, path, precision, mode, texts[0]) for path in pair], rounds, 1)
    answers = milliseconds([partial(runtime.run, texts[:1], **mode.options) for runtime in opened], rounds, 20)
    both = list(zip(*(runtime.run(texts, **mode.options) for runtime in opened), strict=True))
    sizes = [(Path(path) / graph_file(mode.graph, precision)).stat().st_size for path in pair]
    return {
        "artefact": opened[0].manifest["name"],
        "precision": precision,
        "mode": mode.name,
        "bytes": " / ".join(map(str, sizes)),
        "start_ms": " / ".join(f"{median(each):.1f}" for each in starts),
        "answer_ms": " / ".join(f"{median(each):.2f}" for each in answers),
        "ratio": round(median(b / a for a, b in zip(*answers, strict=True)), 3),
        "texts": len(texts),
        "identical": round(sum(one.answer == other.answer for one, other in both) / len(both), 4),
    }


def rows(pair, texts, rounds):
    whole = Runtime(pair[0], threads=1)
    texts = (texts or whole.manifest["texts"])[:MOST]
    return [row(pair, precision, mode, texts, rounds) for precision in PRECISIONS for mode in whole.modes]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("artefacts", nargs="+", help="pairs of the same run, first in float32 and then in float16")
    parser.add_argument("--texts", type=Path, nargs="+", default=[], help="for each pair a file of texts, one a line")
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    files = [path.read_text(encoding="utf-8").splitlines() for path in args.texts]
    pairs = zip(args.artefacts[::2], args.artefacts[1::2], files or [[]] * (len(args.artefacts) // 2), strict=True)
    found = [each for *pair, texts in pairs for each in rows(pair, texts, args.rounds)]
    print(table(found))
    write("storage", found, rounds=args.rounds)
