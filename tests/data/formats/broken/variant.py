"""One broken variant of some files, and what its message says."""

from dataclasses import dataclass, field

GOOD = "text,label\ngood,pos\nbad,neg\n"


@dataclass
class Broken:
    """One variant; `line` is None where no line is to be named, and `at` the file that the message names."""

    kind: str
    files: dict  # name -> content; None for a folder
    line: int | None
    found: str
    mend: str
    read: list | None = None  # the files that are read, if not all of them
    options: dict = field(default_factory=dict)
    at: str | None = None


def one(kind, name, data, line, found, mend, **options):
    return Broken(kind, {name: data}, line, found, mend, options=options)
