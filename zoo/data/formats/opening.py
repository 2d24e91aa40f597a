"""Opens a text file, plain, gzip or xz, and gives its lines; whatever is no text is refused in words."""

import codecs
import difflib
import gzip
import lzma
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from zoo.data.formats.base import Request, say_encodings

_OPENERS = {".gz": gzip.open, ".xz": lzma.open}
COMPRESSED = ("", *_OPENERS)  # what may follow the name of a file, in the order in which files are looked for
BROKEN = (gzip.BadGzipFile, zlib.error, lzma.LZMAError, EOFError)
_MAGIC = {  # how files begin that are no text -> what they are, and what to do with them
    b"\x1f\x8b": "is compressed with gzip: let its name end in .gz",
    b"\xfd7zXZ\x00": "is compressed with xz: let its name end in .xz",
    b"BZh": "is compressed with bzip2: decompress it, or compress it with gzip or xz",
    b"\x28\xb5\x2f\xfd": "is compressed with zstd: decompress it, or compress it with gzip or xz",
    b"PK\x03\x04": "is a zip archive or an Excel workbook: unpack the archive, or save the workbook as CSV UTF-8",
    b"\xd0\xcf\x11\xe0": "is an old Excel workbook: save it as CSV UTF-8",
    b"PAR1": "is a Parquet file: let its name end in .parquet, or say format='huggingface'",
    b"ARROW1": "is an Arrow file: give the folder that save_to_disk wrote",
    b"\x89PNG": "is a picture",
    b"\xff\xd8\xff": "is a picture",
    b"%PDF": "is a PDF: save its text as a .txt file",
    b"version https://git-lfs": "is a pointer of Git LFS and not the data: fetch them with `git lfs pull`",
}
_PICKLE = "is a Python pickle, which is not read because it can run code: write it as CSV or JSONL"
_MAGIC |= dict.fromkeys((b"\x80\x02", b"\x80\x03", b"\x80\x04\x95", b"\x80\x05\x95"), _PICKLE)
WIDE = {  # those of UTF-32 first, one of which begins as one of UTF-16
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_UTF8 = ("utf-8", "utf-8-sig")
_LOOKED_AT = 1 << 16  # bytes
_LONGEST = 1 << 28  # bytes of a line


class Undecodable(ValueError):
    """A file has bytes that are not of the encoding in which it was to be read; `encodings.advice` says what to do."""


def inner_suffix(path: str) -> str:
    """The suffix of a name in lower case, without .gz and .xz: ".csv" of "a.csv.gz"."""
    path = Path(path)
    return Path(path.stem if path.suffix.lower() in _OPENERS else path.name).suffix.lower()


def open_lines(path: str, encoding: str = "utf-8") -> Iterator[tuple[int, str]]:
    r"""(number, line) of every line, counted from 1.

    Only "\n" ends a line (U+2028 and its like are text), or "\r" in a file without any "\n" but at its end; a "\r"
    before it is dropped, and byte order marks at the beginning of a line, which stand where files of UTF-8 were joined.

    Raises:
        ValueError: there is no such file, it is a folder, a broken gzip or xz file, or no text in this encoding; the
            message names the file, the line and the byte.
    """
    codec = _codec(encoding)
    _check_exists(path)
    try:
        with _open(path) as stream:
            yield from _by_returns(
                _wide(path, stream, codec) if codec.startswith(("utf-16", "utf-32")) else _narrow(path, stream, codec)
            )
    except BROKEN as error:
        raise not_whole(path, error) from error
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read: {error.strerror or error}. Expected a file that may be read."
        ) from error


def _by_returns(lines):
    r"""The lines; where there is one alone, those that "\r" ends in it, as programs of old Macintoshes write them."""
    first, second = next(lines, None), next(lines, None)
    if first and not second and "\r" in first[1]:
        yield from enumerate(first[1].split("\r"), 1)
    else:
        yield from (each for each in (first, second) if each)
        yield from lines


def lines_of(path: str, request: Request) -> Iterator[tuple[int, str]]:
    """The lines of a file, see `open_lines`, in the encoding that was asked for.

    Raises:
        ValueError: as `open_lines`; or a file that is UTF-8 was to be read in an encoding of one byte a character, in
            which any bytes are some text, and nobody named that encoding for this file.
    """
    own = request.own_encoding(path)
    lines = open_lines(path, own or request.encoding)
    if not own and _codec(request.encoding).startswith(("utf-16", "utf-32")):
        _check_wide(path, request.encoding)
    yield from lines if own or not _is_any_bytes(request.encoding) else _unless_utf8(path, lines, request.encoding)


def _check_wide(path, encoding):
    """Refuse a file of UTF-8 that was to be read as UTF-16, in which nearly any bytes are some text, too."""
    with open_bytes(path) as stream:
        start = stream.read(_LOOKED_AT)
    if start and b"\0" not in start and is_utf8(start):
        raise ValueError(
            f"{path}:1: the file is UTF-8, for no byte of its beginning is 0, and was to be read as {encoding}. Name "
            f"the encoding of the files alone that have it: {say_encodings({'FILE': encoding})}."
        )


def is_utf8(start):
    """Whether bytes are UTF-8, of which the last character may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return True


def _is_any_bytes(encoding):
    """Whether an encoding makes a character of each byte, so that reading in it never fails where it is wrong."""
    try:
        return len(bytes(range(160, 256)).decode(encoding, "ignore")) > 80  # a few bytes have no character in some
    except (LookupError, UnicodeError):
        return False


def _unless_utf8(path, lines, encoding):
    """The lines; ValueError behind the last one if all that is beyond ASCII in them is UTF-8, read wrongly."""
    example, both = None, False
    for number, line in lines:
        if not line.isascii():
            try:
                as_utf8 = line.encode(encoding).decode("utf-8")
                example = example or (number, line, as_utf8)
            except UnicodeError:
                both = True
        yield number, line
    if example and not both:
        number, line, as_utf8 = example
        raise ValueError(
            f"{path}:{number}: the file is UTF-8, and in {encoding} {as_utf8.strip()[:30]!r} is {line.strip()[:30]!r}. "
            f"Name the encoding of the files alone that have it: {say_encodings({'FILE': encoding})}."
        )


def open_bytes(path: str):
    """An open stream of the file's bytes, decompressed. Reading may raise one of `BROKEN`; see `not_whole`."""
    _check_exists(path)
    return _open(path)


def not_whole(path: str, error: Exception) -> ValueError:
    """What to raise for one of `BROKEN`."""
    suffix = Path(path).suffix
    kind = "gzip" if suffix.lower() == ".gz" else suffix[1:]
    return ValueError(
        f"{path} is not a whole {kind} file ({error}). Fetch it again, or rename it without {suffix} if it is plain."
    )


def first_lines(path: str, request: Request, count: int) -> list[tuple[int, str]]:
    """At most so many (number, line) of the file's beginning."""
    return list(islice(lines_of(path, request), count))


def _narrow(path, stream, codec):
    """Lines of an encoding in which a newline is one byte."""
    start = 0
    for number, raw in enumerate(iter(lambda: stream.readline(_LONGEST), b""), 1):
        if len(raw) == _LONGEST:
            raise ValueError(f"{path}:{number}: the line has more than {_LONGEST:,} bytes; expected lines of text.")
        if number == 1:
            _check_mark(path, raw, codec)
            check_text(path, raw)
        while codec in _UTF8 and raw.startswith(codecs.BOM_UTF8):
            raw = raw.removeprefix(codecs.BOM_UTF8)
        start += len(raw)
        try:
            line = raw.decode(codec)
        except UnicodeDecodeError as error:
            place = start - len(raw) + error.start
            raise Undecodable(
                f"{path}:{number}: byte {error.start} of the line (byte {place} of the text) is "
                f"0x{raw[error.start]:02x}, which is not {codec} here ({error.reason})."
            ) from error
        except UnicodeError as error:
            raise Undecodable(f"{path}:{number}: the line is not {codec} ({error.__cause__ or error}).") from error
        if "\0" in line:
            at = raw.index(b"\0")
            raise Undecodable(f"{path}:{number}: byte {at} of the line is NUL (0x00); expected text.")
        yield number, line.removesuffix("\n").removesuffix("\r")


def _wide(path, stream, codec):
    """Lines of UTF-16 and UTF-32, in which a newline has several bytes."""
    number, pending, decoder = 0, "", codecs.getincrementaldecoder(codec)()
    try:
        while chunk := stream.read(_LOOKED_AT):
            *whole, pending = (pending + decoder.decode(chunk)).split("\n")
            for line in whole:
                number += 1
                yield number, (line.removeprefix("\ufeff") if number == 1 else line).removesuffix("\r")
        pending += decoder.decode(b"", True)  # refuses a character that is cut
        if pending:
            yield number + 1, (pending if number else pending.removeprefix("\ufeff")).removesuffix("\r")
    except UnicodeError as error:
        raise Undecodable(f"{path}:{number + 1}: no {codec} from here on ({error}).") from error


def _check_mark(path, raw, codec):
    for mark, name in WIDE.items():
        if raw.startswith(mark):
            raise Undecodable(
                f"{path}:1: the file begins with the mark of {name.upper()}, and was to be read as {codec}."
            )


def check_text(path: str, start: bytes):
    """Refuse a file that begins as something else than text, such as an archive."""
    for magic, words in _MAGIC.items():
        if start.startswith(magic):
            raise ValueError(f"{path} {words}. Expected plain text, or text compressed with gzip or xz.")


def _codec(encoding):
    try:
        " ".encode(encoding)  # refuses codecs that are none of text, such as base64
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise ValueError(
            f"There is no encoding {encoding!r}. Expected a name that Python knows, such as utf-8, cp1252, latin-1 or "
            "utf-16."
        ) from None


def _check_exists(path):
    path = Path(path)
    if path.is_dir():
        files = sorted(each.name for each in path.iterdir() if each.is_file() and not each.name.startswith("."))
        mend = f"Name a file in it, such as {files[0]}." if files else "It holds no file."
        raise ValueError(f"{path} is a folder where a file is expected. {mend}")
    if not path.is_file():
        there = [each.name for each in path.parent.iterdir()] if path.parent.is_dir() else []
        near = difflib.get_close_matches(path.name, there, 1)
        hint = f" Did you mean {path.parent / near[0]}?" if near else ""
        if path.exists() or path.is_symlink():
            raise ValueError(
                f"{path} is a device, a pipe, a socket or a broken link; expected a text file, plain, gzip or xz."
            )
        raise ValueError(f"There is no file {path}. Expected a text file, plain, gzip or xz.{hint}")


def _open(path):
    opener = _OPENERS.get(Path(path).suffix.lower(), open)
    try:
        return opener(path, "rb")
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read: {error.strerror or error}. Expected a file that may be read."
        ) from error
