"""What every format of data is made of: a request, a layout, problems with their places, and the class above it."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePath

OMIT = "omit"  # instead of the encoding of a file: it is left out
ROLES = {  # what an example of each kind is made of, in this order
    "pairs": ("source", "target"),
    "labelled": ("text", "label"),
    "compared": ("first", "second", "label"),
    "rated": ("text", "score"),
    "scored": ("first", "second", "score"),
    "tagged": ("words", "tags"),
    "running": ("text",),
}


RULES = {  # by which data are mended -> what becomes of it where the rule is off
    "empty": "an example without a text or a label is refused",
    "labels": "labels that are written otherwise than in the training stay as they are, and count as others",
    "label_spaces": "spaces around a label are part of it",
    "commas": "a number with a decimal comma is refused",
    "verdicts": "a record that an annotator rejected or passed over is an example",
    "blank_rows": "a row or line without any value is an example without a text, or a line that has no other side",
    "headers": "a row that repeats the header is an example",
    "blank_words": "a word of white space alone is refused",
    "inner_spaces": "a space inside a word or a tag is refused",
    "half_words": "a span that begins or ends inside a word is refused",
    "stray_files": "a file beside the folders of the labels is refused",
    "backslashes": "a backslash before a quote is text, and the quote is no text unless it is doubled",
}
KINDS = {  # what a message calls them
    "pairs": "pairs of texts",
    "labelled": "labelled texts",
    "compared": "texts to compare",
    "rated": "texts with a number each",
    "scored": "scored pairs of texts",
    "tagged": "tagged words",
    "running": "running text",
}


class Wrong(ValueError):
    """What is wrong with one example; whoever knows the file and the line adds them."""


class Lacking(Wrong):
    """What one example lacks, `what` in a word: it is left out and counted, unless that is refused."""

    def __init__(self, what, message):
        super().__init__(message)
        self.what = what


@dataclass(frozen=True)
class Request:
    """What was asked for: the kind of examples, the columns that were named, and how the files are read.

    `encodings` has the encoding of single files, by the end of their paths or a pattern of it; "omit" leaves one out.
    `rules_off` names the `RULES` that are not applied.
    """

    kind: str
    columns: dict = field(default_factory=dict)
    encoding: str = "utf-8"
    encodings: dict = field(default_factory=dict)
    rules_off: tuple = ()

    @property
    def roles(self):
        return ROLES[self.kind]

    def ordered(self, roles: Iterable[str]) -> list[str]:
        """Those of the roles that the kind has, in its order, and behind them the others."""
        return [*(role for role in self.roles if role in roles), *(role for role in roles if role not in self.roles)]

    def own_encoding(self, path) -> str | None:
        """The encoding that was named for this file alone."""
        path = PurePath(str(path))
        return next((own for pattern, own in self.encodings.items() if path.match(pattern)), None)

    def omits(self, path) -> bool:
        """Whether this file is to be left out."""
        return self.own_encoding(path) == OMIT


@dataclass(frozen=True)
class Layout:
    """How a file is laid out: the column of each role, as `columns` would say it, and why it was taken to be so.

    `details` is the format's own, such as the delimiter, and what `Format.rows` needs to know.
    """

    columns: dict
    why: str
    details: dict = field(default_factory=dict)


class Problems:
    """Collects what is wrong, so that one message can name several places, and what is left out.

    A message says `FILE:LINE: what was found; what was expected. How to mend it.`

    Args:
        rules_off: the `RULES` that are not applied.
    """

    FEW = 5

    def __init__(self, rules_off: Iterable[str] = ()):
        self.count, self.left_out, self._first, self._notes, self._off = 0, "", [], {}, frozenset(rules_off)

    def mends(self, rule: str) -> bool:
        """Whether a rule is applied."""
        return rule not in self._off

    def add(self, path: str, line: int | None, message: str):
        self.count += 1
        if self.count <= self.FEW:
            self._first.append(f"{place(path, line)}: {message}")

    def note(self, message: str, count: int = 1, first: str = ""):
        """Counts what is no error, and is told: what was left out, or read in another way than it was written."""
        before, where = self._notes.get(message, (0, first))
        self._notes[message] = before + count, where

    def leave_out(self, message: str, path: str, line: int | None, reason: str = ""):
        """Counts an example that is left out; `said` is told of the first one, if none is left."""
        self.left_out = self.left_out or reason or message
        self.note(message, first=f"the first at {place(path, line)}")

    def lack(self, what: str, message: str, path: str, line: int | None):
        """An example that lacks a text or a label: wrong if that is refused, else left out."""
        if self.mends("empty"):
            self.leave_out(f"examples without {what}, left out", path, line, message)
        else:
            self.add(path, line, message)

    def blank(self, path: str, line: int):
        """A row or line without any value: left out and counted, or an example that lacks a text."""
        if self.mends("blank_rows"):
            self.note("rows without any value, left out", first=f"the first at {place(path, line)}")
        else:
            self.lack("any value", "the row has no value; expected an example. Delete it.", path, line)

    def header(self, path: str, line: int):
        """A row that repeats the header, as where files were joined: left out and counted."""
        self.note("rows that repeat the header, left out", first=f"the first at {place(path, line)}")

    @property
    def notes(self) -> tuple[str, ...]:
        """What was counted, in words."""
        notes = self._notes.items()
        return tuple(f"{message}: {count:,}{f' ({first})' if first else ''}" for message, (count, first) in notes)

    def check(self):
        """Raises ValueError if anything was added."""
        if self.count == 1:
            raise ValueError(self._first[0])
        if self.count:
            quote = "\n".join(f"  {each}" for each in self._first)
            first = f", the first {self.FEW} of them" if self.count > self.FEW else ""
            raise ValueError(f"{self.count} problems in the data{first}:\n{quote}")


def place(path: str, line: int | None) -> str:
    """`file:line`, the form that editors open."""
    return f"{path}:{line}" if line else f"{path}"


def quote(value, longest: int = 60) -> str:
    """A value as a message quotes it."""
    text = repr(value)
    return text if len(text) <= longest else f"{text[:longest]}..."


def join_some(parts: list[str], most: int = 20) -> str:
    """The parts with commas between them; of many the first ones, and how many there are."""
    return ", ".join(parts[:most]) + (f", ... ({len(parts):,} in all)" if len(parts) > most else "")


def say_columns(columns: dict) -> str:
    """How one says which column is which, in Python and in a recipe; `...` stands for what only they know."""
    quoted = {role: "..." if column is ... else repr(column) for role, column in columns.items()}
    python = ", ".join(f'"{role}": {column}' for role, column in quoted.items())
    words = " ".join(f"--set data.columns.{role}={_toml(column)}" for role, column in columns.items())
    return f"columns={{{python}}}, or in a recipe data.columns ({words})"


def _toml(column):
    return "..." if column is ... else str(column).lower() if isinstance(column, bool) else column


def say_encoding(name: str) -> str:
    """How one says the encoding of a file, in Python and in a recipe."""
    return f"encoding='{name}', or in a recipe data.encoding (--set data.encoding={name})"


def say_encodings(encodings: dict[str, str]) -> str:
    """How one says the encoding of single files, in Python and in a recipe."""
    inner = ", ".join(f'"{name}" = "{own}"' for name, own in encodings.items())
    return f"encodings={encodings}, or in a recipe data.encodings (--set 'data.encodings={{{inner}}}')"


class Format(ABC):
    """One format of files. A subclass says its name, suffixes and kinds, and has the two methods.

    Attributes:
        name: what `format=` calls it.
        suffixes: of its files, before `.gz` or `.xz`.
        kinds: the kinds of examples that it can hold.
        more_roles: what `columns` may name besides the roles of the kind, where the kind is "tagged".
    """

    name = ""
    suffixes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = tuple(ROLES)
    more_roles: tuple[str, ...] = ()

    def claims(self, files: list[str], request: Request) -> bool:
        """Whether files with one of the suffixes are of this format; looks at their first lines where it must."""
        return True

    def groups(self, files: list[str]) -> list[list[str]]:
        """The files that are read together: each alone, but where line i of one belongs to line i of another."""
        return [[path] for path in files]

    @abstractmethod
    def layout(self, files: list[str], request: Request) -> Layout:
        """Looks at the beginning of a group of files."""

    @abstractmethod
    def rows(
        self, files: list[str], request: Request, layout: Layout, problems: Problems
    ) -> Iterator[tuple[int | str, tuple]]:
        """(place, values) of every example, the values in the order of the kind's roles; adds what is wrong.

        A place is the line, counted from 1, or the path of the file that is the example.
        """
