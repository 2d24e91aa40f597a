"""`seqzoo bench`: measures the speed of an artefact on this machine, with ONNX Runtime alone."""

import json
import sys
from pathlib import Path

from serving.export.measuring import ROUNDS, medians
from serving.runtime import Runtime
from serving.runtime.artefact import locate
from serving.runtime.sessions import PRECISIONS, graph_file

from . import shared
from .shared import positive


def add_arguments(parser):
    shared.add_model(parser, "model")
    parser.add_argument("--file", help="texts to use, one per line (default: the artefact's examples)")
    parser.add_argument("--batch", type=positive, action="append", metavar="N", help="repeatable; default: 1 and 32")
    parser.add_argument("--threads", type=positive, default=1, metavar="N", help="default: 1")
    parser.add_argument("--rounds", type=positive, default=ROUNDS, metavar="N", help=f"default: {ROUNDS}")
    parser.add_argument("--json", action="store_true", help="print the rows as one JSON list")
    shared.add_offline(parser)


def main(args):
    given, model = _read(args.file) if args.file else None, locate(args.model)
    runtimes = {name: Runtime(model, precision=name, threads=args.threads) for name in PRECISIONS}
    manifest = runtimes["float32"].manifest
    texts = _texts(given if args.file else manifest["texts"], args.file or model)
    batches, files = args.batch or [1, 32], manifest["files"]
    rows = []
    for mode in runtimes["float32"].modes:
        present = {name: runtime for name, runtime in runtimes.items() if graph_file(mode.graph, name) in files}
        for batch in batches:
            given = [texts[index % len(texts)] for index in range(batch)]
            rows += _rows(medians(present, given, mode, args.rounds), mode.name, batch)
            print(f"{mode.name}, batch {batch}", file=sys.stderr)
    if args.json:
        print(json.dumps(rows))
    else:
        print("mode      batch  precision  ms/batch  texts/s")
        for row in rows:
            print("{mode:<8}  {batch:>5}  {precision:<9}  {ms:>8.2f}  {texts_per_second:>7.1f}".format(**row))
    return 0


def _read(path):
    try:
        return Path(path).read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}.") from error


def _texts(texts, where):
    texts = [text for text in texts if text.strip()]
    if not texts:
        raise ValueError(f"{where} holds no text to measure with. Give some with --file.")
    return texts


def _rows(medians, mode, batch):
    """One row for each precision."""
    return [
        {
            "mode": mode,
            "batch": batch,
            "precision": name,
            "ms": round(1e3 * seconds, 3),
            "texts_per_second": round(batch / seconds, 1),
        }
        for name, seconds in medians.items()
    ]
