"""`seqzoo run --file IN --out OUT`: a corpus instead of a request, resumable, in as many processes as one likes."""

import dataclasses
import itertools
import shlex
import sys
from pathlib import Path

from serving.corpus.forms import NumpyForm, ParquetForm, TextForm, columns_of, is_numpy, is_parquet
from serving.corpus.lines import WHOLE, Lines, Page, Shard, parse_shard, readable
from serving.corpus.process import check as check_target, process
from serving.corpus.rows import Rows
from serving.kinds import KINDS
from zoo.core.wording import quantity

from . import answers
from .answers import Progress
from .screen import escape

MOST_REPORTED = 20  # texts that are reported, each with its reason
NOT_WRITTEN = (".csv", ".xlsx", ".xls", ".ods", ".docx", ".pdf", ".zip", ".bz2", ".zst")
OBJECTS = (".json", ".jsonl", ".ndjson")
REFUSED = "\udcff"  # a text that nothing answers, in the place of one that cannot be asked


def add_arguments(parser):
    group = parser.add_argument_group("a corpus")
    group.add_argument("--out", metavar="OUT", help="write the answers to --file into this file, block by block")
    group.add_argument(
        "--shard", metavar="I/N", help="answer part I of N alone; with --out a.txt its answers are a-0000I-of-0000N.txt"
    )
    group.add_argument(
        "--resume", action="store_true", help="go on where an interrupted run ended; if it is finished, do nothing"
    )
    group.add_argument(
        "--column",
        action="append",
        metavar="NAME",
        help="of a Parquet file, the column that holds the text (default: text); of two, the pair to compare",
    )


def check(args):
    """Refuse wrong use at once, before a model is opened.

    Raises:
        ValueError: the options do not go together, or `check_target` refuses the file of the answers.
    """
    flags = [f"--{name}" for name in ("shard", "resume") if getattr(args, name)]
    if flags and not args.out:
        raise ValueError(f"{flags[0]} is about a file of answers: give --out OUT, too.")
    if args.column and not (args.file and is_parquet(args.file)):
        raise ValueError("--column names a column of a Parquet file: give one with --file IN.parquet.")
    if not args.out:
        return
    if not args.file:
        raise ValueError("--out needs a file of texts: give one with --file IN.")
    suffix = Path(args.out).suffix.lower()
    if suffix in NOT_WRITTEN:
        raise ValueError(
            f"{args.out} would be a {suffix} file of plain lines. Name a file of lines, such as "
            f"{Path(args.out).stem}.txt, .parquet for a table, or .npy for vectors; .gz and .xz are compressed."
        )
    if suffix in OBJECTS and not args.json:
        raise ValueError(f"{args.out} would be a {suffix} file of plain lines. Give --json, too, or name a .txt file.")
    if args.plot_attention:
        raise ValueError("--plot-attention draws the map of one text: leave out --out.")
    if args.json and (is_parquet(args.out) or is_numpy(args.out)):
        raise ValueError(
            "--json writes lines, and a Parquet or NumPy file has none: leave out --json, or name another file."
        )
    if (given := Path(args.file)).exists() and not (given.is_file() or given.is_dir()):
        raise ValueError(
            f"{args.file} is a pipe or a device, and with --out the texts are read more than once: write them into a "
            "file first, or leave out --out."
        )
    with readable(args.file), open(args.file, "rb"):
        out = target(args)
    check_target(out, args.resume)


def shard_of(args):
    return parse_shard(args.shard) if args.shard else WHOLE


def target(args):
    """The file that the answers of this process get into."""
    return shard_of(args).name(args.out)


def open_source(args, is_page):
    """The `Lines` or `Rows` of the shard, or the `Page`.

    Raises:
        ValueError: the file cannot be read.
    """
    if is_parquet(args.file):
        return Rows(args.file, shard_of(args), args.column or ())
    return Page(args.file) if is_page else Lines(args.file, shard_of(args))


def run(runtime, args, options):
    """Answer the texts of `--file` into `--out`, and return the exit status: 1 if a text is not answered, else 0."""
    runtime.run([], **options)  # refuses wrong options before anything is written
    is_page = options.get("sentences") == "page"
    out, shard, source = target(args), shard_of(args), open_source(args, is_page)
    if shard.count == 1 and source.begin == source.end:
        raise ValueError(f"no input: {args.file} holds no {source.unit}.")
    form = _form(args, runtime, source)
    progress, numbers = Progress(source.unit), itertools.count(1)
    ask = make_ask(runtime, options, lambda number, result: report_first(source.unit, number, result, next(numbers)))
    identity = {"model": runtime.identity, "options": _options(args, options)}
    try:
        done = process(
            source,
            out,
            form,
            ask,
            identity=identity,
            resume=args.resume,
            report=lambda done, share: progress(done.texts, share),
        )
    except (KeyboardInterrupt, OSError) as stop:
        progress.close()
        why = "interrupted" if isinstance(stop, KeyboardInterrupt) else f"{out}: {stop.strerror or stop}"
        message = f"{why}; what is answered is kept, and the same command with --resume goes on"
        raise type(stop)(message) from stop
    finally:
        progress.close()
    _summary(out, shard, args, done, progress)
    return 1 if done.refused else 0


def _form(args, runtime, source):
    kind = KINDS[runtime.kind]
    if is_parquet(args.out):
        schema = source.schema if isinstance(source, Rows) else None
        return ParquetForm(schema, columns_of(kind, args.n_best))
    if is_numpy(args.out):
        if not kind.is_vector:
            raise ValueError(
                f"{args.out} would hold vectors, and this model is of the kind {runtime.kind!r}. Name a file of lines, "
                "such as answers.txt, or one of Parquet."
            )
        return NumpyForm(len(runtime.run(["a"])[0].answer))
    show = answers.record if args.json else answers.line

    def show_answer(number, text, result):
        line = show(kind, number, text, result, args.n_best)
        keep = answers.PAGE if isinstance(source, Page) else "\t"
        return line if args.json or args.n_best else escape(line, keep)

    return TextForm(args.out, show_answer, "json" if args.json else "plain")


def _options(args, options):
    identity = {name: value for name, value in options.items() if name != "sampling"}
    if "sampling" in options:
        identity["sampling"] = dataclasses.asdict(options["sampling"])
    identity |= {"precision": args.precision, "overlong": args.overlong}
    return identity | ({"shortlist": True} if args.shortlist else {})


def make_ask(runtime, options, report):
    """A function from a `Block` to its results; `report(number, result)` is called of those with remarks."""

    def ask(block):
        texts = [REFUSED if place in block.errors else text for place, text in enumerate(block.texts)]
        run_options = dict(options)
        if "sampling" in run_options:
            run_options["sampling"] = dataclasses.replace(run_options["sampling"], first=block.number)
        results = runtime.run(texts, **run_options)
        for place, error in block.errors.items():
            results[place] = dataclasses.replace(results[place], error=error)
        for place, result in enumerate(results, 1):
            if result.error or result.warning:
                report(block.number + place, result)
        return results

    return ask


def report_first(unit, number, result, count):
    """Say on standard error why a text is not answered, or what its warning is, if it is one of the first."""
    if count <= MOST_REPORTED:
        message = f" is not answered: {result.error}" if result.error else f": {result.warning}"
        print(f"seqzoo run: {unit} {number}{message}", file=sys.stderr)
    elif count == MOST_REPORTED + 1:
        print("seqzoo run: further ones are not told; --json and Parquet have every reason", file=sys.stderr)


def _summary(out, shard, args, done, progress):
    refused = f", {done.refused:,} of them not answered" if done.refused else ""
    print(f"{out}: {quantity(done.texts, progress.unit)}{refused}; {progress.summary(done.texts)}", file=sys.stderr)
    if shard.count == 1:
        return
    missing = shard.missing(args.out)
    if missing:
        these = ", ".join(map(str, missing[:10])) + (", ..." if len(missing) > 10 else "")
        print(f"{len(missing)} of {shard.count} parts are missing: {these}", file=sys.stderr)
        return
    first = Shard(1, shard.count).name(args.out)
    print(f"all {shard.count} parts are there; {describe_joining(args.out, first)}", file=sys.stderr)


def describe_joining(out, first):
    """How the parts become one file."""
    parts = str(first).replace("-00001-of-", "-*-of-")
    if is_parquet(out):
        return f"readers of Parquet take them as one: {parts}"
    if is_numpy(out):
        return f"numpy.concatenate puts them together: {parts}"
    quoted = "*".join(map(shlex.quote, parts.split("*")))
    return f"to put them together: cat {quoted} > {shlex.quote(str(Path(out)))}"
