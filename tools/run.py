"""`seqzoo run`: texts in, texts out, on ONNX Runtime alone."""

import argparse
import json
import sys
from itertools import islice

from serving.artefact import resolve
from serving.runtime import Runtime
from serving.sessions import PRECISIONS

CHUNK = 256  # lines read before the first answer, when they do not come from a keyboard

EPILOG = """examples:
  seqzoo run build/demo/dates-gru-additive/1 "3. März 2021"
  seqzoo run MODEL --beam 1 < source.txt > output.txt
  seqzoo run MODEL "ein Haus" --n-best 4 --json
  seqzoo run MODEL "ein Haus" --plot-attention map.png

Without texts and without --file, lines are read from standard input.
One line comes out per line that goes in; with --n-best N there are up to N, each as
line number, score and text, separated by tabs."""


def add_arguments(parser):
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = EPILOG
    parser.add_argument("directory", metavar="DIR", help="an artefact, NAME/VERSION, or a folder that holds one")
    parser.add_argument("texts", metavar="TEXT", nargs="*", help="texts to run")
    parser.add_argument("--file", help="read the texts from this file, one per line")
    parser.add_argument("--beam", type=int, help="beam width (default: the artefact's own)")
    parser.add_argument("--n-best", type=int, metavar="N", help="show the N best outputs")
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    parser.add_argument("--precision", choices=PRECISIONS, default="float32")
    parser.add_argument("--threads", type=int, metavar="N", help="threads (default: every core)")
    parser.add_argument("--plot-attention", metavar="PNG", help="draw the attention map of the one text into a file")


def main(args):
    """Run, print, and return the exit status: 0, or 2 for wrong use."""
    try:
        if args.texts and args.file:
            raise ValueError("received texts and --file: give one of them.")
        if args.plot_attention and len(args.texts) != 1:
            raise ValueError(f"--plot-attention draws the map of exactly one text; received {len(args.texts)}.")
        runtime = Runtime(resolve(args.directory), threads=args.threads, precision=args.precision)
        if _answer_all(runtime, args) == 0:
            raise ValueError(
                f"no input: {args.file or 'standard input'} holds no line. Give a text, a file "
                "with --file, or lines on standard input."
            )
        if args.plot_attention:
            _plot(runtime, args)
    except (ValueError, TypeError) as error:
        print(f"seqzoo run: {error}", file=sys.stderr)
        return 2
    return 0


def _answer_all(runtime, args):
    """Answer chunk by chunk, so that a long file needs little memory; the number of lines."""
    if args.texts:
        chunks = iter([args.texts])
    elif args.file:
        chunks = _read_file(args.file)
    else:
        chunks = _chunks(sys.stdin.buffer, "standard input", 1 if sys.stdin.isatty() else CHUNK)
    done = 0
    for chunk in chunks:
        results = runtime.run(chunk, args.beam, 1 if args.n_best is None else args.n_best)
        for number, (text, result) in enumerate(zip(chunk, results, strict=True), done + 1):
            for line in _lines(number, text, result, args):
                print(line)
        sys.stdout.flush()
        done += len(chunk)
    return done


def _lines(number, text, result, args):
    if args.json:
        best = [{"text": each.text, "score": each.score} for each in result.hypotheses]
        record = {"input": text, "output": result.text, "score": result.score}
        yield json.dumps(record | ({"n_best": best} if args.n_best else {}), ensure_ascii=False)
    elif args.n_best:
        for each in result.hypotheses:
            yield f"{number}\t{each.score:.4f}\t{each.text}"
    else:
        yield result.text


def _read_file(path):
    try:
        file = open(path, "rb")
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}.") from error
    with file:
        yield from _chunks(file, path, CHUNK)


def _chunks(file, name, size):
    """Lists of at most `size` lines; lines end at a newline and nowhere else."""
    done = 0
    while lines := list(islice(file, size)):
        yield [_decode(line, name, number) for number, line in enumerate(lines, done + 1)]
        done += len(lines)


def _decode(line, name, number):
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"line {number} of {name} is not UTF-8 ({error.reason} at byte {error.start}). "
            "Convert the text to UTF-8 first."
        ) from error
    return text.rstrip("\r\n")


def _plot(runtime, args):
    from tools.attention_map import draw

    draw(runtime.attention(args.texts[0], args.beam), args.plot_attention)
    print(f"attention map in {args.plot_attention}", file=sys.stderr)
