"""The rows of a Parquet file, from any place of it, as texts with the other columns beside them."""

import hashlib
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from serving.corpus.lines import WHOLE, Block, readable, stamp
from serving.lazy import later

parquet = later("pyarrow.parquet")
pyarrow = later("pyarrow")
types = later("pyarrow.types")

BLOCK_ROWS = 1024
SUFFIX = ".parquet"


class Rows:
    """The rows of one shard of a Parquet file. Positions are numbers of rows.

    A byte that is no UTF-8 becomes a lone surrogate, for which only its own row is refused.

    Args:
        path: the file.
        shard: the part that is read.
        columns: the names of the columns that hold the text. The texts of two columns are joined by a TAB, as a model
            that compares texts reads them. Without names it is "text", or else the only column of strings.

    Raises:
        ValueError: the file cannot be read, is no Parquet file, or has no such column of strings.
        ImportError: pyarrow is not installed.
    """

    unit = "row"

    def __init__(self, path, shard=WHOLE, columns=()):
        self.path, self.shard = Path(path), shard
        with readable(path), open(path, "rb") as file:
            self.stamp = stamp(path)
            self.identity = {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "bytes": self.stamp[0]}
        self.schema, count = self._file.schema_arrow, self._file.metadata.num_rows
        self.columns = choose_columns(path, self.schema, columns)
        self.identity["columns"] = list(self.columns)
        self.begin, self.end = shard.part(count)
        self.number = self.begin

    @cached_property
    def _file(self):
        with _explain_errors(self.path):
            return parquet.ParquetFile(self.path)

    def blocks(self, position=None, done=0):
        """Every `Block` from a row on, which is the end of an earlier block.

        Raises:
            ValueError: a part of the file cannot be read.
        """
        position, first = self.begin if position is None else position, 0
        with _explain_errors(self.path):
            for group in range(self._file.metadata.num_row_groups):
                after = first + self._file.metadata.row_group(group).num_rows
                if after > position and first < self.end:
                    yield from self._read_group(group, first, position)
                first = after

    def _read_group(self, group, first, position):
        for batch in self._file.iter_batches(BLOCK_ROWS, [group]):
            after = first + batch.num_rows
            if after > position and first < self.end:
                skipped = max(0, position - first)
                yield self._make_block(
                    batch.slice(skipped, min(after, self.end) - first - skipped), max(first, position)
                )
            first = after

    def _make_block(self, batch, number):
        sides = [_bytes(batch.column(self.schema.get_field_index(name))) for name in self.columns]
        texts, errors = [], {}
        for place, values in enumerate(zip(*sides, strict=True)):
            if None in values:
                errors[place] = "no text: the row holds null"
            texts.append(b"\t".join(value or b"" for value in values).decode("utf-8", "surrogateescape"))
        return Block(number, texts, number + batch.num_rows, errors, pyarrow.Table.from_batches([batch]))


@contextmanager
def _explain_errors(path):
    """A context whose errors in reading a Parquet file are a `ValueError` that names it."""
    try:
        yield
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"cannot read {path} as a Parquet file: {error}.") from error


def _bytes(column):
    """The values of a column of strings as lists of bytes and None; of categories, each row's."""
    column = column.dictionary_decode() if types.is_dictionary(column.type) else column
    return column.cast("binary").to_pylist()


def _holds_strings(kind):
    """Whether a type is one of strings, or of categories that are strings, as pandas and Polars write them."""
    kind = kind.value_type if types.is_dictionary(kind) else kind
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def choose_columns(path, schema, columns):
    """The names of the columns that hold the text; see `Rows`."""
    strings = [each.name for each in schema if _holds_strings(each.type)]
    if not strings:
        have = ", ".join(f"{each.name!r} ({each.type})" for each in schema) or "none"
        raise ValueError(f"{path} has no column of strings; its columns are: {have}. Write the text as strings.")
    if not columns:
        columns = ["text"] if "text" in strings else strings
        if len(columns) != 1:
            raise ValueError(
                f"{path} has {len(strings)} columns of strings, {strings}: say which holds the text with --column NAME."
            )
    wrong = [name for name in columns if name not in strings]
    if wrong:
        raise ValueError(f"{path} has no column of strings {wrong[0]!r}; its columns of strings are {strings}.")
    several = next((name for name in columns if schema.names.count(name) > 1), None)
    if several is not None:
        raise ValueError(f"{path} has {schema.names.count(several)} columns {several!r}. Rename all but one of them.")
    return tuple(columns)
