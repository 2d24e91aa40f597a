"""`seqzoo run`: answers texts with an artefact, on ONNX Runtime alone; or with a model that a server has."""

import itertools
import os
import re
import sys
from pathlib import Path

from serving.corpus.forms import is_parquet
from serving.corpus.lines import OPENERS, Block, Page, check_kind, readable
from serving.corpus.rows import Rows
from serving.kinds import KINDS
from serving.kinds.tag import RULES
from serving.lazy import later
from serving.runtime import Runtime, Sampling
from serving.runtime.artefact import locate
from zoo.core.wording import quantity

from . import answers, figures, run_corpus, shared
from .screen import escape

serving_client = later("serving.client")

CHUNK = 256  # lines that are read before they are answered, unless they come from a terminal
CHUNK_BYTES = 1 << 20  # a chunk also ends with the first line beyond this size
DRAWN = ("temperature", "top_k", "top_p", "seed")
KEY = "SEQZOO_SERVER_KEY"  # a variable of the environment, because anybody on the machine may read a command line
# Options of what a server has decided already, or does not send.
LOCAL = ("precision", "overlong", "threads", "no_verify", "plot_attention", "shortlist")
_PAGES = re.compile(r"(?i)\.(md|markdown|html?)(\.gz|\.xz)?$")
_RECORDS = re.compile(r"(?i)\.(csv|json|jsonl|ndjson)(\.gz|\.xz)?$")
_TAKEN_OUT = "give a file of the texts alone, or write it as Parquet and name the column with --column"
_HINTS = {  # what the reasons of lines without an answer hold -> how they get one
    ", at most ": "with --overlong truncate, a part of a long text is read",
    "not UTF-8": "convert what is not UTF-8, for example with iconv",
}

EPILOG = """examples:
  seqzoo run dates "3. März 2021"
  seqzoo run build/demo/dates-gru-additive/1 "3. März 2021"
  seqzoo run MODEL --beam 1 < source.txt > output.txt
  seqzoo run MODEL "ein Haus" --n-best 4 --json
  seqzoo run MODEL "ein Haus" --no-repeat-ngram-size 3 --prefix "The" --bad-words house
  seqzoo run MODEL "ein Haus" --plot-attention map.png
  seqzoo run MODEL "ROMEO:" --sample --temperature 0.8 --top-k 20 --top-p 0.95 --seed 1 --length 300
  seqzoo run CLASSIFIER "Who wrote Hamlet ?"
  printf 'A dog runs .\\tAn animal moves .\\n' | seqzoo run PAIR_CLASSIFIER
  seqzoo run TAGGER "The cat sat ." --json
  seqzoo run --server http://127.0.0.1:8080 dates "3. März 2021"
  seqzoo run dates --file lines.txt.gz --out answers.txt --shard 2/4 --resume
  seqzoo run ENCODER --file lines.txt --out vectors.npy

A translator of known languages runs each sentence of a text by itself, for it has learnt from sentences; line breaks,
list marks, tags, tables, addresses and code between them stay. A --file of Markdown or HTML (.md, .html) is a page: one
text, in which code over several lines stays, too, sentences go on over line breaks, and one without an answer stays
as it is. --sentences page reads any other input so; --sentences off gives the translator each line as it is.

Without texts and without --file, lines are read from standard input.
Each input line gives one output line: the output of a translator, the continuation of a prompt by a language model, the
label of a classifier and its probability, the words of a tagger as word/tag, or a vector as a JSON list. With --n-best
N there are up to N lines for each input line, each with line number, score and text, separated by tabs. --json shows
everything, including probabilities, offsets and scores.

A blank line has a blank answer (a language model begins a new text). A line that is not UTF-8, or is longer than the
model reads, has an empty answer: standard error gives its number and the reason, all other lines are answered, and the
exit status is 1. Line breaks inside an answer are written as \\n, so that each answer is one line; they are kept if
there is only one text, given as an argument. Control characters are written as \\u001b is; --json has every text as it
is. A text that begins with a hyphen goes after --.

A corpus: with --out, the answers to --file are written block by block, and what is done survives the end of the
process: the same command with --resume goes on there, and ends with the bytes of an undisturbed run. --shard 2/4 is
the second of four processes, on one machine or on four; the parts, put one behind the other, are the answers in
order. An OUT that ends in .parquet has columns; one that ends in .npy is the matrix of the vectors, a row of zeros
where there is none."""


def add_arguments(parser):
    parser.epilog = EPILOG
    shared.add_model(parser, "directory")
    parser.add_argument("texts", metavar="TEXT", nargs="*", default=[], help="texts to answer")
    parser.add_argument(
        "--file", metavar="IN", help="read the texts from this file, a line each (.gz, .xz, .parquet, too)"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object per line")
    shared.add_precision(parser)
    shared.add_overlong(parser, "texts with more tokens than the model reads")
    parser.add_argument(
        "--min-confidence",
        type=float,
        metavar="P",
        help="give no answer of which the model is less sure than this, from 0 to 1: of a label its probability, of "
        "tags the least of theirs, of a text the geometric mean over its pieces",
    )
    parser.add_argument("--threads", type=int, metavar="N", help="threads (default: 1; every core for a large model)")
    shared.add_no_verify(parser)
    parser.add_argument(
        "--words",
        choices=RULES,
        help="of a tagger: what cuts a text into words (default: the artefact's rule); spaces if they are cut already",
    )
    shared.add_offline(parser)
    run_corpus.add_arguments(parser)
    server = parser.add_argument_group("a server")
    server.add_argument(
        "--server",
        metavar="URL",
        help="ask MODEL of a server: http://HOST:PORT or grpc://HOST:PORT of `seqzoo serve`, KServe or Triton; "
        "tfs+http://HOST:PORT or tfs+grpc://HOST:PORT of TensorFlow Serving; a key it wants is taken from the "
        f"environment, {KEY}",
    )
    server.add_argument(
        "--timeout", type=float, metavar="SECONDS", help="for each request, all of its tries together (default: 60)"
    )
    writing = parser.add_argument_group("models that write")
    writing.add_argument("--beam", type=int, metavar="K", help="beam width (default: the artefact's setting)")
    writing.add_argument("--n-best", type=int, metavar="N", help="show the N best outputs, or N samples")
    writing.add_argument(
        "--shortlist",
        action="store_true",
        help="search among the pieces that a table allows for those of the text: faster, and now and then another "
        "answer (an artefact of `seqzoo export --shortlist`)",
    )
    writing.add_argument(
        "--sentences",
        choices=("on", "off", "page"),
        help="of a translator: run each sentence of a text by itself, and keep line breaks and mark-up between them; "
        "page: of the whole input, in which sentences go on over line breaks (default: if its languages are known, "
        "page for .md and .html, else on; off with --n-best, --sample and --server, and but for pages with --out)",
    )
    writing.add_argument("--length", type=int, metavar="N", help="number of tokens to write (language models)")
    writing.add_argument("--plot-attention", metavar="PNG", help="draw the attention map of the one text into a file")
    shared.add_rules(parser)
    drawing = parser.add_argument_group("sampling")
    drawing.add_argument("--sample", action="store_true", help="draw tokens at random instead of searching")
    drawing.add_argument("--temperature", type=float, metavar="T", help="divides the logits (default: 1)")
    drawing.add_argument("--top-k", type=int, metavar="K", help="only the K most probable tokens (default: all)")
    drawing.add_argument(
        "--top-p", type=float, metavar="P", help="only the most probable tokens that make up P (default: 1)"
    )
    drawing.add_argument("--seed", type=int, metavar="N", help="seed of the random draws (default: 0)")


def main(args):
    """Answer the texts, print the answers, and return the exit status: 1 if a text is not answered, else 0."""
    if hasattr(sys.stdout, "reconfigure"):  # the output is UTF-8 like the input, whatever the locale
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    if args.texts and args.file:
        raise ValueError("received texts and --file: give one of them.")
    if args.plot_attention:
        if len(args.texts) != 1:
            raise ValueError(f"--plot-attention draws the map of exactly one text; received {len(args.texts)}.")
        figures.check(args.plot_attention)
    options = _read_options(args)
    if args.sentences == "page" and (args.server or args.shard):
        flag = "--server" if args.server else "--shard"
        raise ValueError(f"--sentences page is for a whole input that is answered here: leave out {flag}.")
    run_corpus.check(args)
    if args.timeout is not None and not args.server:
        raise ValueError("--timeout is about a server: give --server URL, too.")
    flags = [shared.flag(name) for name in LOCAL if getattr(args, name)]
    if args.server and flags:
        raise ValueError(f"{flags[0]} is not for a server, which has opened the model already. Leave it out.")
    runtime = _open_client(args) if args.server else _open_runtime(args)
    options |= _choose_sentences(args, runtime)
    if args.file and _RECORDS.search(args.file):
        print(f"seqzoo run: {args.file} is read as lines of text, not as records: {_TAKEN_OUT}", file=sys.stderr)
    if args.out:
        return run_corpus.run(runtime, args, options)
    attention = runtime.attention(args.texts[0], args.beam) if args.plot_attention else None
    done, refused = _answer_all(runtime, args, options)
    if not done:
        raise ValueError(
            f"no input: {args.file or 'standard input'} holds no line. Give a text, a file "
            "with --file, or lines on standard input."
        )
    if args.plot_attention:
        figures.draw_attention(attention, args.plot_attention)
        print(f"attention map in {args.plot_attention}", file=sys.stderr)
    return 1 if refused else 0


def _open_runtime(args):
    return Runtime(
        locate(args.directory),
        threads=args.threads,
        precision=args.precision,
        verify=not args.no_verify,
        overlong=args.overlong,
        shortlist=args.shortlist,
    )


def _open_client(args):
    """The `Client` of a model that a server has."""
    settings = {} if args.timeout is None else {"timeout": args.timeout}
    if key := os.environ.get(KEY, "").strip():
        settings["headers"] = {"Authorization": f"Bearer {key}"}
    client = serving_client.Client(args.server, args.directory, **settings)
    if args.out:  # the answers of one file are those of one version
        client.pin()
    return client


def _read_options(args):
    """The options of `Runtime.run` that were given."""
    sampling = {name: value for name in DRAWN if (value := getattr(args, name)) is not None}
    if sampling and not args.sample:
        flags = ", ".join(map(shared.flag, sampling))
        raise ValueError(f"{flags} is about sampling: give --sample, too, or leave it out.")
    names = ("beam", "n_best", "length", "min_confidence", "words")
    options = {name: value for name in names if (value := getattr(args, name)) is not None}
    return options | shared.given_rules(args) | ({"sampling": Sampling(**sampling)} if args.sample else {})


def _choose_sentences(args, runtime):
    """The option by which a translator runs each sentence of a text by itself; none where it does not."""
    asked = None if args.sentences in (None, "off") else "page" if args.sentences == "page" else True
    several, kind = args.n_best is not None or args.sample, KINDS[runtime.kind]
    if asked and several:
        raise ValueError(
            f"--sentences {args.sentences} joins one answer for each sentence: leave out --n-best and --sample."
        )
    if asked and not kind.has_source:
        raise ValueError(
            f"--sentences {args.sentences} is for models that write one text for another; {args.directory} is an "
            f"artefact of kind {runtime.kind!r}. Leave it out."
        )
    if asked or args.sentences or several or args.server:
        return {"sentences": asked} if asked else {}
    is_page = args.file is not None and not args.shard and _PAGES.search(args.file) is not None
    task, _, languages = runtime.manifest.get("task", "").partition(" ")
    translates = kind.has_source and task == "translate" and "-" in languages and (is_page or not args.out)
    return {"sentences": "page" if is_page else True} if translates else {}


def _answer_all(runtime, args, options):
    """Answer chunk by chunk, so that a long file needs little memory. Returns the numbers of texts and of refusals."""
    if sys.stdout is None:
        raise OSError("standard output is closed. Leave it open, or write the answers to a file with --file and --out.")
    is_page = options.get("sentences") == "page"
    unit, blocks = _read_blocks(args, is_page)
    show = answers.record if args.json else answers.line
    several = args.n_best or len(args.texts) == 1 or is_page  # whether an answer may have several lines
    kind, done, refused, hints, doubts = KINDS[runtime.kind], 0, 0, set(), itertools.count(1)

    def report(number, result):
        run_corpus.report_first(unit, number, result, 1 if result.error else next(doubts))

    ask = run_corpus.make_ask(runtime, options, report)
    for block in blocks:
        for number, (text, result) in enumerate(zip(block.texts, ask(block), strict=True), block.number + 1):
            line = show(kind, number, text, result, args.n_best)
            line = line.replace("\r\n", "\n") if is_page else line  # a carriage return would be shown as \r
            print(line if args.json else escape(line, answers.PAGE if several else "\t"))
            refused += result.error is not None
            hints |= {hint for mark, hint in _HINTS.items() if mark in (result.error or "") and not args.server}
        sys.stdout.flush()
        done += len(block.texts)
    if refused:
        count = f"{refused} of {quantity(done, 'text')} {'is' if refused == 1 else 'are'} not answered"
        print("; ".join([f"seqzoo run: {count}", *sorted(hints)]), file=sys.stderr)
    return done, refused


def _read_blocks(args, is_page):
    """`(unit, blocks)`: what a text is called in messages, and the texts in `Block`s."""
    if args.texts:
        return "text", [Block(0, args.texts, 0)]
    if args.file and is_parquet(args.file):
        rows = Rows(args.file, columns=args.column or ())
        return rows.unit, rows.blocks()
    if is_page:
        return Page.unit, Page(args.file).blocks() if args.file else _read_page()
    return "line", _read_lines(args.file)


def _read_page():
    """Standard input as one text."""
    lines = [line for block in _read_lines(None) for line in block.texts]
    return [Block(0, ["\n".join(lines)], 0)] if lines else []


def _read_lines(path):
    if not path:
        if sys.stdin is None:  # it is closed
            return
        yield from _read_chunks("standard input", sys.stdin.buffer, 1 if sys.stdin.isatty() else CHUNK)
        return
    with readable(path), OPENERS.get(Path(path).suffix.lower(), open)(path, "rb") as file:
        yield from _read_chunks(path, file, CHUNK)


def _read_chunks(name, file, size):
    """`Block`s of at most `size` lines. Only a newline ends a line. A byte that is not UTF-8 becomes a lone surrogate,
    for which only its own line is refused."""
    chunk, size_read, done, encoding = [], 0, 0, "utf-8-sig"
    for line in file:
        if not done and not chunk:
            check_kind(name, line)
        chunk.append(line.decode(encoding, "surrogateescape").rstrip("\r\n"))
        size_read, encoding = size_read + len(line), "utf-8"
        if len(chunk) == size or size_read > CHUNK_BYTES:
            yield Block(done, chunk, 0)
            chunk, size_read, done = [], 0, done + len(chunk)
    if chunk:
        yield Block(done, chunk, 0)
