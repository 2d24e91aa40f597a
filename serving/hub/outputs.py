"""The answers of a published model to its test set: `outputs.jsonl.gz`, beside its files.

A line is {"input", "reference", "output"}; a reference may be a list of right answers. The order is that of the
test set. The same answers give the same bytes. The file may be a stranger's, and a few bytes of gzip become many: rows
and bytes are counted before a line is parsed, so that reading takes seconds and megabytes at most.
"""

import gzip
import io
import json
import zlib

from serving.runtime.errors import DamagedError

FILE = "outputs.jsonl.gz"
MOST_BYTES, MOST_ROWS = 2**25, 200_000  # of all lines; of the published models the largest has 6 MB and 19,000 rows
MOST_OF_ROW = 2**16  # bytes of one line
MOST_PARTS = 100  # texts of an input, or numbers of an output
KEYS = ("input", "reference", "output")


def pack(inputs, references, outputs):
    """The bytes of the file.

    Raises:
        ValueError: they would be more than `unpack` takes.
    """
    rows = zip(inputs, references, outputs, strict=True)
    lines = [json.dumps(dict(zip(KEYS, row, strict=True)), ensure_ascii=False).encode() + b"\n" for row in rows]
    _check_bounds(len(lines), max(map(len, lines), default=0), sum(map(len, lines)))
    buffer = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=buffer, compresslevel=9, mtime=0) as file:
        file.writelines(lines)
    return buffer.getvalue()


def _check_bounds(rows, longest, size):
    if rows > MOST_ROWS or longest > MOST_OF_ROW or size > MOST_BYTES:
        raise ValueError(
            f"the answers to a test set are at most {MOST_ROWS:,} rows of {MOST_OF_ROW:,} bytes and {MOST_BYTES:,} "
            f"bytes together, as JSON; received {rows:,} rows of up to {longest:,} bytes, {size:,} together"
        )


def unpack(content, where=FILE):
    """(inputs, references, outputs) of the bytes; a pair of texts is a tuple.

    Raises:
        DamagedError: they are no such file, or there are more of them than `MOST_ROWS`, `MOST_BYTES` and so on.
    """
    try:
        decompressor = zlib.decompressobj(wbits=31)
        text = decompressor.decompress(content, MOST_BYTES)
        if decompressor.unconsumed_tail or not decompressor.eof:
            raise ValueError(f"expected one gzip stream of at most {MOST_BYTES:,} bytes")
        rows = _parse_rows(text)
    except (ValueError, KeyError, TypeError, RecursionError, zlib.error) as error:
        raise DamagedError(f"{where} is damaged: {error}. Fetch it again.") from error
    if not rows:
        raise DamagedError(f"{where} is damaged: it has no line. Fetch it again.")
    inputs, references, outputs = (list(column) for column in zip(*rows, strict=True))
    return [tuple(each) if isinstance(each, list) else each for each in inputs], references, outputs


def _parse_rows(text):
    if text.count(b"\n") > MOST_ROWS:  # before they become as many strings
        raise ValueError(f"expected at most {MOST_ROWS:,} rows")
    lines = text.split(b"\n")  # not `splitlines`: a text may hold other characters that break lines
    if lines.pop():
        raise ValueError("its last line has no end")
    _check_bounds(len(lines), max(map(len, lines), default=0), len(text))
    return [_parse_row(json.loads(line)) for line in lines]


def _parse_row(line):
    one, reference, output = (line[key] for key in KEYS)
    if not _is_text(one) or not _is_text(reference) or not _is_answer(output):
        raise ValueError(f"a line is not of the form {', '.join(KEYS)}: {line!r:.80}")
    return one, reference, output


def _is_text(value):
    if isinstance(value, list):
        return len(value) <= MOST_PARTS and all(isinstance(each, str) for each in value)
    return isinstance(value, str)


def _is_answer(value):
    if isinstance(value, dict):
        return len(value) <= MOST_PARTS and all(type(each) in (int, float) for each in value.values())
    return isinstance(value, str)
