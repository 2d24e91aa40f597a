"""`seqzoo bench`: how fast an artefact answers on this machine, on ONNX Runtime alone."""

import json
import statistics
import sys
import time

from serving.artefact import read_manifest, resolve
from serving.runtime import Runtime
from serving.sessions import PRECISIONS


def add_arguments(parser):
    parser.add_argument("directory", metavar="DIR", help="an artefact, NAME/VERSION, or a folder that holds one")
    parser.add_argument("--file", help="texts to use, one per line (default: the artefact's examples)")
    parser.add_argument("--batch", type=int, action="append", metavar="N", help="repeatable; default: 1 and 32")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="default: 1")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="default: 5")
    parser.add_argument("--json", action="store_true", help="print the rows as one JSON list")


def main(args):
    directory = resolve(args.directory)
    texts = _texts(directory, args.file)
    runtimes = {name: runtime for name in PRECISIONS if (runtime := _open(directory, name, args.threads))}
    batches = args.batch or [1, 32]
    if min(batches) < 1 or args.rounds < 1:
        raise ValueError(f"--batch and --rounds must be at least 1; received {batches} and {args.rounds}.")
    rows = []
    for beam in runtimes["float32"].beams:
        for batch in batches:
            given = [texts[index % len(texts)] for index in range(batch)]
            rows += _rows(runtimes, given, beam, args.rounds)
            print(f"beam {beam}, batch {batch}", file=sys.stderr)
    if args.json:
        print(json.dumps(rows))
    else:
        print("beam  batch  precision  ms/batch  texts/s")
        for row in rows:
            print("{beam:>4}  {batch:>5}  {precision:<9}  {ms:>8.2f}  {texts_per_second:>7.1f}".format(**row))
    return 0


def _open(directory, precision, threads):
    held = read_manifest(directory)["files"]
    if precision == "int8" and "greedy.int8.onnx" not in held:
        return None
    return Runtime(directory, precision=precision, threads=threads)


def _texts(directory, path):
    if path is None:
        texts = read_manifest(directory).get("texts", [])
    else:
        with open(path, encoding="utf-8") as file:
            texts = file.read().split("\n")
    texts = [text for text in texts if text.strip()]
    if not texts:
        raise ValueError(f"{path or directory} holds no text to measure with. Give some with --file.")
    return texts


def _rows(runtimes, texts, beam, rounds):
    """A row per precision; in every round the precisions take turns."""
    taken = {name: [] for name in runtimes}
    for number in range(rounds + 1):
        for name, runtime in runtimes.items():
            start = time.perf_counter()
            runtime.run(texts, beam)
            if number:  # the first round warms up
                taken[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(times) for name, times in taken.items()}
    return [
        {
            "beam": beam,
            "batch": len(texts),
            "precision": name,
            "ms": round(1e3 * seconds, 3),
            "texts_per_second": round(len(texts) / seconds, 1),
        }
        for name, seconds in medians.items()
    ]
