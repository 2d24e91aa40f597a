"""What it costs to compare the files of an artefact with their hashes when it is opened.

    python benchmarks/artefact_hashes.py ARTEFACT... [--rounds 9]

Time to the first answer (open, then one text) with and without the comparison, in turns, in fresh `Runtime`s of one
process, and the time that SHA-256 alone takes for the bytes of the files that were read.
"""

import argparse
import hashlib
import statistics
import time

from harness.report import table
from timing import write

from serving.runtime import Runtime
from serving.runtime.artefact import Artefact


def first_answer(directory, text, verify):
    start = time.perf_counter()
    Runtime(directory, threads=1, verify=verify).run([text])
    return time.perf_counter() - start


def row(directory, rounds):
    artefact = Artefact(directory)
    text, taken = (artefact.manifest["texts"] or ["a"])[0], {True: [], False: []}
    for number in range(rounds + 1):
        for verify, times in taken.items():
            seconds = first_answer(directory, text, verify)
            if number:  # the first round fills the cache of the disk
                times.append(seconds)
    runtime = Runtime(directory)
    names = {*artefact.manifest["tokenizer"].values(), runtime.modes[-1].graph}
    contents = [artefact.read(name) for name in names]
    start = time.perf_counter()
    for content in contents:
        hashlib.sha256(content).hexdigest()
    hashing = time.perf_counter() - start
    checked, unchecked = (statistics.median(taken[verify]) for verify in (True, False))
    return {
        "artefact": artefact.manifest["name"],
        "megabytes": round(sum(map(len, contents)) / 1e6, 1),
        "sha256_ms": round(1e3 * hashing, 1),
        "checked_ms": round(1e3 * checked, 1),
        "unchecked_ms": round(1e3 * unchecked, 1),
        "ratio": round(statistics.median(a / b for a, b in zip(taken[True], taken[False], strict=True)), 3),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("artefacts", nargs="+")
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    rows = [row(directory, args.rounds) for directory in args.artefacts]
    print(table(rows))
    write("artefact_hashes", rows, rounds=args.rounds)
