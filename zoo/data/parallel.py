"""Reads parallel corpora: two text files, plain or gzip, whose lines translate each other."""

import gzip
import os
import zlib
from pathlib import Path

SPLITS = {  # names under which corpora store each split, tried in this order
    "train": ("train",),
    "valid": ("valid", "val", "dev"),
    "test": ("test", "test_2016_flickr"),
}


def read_parallel(source_path: str | os.PathLike, target_path: str | os.PathLike) -> tuple[list[str], list[str]]:
    """Reads two line-aligned files.

    Returns:
        Two lists of the same length; line i of the first translates line i of the second.

    Raises:
        ValueError: if the files differ in their number of lines, a line is blank, or a file cannot
            be read (see `read_lines`). The message names the file and the line, counted from 1.
    """
    sources, targets = read_lines(source_path), read_lines(target_path)
    if len(sources) != len(targets):
        raise ValueError(
            f"The files are not aligned: {source_path} has {len(sources)} lines, "
            f"{target_path} has {len(targets)}. Line i of one must translate line i of the other."
        )
    if not sources:
        raise ValueError(f"{source_path} and {target_path} are empty; expected at least one line.")
    for side, path, lines in (("source", source_path, sources), ("target", target_path, targets)):
        blank = [number for number, line in enumerate(lines, 1) if not line.strip()]
        if blank:
            raise ValueError(
                f"{path}, line {blank[0]}: the {side} line is empty ({len(blank)} such lines in "
                "the file). Remove the line from both files, so that they stay aligned."
            )
    return sources, targets


def read_lines(path: str | os.PathLike) -> list[str]:
    r"""Lines of a UTF-8 file, plain or gzip (name ends in .gz).

    Only "\n" ends a line (U+2028 and its like are text); a "\r" before it and a byte order mark are
    dropped.

    Raises:
        ValueError: if the file is missing, is a broken gzip file or is not UTF-8 (the message names
            the line and the byte).
    """
    data = _read_bytes(Path(path))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        offset = error.start - (data.rfind(b"\n", 0, error.start) + 1)
        raise ValueError(
            f"{path}, line {line}: byte {offset} of the line (byte {error.start} of the text) is "
            f"0x{data[error.start]:02x}, which is not UTF-8 here ({error.reason}). "
            "Convert the file to UTF-8, for example with iconv."
        ) from error
    lines = text.removeprefix("\ufeff").removesuffix("\n").split("\n") if text else []
    return [line.removesuffix("\r") for line in lines]


def find_parallel(
    directory: str | os.PathLike, split: str, source_language: str, target_language: str
) -> tuple[Path, Path]:
    """Finds the two files of a split, `SPLIT.LANGUAGE` or `SPLIT.LANGUAGE.gz`, in a directory.

    Args:
        directory: where to look; not searched recursively.
        split: "train", "valid" (also stored as val, dev), "test" (also stored as
            test_2016_flickr), or the very name of another split.
        source_language: suffix of the source file, such as "de".
        target_language: suffix of the target file.

    Raises:
        ValueError: if no name of the split has both files; says what was looked for and what is
            there.
    """
    directory = Path(directory)
    names = SPLITS.get(split, (split,))
    for name in names:
        pair = [_existing(directory, name, each) for each in (source_language, target_language)]
        if all(pair):
            return tuple(pair)
    wanted = ", ".join(f"{name}.{{{source_language},{target_language}}}[.gz]" for name in names)
    there = sorted(entry.name for entry in directory.iterdir()) if directory.is_dir() else None
    found = "no such directory" if there is None else ", ".join(there) or "an empty directory"
    raise ValueError(
        f"No {split} split for {source_language} to {target_language} in {directory}: "
        f"looked for {wanted}; found {found}."
    )


def _existing(directory: Path, name: str, language: str) -> Path | None:
    candidates = (directory / f"{name}.{language}", directory / f"{name}.{language}.gz")
    return next((path for path in candidates if path.is_file()), None)


def _read_bytes(path: Path) -> bytes:
    if not path.is_file():
        raise ValueError(f"There is no file {path}. Expected a text file, plain or gzip.")
    data = path.read_bytes()
    if path.suffix != ".gz":
        return data
    try:
        return gzip.decompress(data)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ValueError(
            f"{path} is not a whole gzip file ({error}). Fetch it again, or rename it without .gz if it is plain text."
        ) from error
