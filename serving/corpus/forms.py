"""How answers are written: as lines of text, which may be compressed, as the columns of a Parquet file, or as a matrix.

A form makes the bytes of a block, which can be appended to those of the blocks before, and from all of them the file.
"""

import gzip
import lzma
import shutil
import struct
from pathlib import Path

from serving.corpus import disk
from serving.corpus.lines import Block
from serving.corpus.rows import SUFFIX
from serving.lazy import later

parquet = later("pyarrow.parquet")
pyarrow = later("pyarrow")

GROUP_ROWS = 1 << 16  # of a row group of the Parquet file
ARROW = {str: "string", float: "double", "float32": "float", int: "int64"}


class TextForm:
    """Lines. With a name that ends in .gz or .xz each block is compressed by itself; a file of such blocks is whole.

    Args:
        out: the name of the file, by which its form is chosen.
        show: a function `(number, text, result)` -> the line or lines of an answer, without the newline at its end.
        name: what the function writes, which is part of the identity.
    """

    def __init__(self, out, show, name):
        suffix = Path(out).suffix.lower()
        self._show, self.identity = show, {"lines": name, "compressed": suffix if suffix in COMPRESS else None}
        self._compress = COMPRESS.get(suffix, bytes)

    def encode(self, block, results):
        """The bytes of a block."""
        lines = (
            self._show(block.number + place, text, result) + "\n"
            for place, (text, result) in enumerate(zip(block.texts, results, strict=True), 1)
        )
        return self._compress("".join(lines).encode("utf-8", "backslashreplace"))

    def finish(self, answers, finished):
        """The complete file: the bytes of all blocks, or, for a shard without a line, an empty text at `finished`."""
        if answers.stat().st_size:
            return answers
        with open(finished, "wb") as file:
            disk.append(file, self._compress(b""))
            disk.sync(file)
        return finished


class ParquetForm:
    """A row for each answer: `id`, the columns of the input, and those of the answer.

    `id` is that of the input if it has such a column, else the number of the line or row, counted from 1. The columns
    of an answer have the same types in every block.

    Args:
        schema: the pyarrow.Schema of the input; None for lines of text, which become the column "text".
        columns: the columns of an answer, as of `columns_of`.

    Raises:
        ValueError: the input has a column with the name of a column of the answer.
        ImportError: pyarrow is not installed.
    """

    def __init__(self, schema, columns):
        self._schema = pyarrow.schema([("text", "string")]) if schema is None else schema
        self._columns, self.identity = columns, {"parquet": sorted(columns)}
        clashes = sorted(columns.keys() & set(self._schema.names))
        if clashes:
            raise ValueError(
                f"the input has a column {clashes[0]!r}, which is the name of a column of the answers. Rename it."
            )

    def encode(self, block, results):
        """The bytes of a block: a whole stream of Arrow's interchange format."""
        table = block.columns
        if table is None:
            texts = [text.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for text in block.texts]
            table = pyarrow.table({"text": pyarrow.array(texts, "string")})
        table = self._add_answers(table, block, results)
        sink = pyarrow.BufferOutputStream()
        with pyarrow.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        return sink.getvalue().to_pybytes()

    def _add_answers(self, table, block, results):
        if "id" not in table.column_names:
            numbers = range(block.number + 1, block.number + 1 + len(results))
            table = table.add_column(0, "id", pyarrow.array(numbers, "int64"))
        return add_answers(table, results, self._columns)

    def finish(self, answers, finished):
        """The Parquet file, written from all blocks; it holds as much in memory as a row group."""
        empty = self._add_answers(self._schema.empty_table(), Block(0, [], 0), [])
        with parquet.ParquetWriter(finished, empty.schema) as writer, open(answers, "rb") as file:
            for table in _read_groups(file):
                writer.write_table(table)
        with open(finished, "rb+") as file:
            disk.sync(file)
        return finished


def columns_of(kind, n_best=None):
    """The columns of an answer of a `serving.kinds.base.Kind`, and those of its error and warning, which may be None.

    They are a dict, name -> `(type, function from a result)`. The type is str, float or "float32", or a list of one of
    them. With `n_best` there are also all hypotheses and their scores, where a kind has several.
    """
    return kind.columns(n_best) | {
        "error": (str, lambda result: result.error),
        "warning": (str, lambda result: result.warning),
    }


class NumpyForm:
    """The matrix of the vectors, `(texts, units)` float32, as `numpy.load` reads it; a text without a vector has zeros.

    Args:
        units: of a vector.
    """

    def __init__(self, units):
        self._units, self.identity = units, {"npy": units}

    def encode(self, block, results):
        """The bytes of a block."""
        return b"".join(struct.pack(f"<{self._units}f", *(each.answer or [0.0] * self._units)) for each in results)

    def finish(self, answers, finished):
        """The file: its header, and the bytes of all blocks."""
        shape = answers.stat().st_size // (4 * self._units), self._units
        header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
        header = header.ljust(-(-(len(header) + 11) // 64) * 64 - 11) + "\n"  # the matrix begins at a multiple of 64
        with open(answers, "rb") as file, open(finished, "wb") as whole:
            disk.append(whole, b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode("latin1"))
            shutil.copyfileobj(file, whole)
            disk.sync(whole)
        return finished


def add_answers(table, results, columns):
    """A pyarrow.Table with the columns of the answers behind its own; see `columns_of`."""
    for name, (kind, value) in columns.items():
        table = table.append_column(name, pyarrow.array([value(result) for result in results], _arrow_type(kind)))
    return table


def _read_groups(file):
    """The tables of all blocks of an open file, put together to row groups."""
    tables, count = [], 0
    while file.peek(1):
        table = pyarrow.ipc.open_stream(file).read_all()
        tables.append(table)
        count += table.num_rows
        if count >= GROUP_ROWS:
            yield pyarrow.concat_tables(tables).combine_chunks()
            tables, count = [], 0
    if tables:
        yield pyarrow.concat_tables(tables).combine_chunks()


def _arrow_type(kind):
    if isinstance(kind, list):
        return pyarrow.list_(_arrow_type(kind[0]))
    return pyarrow.type_for_alias(ARROW[kind])


def is_parquet(path):
    """Whether a name is that of a Parquet file."""
    return Path(path).suffix.lower() == SUFFIX


def is_numpy(path):
    """Whether a name is that of a matrix of NumPy."""
    return Path(path).suffix.lower() == ".npy"


COMPRESS = {".gz": lambda content: gzip.compress(content, 6, mtime=0), ".xz": lzma.compress}
