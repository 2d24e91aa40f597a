"""What to do about bytes that are not of the encoding that was asked for: advice that fits all of the files.

An encoding for all files is advised only where it reads every one of them. A file is looked at as bytes: it is ASCII,
which all encodings read alike, UTF-8, or neither; of the third kind some have lines of UTF-8, too, and no encoding
reads those.
"""

from dataclasses import dataclass
from pathlib import Path

from zoo.core.wording import quantity
from zoo.data.formats.base import OMIT, Request, say_encoding, say_encodings
from zoo.data.formats.opening import BROKEN, WIDE, is_utf8, open_bytes

_FEW = 5
_BEGINNING = 1 << 16  # bytes
_GUESS = "cp1252"  # of Windows and Excel in Western Europe
BINARY = ""  # what is no encoding of a file with bytes that are 0


@dataclass
class _Content:
    """What the bytes of a file are: `utf8` and `other` number the lines of each kind that go beyond ASCII."""

    path: str
    guess: str
    utf8: list[int]
    other: list[int]
    sample: str = ""


def advice(message: str, files: list[str], request: Request) -> str:
    """The message about undecodable bytes, `found`, with what the files are and what can be done about it."""
    contents = [_look(path) for path in _text_files(files, request)]
    if not any(message.startswith(f"{each.path}:") for each in contents):  # its own encoding was named
        return f"{message} Name the encoding that the file has, or convert it to UTF-8."
    unread = [each for each in contents if each.other]
    if not unread:  # it is the encoding that was asked for that is wrong
        own = request.encoding
        others = "" if own.lower().startswith("utf") else f", and name {own} for other files alone"
        return f"{message} The file is UTF-8: read it so{others}."
    mixed = [each for each in unread if each.utf8 and each.guess == _GUESS]
    if mixed:
        one = mixed[0]
        few = ", ".join(map(str, one.other[:_FEW])) + (", ..." if len(one.other) > _FEW else "")
        return (
            f"{message} {quantity(len(one.utf8), 'line')} beyond ASCII in {one.path} {_are(one.utf8)} UTF-8 and "
            f"{len(one.other):,} {_are(one.other)} not, so that no encoding reads the file: convert what is not (line "
            f"{few}) to UTF-8."
        )
    first, sample = unread[0], f"{unread[0].sample!r}"
    if first.guess == BINARY:
        return (
            f"{message} A file with NUL bytes is no text, or has them by mistake: take them out, or leave the file out."
        )
    if first.guess == request.encoding.lower():
        return f"{message} Name the encoding that the file has, or convert it to UTF-8."
    beyond = [each for each in contents if each.utf8 or each.other or first.guess != _GUESS]  # ASCII is no UTF-16
    if len(unread) == len(beyond) and all(each.guess == first.guess for each in unread):
        encoding = f"{say_encoding(first.guess)}, if all of your files are so"
        if len(contents) == 1:
            encoding = (
                f"{say_encodings({_shortly(first.path, contents): first.guess})} for this file alone, or {encoding}"
            )
        return (
            f"{message} {_western(first.guess)}, this reads {sample}: then say {encoding}; otherwise convert "
            f"{'the file' if len(contents) == 1 else 'the files'} to UTF-8, for example with iconv."
        )
    names = ", ".join(each.path for each in unread[:_FEW]) + (", ..." if len(unread) > _FEW else "")
    own, rest = {_shortly(each.path, contents): each.guess for each in unread[:_FEW]}, contents[len(unread) :]
    others = f"; the other {len(rest):,} {_are(rest)}, and another encoding for all would damage those" if rest else ""
    return (
        f"{message} Of {quantity(len(contents), 'file')} {len(unread):,} {_are(unread)} not UTF-8: {names}{others}. "
        f"{_western(first.guess)}, "
        f"{first.path} reads {sample}: then say {say_encodings(own)}. To leave a file out, say "
        f'"{OMIT}" instead of its encoding; otherwise convert it to UTF-8, for example with iconv.'
    )


def _western(guess):
    if guess == _GUESS:
        return "If the text is Western European of Windows or Excel (others have encodings such as gb18030 or cp1251)"
    if guess.endswith("e"):
        return f"A file with NUL bytes is binary, or {guess[:6].upper()} without a mark. In the latter case"
    return f"As its first bytes say, which are the mark of {guess}"


def _are(items):
    return "is" if len(items) == 1 else "are"


def _shortly(path, contents):
    """The end of a path that names no other of the files."""
    parts = Path(path).parts
    ends = ("/".join(parts[-count:]) for count in range(1, len(parts)))
    return next((end for end in ends if sum(Path(each.path).match(end) for each in contents) == 1), path)


def _text_files(files, request):
    """The files that are read: those of folders, too, without hidden ones and those that are left out."""
    for name in files:
        path = Path(name)
        inner = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [name]
        for each in inner:
            if not (path.is_dir() and any(part[0] == "." for part in each.relative_to(path).parts)):
                if not request.own_encoding(each):
                    yield str(each)


def _look(path):
    content = _Content(path, _GUESS, [], [])
    try:
        with open_bytes(path) as stream:
            start = stream.read(_BEGINNING)
        if (guess := _wide(start)) is not None:
            sample = start[: len(start) & ~3].decode(guess or "utf-8", "replace").strip()[:40]
            return _Content(path, guess, [], [1], sample)
        with open_bytes(path) as stream:
            for number, raw in enumerate(stream, 1):
                if not raw.isascii():
                    _count(content, number, raw)
    except (OSError, ValueError, *BROKEN):
        pass
    return content


def _wide(start):
    """The UTF-16 or UTF-32 that a file begins with, by its mark or by where bytes are 0; None of others.

    Without a mark they are bytes of one place, and many, or the rest is no UTF-8: text with a 0 by mistake has few.
    """
    mark = next((name for mark, name in WIDE.items() if start.startswith(mark)), None)
    if mark or b"\0" not in start:
        return mark
    if start.count(0) > len(start) / 2:
        return next((f"utf-32-{end}" for end, place in (("le", 3), ("be", 0)) if not any(start[place::4])), BINARY)
    even, odd = (start[place::2].count(0) for place in (0, 1))
    few = 10 * start.count(0) < len(start) and is_utf8(start)
    return BINARY if few or 20 * min(even, odd) > max(even, odd) else "utf-16-le" if odd > even else "utf-16-be"


def _count(content, number, raw):
    try:
        raw.decode("utf-8")
        content.utf8.append(number)
    except UnicodeDecodeError as error:
        content.other.append(number)
        start = max(0, error.start - 20)
        content.sample = content.sample or raw.decode(_GUESS, "replace")[start : error.start + 20].strip()
