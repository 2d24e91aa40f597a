"""The answers of a published model to its test set: `outputs.jsonl.gz`, beside its files.

A line is {"input", "reference", "output"}; a reference may be a list of right answers. The order is that of the
test set. The same answers give the same bytes.
"""

import gzip
import io
import json
import zlib

from serving.runtime.errors import DamagedError

FILE = "outputs.jsonl.gz"
MOST_BYTES = 2**28  # of the lines
KEYS = ("input", "reference", "output")


def pack(inputs, references, outputs):
    """The bytes of the file."""
    held = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=held, compresslevel=9, mtime=0) as file:
        for row in zip(inputs, references, outputs, strict=True):
            file.write((json.dumps(dict(zip(KEYS, row, strict=True)), ensure_ascii=False) + "\n").encode())
    return held.getvalue()


def unpack(content, where=FILE):
    """(inputs, references, outputs) of the bytes; a pair of texts is a tuple.

    Raises:
        DamagedError: they are no such file, or would be larger than `MOST_BYTES`.
    """
    try:
        opened = zlib.decompressobj(wbits=31)
        text = opened.decompress(content, MOST_BYTES)
        if opened.unconsumed_tail or not opened.eof:
            raise ValueError(f"expected one gzip stream of at most {MOST_BYTES:,} bytes")
        rows = _rows(text)
    except (ValueError, KeyError, TypeError, RecursionError, zlib.error) as error:
        raise DamagedError(f"{where} is damaged: {error}. Fetch it again.") from error
    if not rows:
        raise DamagedError(f"{where} is damaged: it has no line. Fetch it again.")
    inputs, references, outputs = (list(column) for column in zip(*rows, strict=True))
    return [tuple(each) if isinstance(each, list) else each for each in inputs], references, outputs


def _rows(text):
    lines = text.decode().split("\n")  # not `splitlines`: a text may hold other characters that break lines
    if lines.pop():
        raise ValueError("its last line has no end")
    return [_row(json.loads(line)) for line in lines]


def _row(line):
    one, reference, output = (line[key] for key in KEYS)
    if not _is_text(one) or not _is_text(reference) or not _is_answer(output):
        raise ValueError(f"a line is not of the form {', '.join(KEYS)}: {line!r:.80}")
    return one, reference, output


def _is_text(value):
    return isinstance(value, str) or isinstance(value, list) and all(isinstance(each, str) for each in value)


def _is_answer(value):
    numbers = isinstance(value, dict) and all(type(each) in (int, float) for each in value.values())
    return isinstance(value, str) or numbers
