"""Reads parallel corpora: two text files, plain or compressed, whose lines translate each other."""

import os
from pathlib import Path

from zoo.data.formats.opening import COMPRESSED, Undecodable, open_lines

SPLITS = {  # names under which corpora store each split, tried in this order
    "train": ("train",),
    "valid": ("valid", "val", "dev"),
    "test": ("test", "test_2016_flickr"),
}


def read_lines(path: str | os.PathLike) -> list[str]:
    """The lines of a UTF-8 file, plain, gzip or xz; see `zoo.data.formats.opening.open_lines`.

    Raises:
        ValueError: if there is no such file, it has no line, is a broken gzip or xz file or is not UTF-8 (the message
            names the line and the byte).
    """
    try:
        lines = [line for _, line in open_lines(str(path))]
    except Undecodable as error:
        raise ValueError(f"{error} Convert the file to UTF-8, for example with iconv.") from error
    if not lines:
        raise ValueError(f"{path} is empty; expected at least one line.")
    return lines


def find_parallel(
    directory: str | os.PathLike, split: str, source_language: str, target_language: str
) -> tuple[Path, Path]:
    """Finds the two files of a split, `SPLIT.LANGUAGE`, plain or with .gz or .xz behind it, in a directory.

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
    wanted = ", ".join(f"{name}.{{{source_language},{target_language}}}[.gz|.xz]" for name in names)
    there = sorted(entry.name for entry in directory.iterdir()) if directory.is_dir() else None
    found = "no such directory" if there is None else ", ".join(there) or "an empty directory"
    raise ValueError(
        f"No {split} split for {source_language} to {target_language} in {directory}: "
        f"looked for {wanted}; found {found}."
    )


def _existing(directory: Path, name: str, language: str) -> Path | None:
    candidates = (directory / f"{name}.{language}{zipped}" for zipped in COMPRESSED)
    return next((path for path in candidates if path.is_file()), None)
