"""Which part of a file one process answers, and the names of the parts.

Shard i of n is a contiguous range: of the bytes of the (decompressed) text, each line belonging to the shard in which
its first byte lies, or of the rows of a Parquet file. Contiguous ranges, unlike every n-th line, let a process begin
to read where its part begins, give parts of equal work even if the lengths of lines drift, and leave the answers in
the order of the input when the parts are put one behind the other. The names of the parts sort in that order.
"""

import re
from dataclasses import dataclass
from pathlib import Path

MOST = 99_999  # shards, which five digits can number
COMPRESSED = (".gz", ".xz")


@dataclass(frozen=True)
class Shard:
    """Part `index` of `count`, counted from 1.

    >>> from serving.corpus.shards import Shard
    >>> [Shard(index, 3).part(10) for index in (1, 2, 3)]
    [(0, 3), (3, 6), (6, 10)]
    """

    index: int = 1
    count: int = 1

    def __post_init__(self):
        if not 1 <= self.index <= self.count <= MOST:
            raise ValueError(
                f"A shard is i/n, a part i of 1 to n and at most {MOST} parts, such as 2/4; received "
                f"{self.index}/{self.count}."
            )

    def __str__(self):
        return f"{self.index}/{self.count}"

    def part(self, size):
        """`(begin, end)` of this part of `size` things; the parts are of equal size, to one."""
        return size * (self.index - 1) // self.count, size * self.index // self.count

    def name(self, out):
        """The file of this part of `out`: "a-00002-of-00004.txt" for part 2 of 4 of "a.txt"; of 1 it is `out`.

        >>> from serving.corpus.shards import Shard
        >>> str(Shard(2, 4).name("a.txt.gz")), str(Shard().name("a.txt"))
        ('a-00002-of-00004.txt.gz', 'a.txt')
        """
        path = Path(out)
        if self.count == 1:
            return path
        stem, suffix = path.stem, path.suffix
        if suffix in COMPRESSED:
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
