"""The lines of a text file, plain, gzip or xz, from any place of it, in blocks that need little memory; and its shards.

Shard i of n is a contiguous range: of the bytes of the (decompressed) text, each line belonging to the shard in which
its first byte lies, or of the rows of a Parquet file. Contiguous ranges, unlike every n-th line, let a process begin
to read where its part begins, give parts of equal work even if the lengths of lines drift, and leave the answers in
the order of the input when the parts are put one behind the other. The names of the parts sort in that order.
"""

import gzip
import hashlib
import lzma
import re
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BLOCK_LINES = 1024  # a block ends with this many lines,
BLOCK_BYTES = 1 << 20  # or with the first line beyond this size
MOST_LINE = 1 << 24  # bytes of a line, or of a page, that is read as a whole; a longer one is refused
CHUNK = 1 << 20
MAGIC = {  # how files begin that are no plain text -> what they are
    b"\x1f\x8b": "compressed with gzip: let its name end in .gz",
    b"\xfd7zXZ\x00": "compressed with xz: let its name end in .xz",
    b"PAR1": "a Parquet file: let its name end in .parquet",
    b"\xff\xfe": "encoded in UTF-16: convert it to UTF-8",
    b"\xfe\xff": "encoded in UTF-16: convert it to UTF-8",
    b"PK\x03\x04": "a zip archive or an Office document: save it as plain text",
    b"%PDF": "a PDF: save its text as a .txt file",
}
OPENERS = {".gz": gzip.open, ".xz": lzma.open}
BROKEN = (gzip.BadGzipFile, zlib.error, lzma.LZMAError, EOFError)
MOST_SHARDS = 99_999  # shards, which five digits can number


@dataclass(frozen=True)
class Shard:
    """Part `index` of `count`, counted from 1.

    >>> from serving.corpus.lines import Shard
    >>> [Shard(index, 3).part(10) for index in (1, 2, 3)]
    [(0, 3), (3, 6), (6, 10)]
    """

    index: int = 1
    count: int = 1

    def __post_init__(self):
        if not 1 <= self.index <= self.count <= MOST_SHARDS:
            raise ValueError(
                f"A shard is i/n, a part i of 1 to n and at most {MOST_SHARDS} parts, such as 2/4; received "
                f"{self.index}/{self.count}."
            )

    def __str__(self):
        return f"{self.index}/{self.count}"

    def part(self, size):
        """`(begin, end)` of this part of `size` things; the parts are of equal size, to one."""
        return size * (self.index - 1) // self.count, size * self.index // self.count

    def name(self, out):
        """The file of this part of `out`: "a-00002-of-00004.txt" for part 2 of 4 of "a.txt"; of 1 it is `out`.

        >>> from serving.corpus.lines import Shard
        >>> str(Shard(2, 4).name("a.txt.gz")), str(Shard().name("a.txt"))
        ('a-00002-of-00004.txt.gz', 'a.txt')
        """
        path = Path(out)
        if self.count == 1:
            return path
        stem, suffix = path.stem, path.suffix
        if suffix in OPENERS:
            stem, suffix = Path(stem).stem, Path(stem).suffix + suffix
        return path.with_name(f"{stem}-{self.index:05d}-of-{self.count:05d}{suffix}")

    def missing(self, out):
        """The parts of `out` that are not there yet."""
        parts = (Shard(index, self.count) for index in range(1, self.count + 1))
        return [part for part in parts if not part.name(out).exists()]


WHOLE = Shard()


def parse_shard(text):
    """The `Shard` of a text "i/n".

    Raises:
        ValueError: the text is not of this form.
    """
    parts = re.fullmatch(r"([0-9]{1,9})/([0-9]{1,9})", text)
    if not parts:
        raise ValueError(f"A shard is i/n, such as 2/4 for the second of four parts; received {text!r}.")
    return Shard(*map(int, parts.groups()))


@dataclass(frozen=True)
class Block:
    """Texts that follow each other, and where they stand.

    Args:
        number: how many texts of the whole input come before the first one.
        texts: the texts.
        end: the position behind them, at which the next block begins.
        errors: why a text cannot be asked, by its place in `texts`.
        columns: the columns that came with the texts, a pyarrow.Table; None for lines.
    """

    number: int
    texts: list[str]
    end: int
    errors: dict[int, str] = field(default_factory=dict)
    columns: Any = None


class Lines:
    """The lines of one shard of a file. Only a newline ends a line; a carriage return before it is dropped.

    A byte that is no UTF-8 becomes a lone surrogate, for which only its own line is refused. Positions are bytes of the
    decompressed text. The blocks depend on the file and on the shard alone.

    Args:
        path: the file; gzip and xz are recognised by the names .gz and .xz.
        shard: the part that is read.

    Raises:
        ValueError: the file cannot be read, or is broken.
    """

    unit = "line"

    def __init__(self, path, shard=WHOLE):
        self.path, self.shard = Path(path), shard
        with readable(path):
            self.stamp = stamp(path)
            if self._opener is open:
                with open(path, "rb") as file:
                    check_kind(path, file.read(8))
            with open(path, "rb") as file:
                self.identity = {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "bytes": file.seek(0, 2)}
            self.size = self.identity["bytes"] if self._opener is open else self._decompressed_size()
            begin, end = (self._line_start(place) for place in shard.part(self.size))
            self.begin, self.end = begin, end
            self.number = self._count_before(begin)

    @property
    def _opener(self):
        return OPENERS.get(self.path.suffix.lower(), open)

    def _decompressed_size(self):
        with self._opener(self.path, "rb") as file:
            return sum(map(len, iter(lambda: file.read(CHUNK), b"")))

    def _line_start(self, place):
        """The first position from `place` on at which a line begins, or the end of the file."""
        if place in (0, self.size):
            return place
        with self._opener(self.path, "rb") as file:
            file.seek(place - 1)
            while (piece := file.readline(CHUNK)) and not piece.endswith(b"\n"):
                pass
            return file.tell()

    def _count_before(self, place):
        """The number of lines before a position at which one begins."""
        count = 0
        with self._opener(self.path, "rb") as file:
            while place > 0 and (piece := file.read(min(CHUNK, place))):
                count, place = count + piece.count(b"\n"), place - len(piece)
        return count

    def blocks(self, position=None, done=0):
        """Every `Block` from a position on, which is the end of an earlier block, before which `done` lines were."""
        position = self.begin if position is None else position
        with readable(self.path), self._opener(self.path, "rb") as file:
            file.seek(position)
            while position < self.end:
                block = self._read_block(file, position, self.number + done)
                yield block
                position, done = block.end, done + len(block.texts)

    def _read_block(self, file, position, number):
        texts, errors, begin = [], {}, position
        while position < self.end and len(texts) < BLOCK_LINES and position - begin <= BLOCK_BYTES:
            line, length, whole = _read_line(file)
            if not length:
                raise ValueError(f"{self.path} has become shorter while it was read: do not change it meanwhile.")
            if not whole:
                errors[len(texts)], line = f"a line of {length:,} bytes, at most {MOST_LINE:,}", b""
            encoding = "utf-8" if position else "utf-8-sig"  # a byte order mark at the beginning is dropped
            texts.append(line.decode(encoding, "surrogateescape").rstrip("\r\n"))
            position += length
        return Block(number, texts, position, errors)


class Page(Lines):
    """A file that is one text, without the line break at its end; as `Lines`. One that is too large is refused.

    Raises:
        ValueError: as of `Lines`.
    """

    unit = "page"

    def __init__(self, path):
        super().__init__(path)
        self.identity["page"] = True

    def _read_block(self, file, position, number):
        content, errors = file.read(MOST_LINE + 1), {}
        if len(content) > MOST_LINE:
            content, errors = b"", {0: f"a page of {self.size:,} bytes, at most {MOST_LINE:,}"}
        text = content.decode("utf-8-sig", "surrogateescape")
        return Block(number, [text.removesuffix("\n").removesuffix("\r")], self.size, errors)


def _read_line(file):
    """`(line, length, whole)` of the next line: of one that is too long only the first bytes, and `whole` is False."""
    line = piece = file.readline(MOST_LINE)
    length = len(line)
    while not piece.endswith(b"\n") and (piece := file.readline(CHUNK)):
        length += len(piece)
    return line, length, length <= len(line) + piece.endswith(b"\n") * (not line.endswith(b"\n"))


def check_kind(path, beginning):
    """Refuse what is no text, by its first bytes."""
    for magic, kind in MAGIC.items():
        if beginning.startswith(magic):
            raise ValueError(f"{path} is {kind}. Expected lines of text, plain or compressed with gzip or xz.")


def stamp(path):
    """The size and the time of a file, which change when it is written to."""
    status = Path(path).stat()
    return status.st_size, status.st_mtime_ns


@contextmanager
def readable(path):
    """A context whose errors in reading `path` are a `ValueError` that says so."""
    try:
        yield
    except BROKEN as error:
        kind = Path(path).suffix[1:]
        raise ValueError(
            f"{path} is not a whole {kind} file ({error}). Fetch it again, or name it .txt if it is plain text."
        ) from error
    except IsADirectoryError as error:
        raise ValueError(f"cannot read {path}: it is a folder; expected a file.") from error
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror or error}.") from error
