"""Examples of one's own: from which files a split is read and what is left out of training; or values of Python."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from msgspec import structs

from zoo.data import formats
from zoo.data.formats.base import KINDS, Lacking, Problems, Wrong
from zoo.data.formats.examples import Examples, make_example
from zoo.data.formats.opening import inner_suffix
from zoo.data.formats.reading import FORMATS
from zoo.settings.data import Files

SPLITS = ("train", "valid", "test")
SHAPES = {  # of an example, as a message shows it
    "pairs": "(source, target)",
    "labelled": "(text, label)",
    "compared": "((first, second), label)",
    "rated": "(text, number)",
    "scored": "((first, second), number)",
    "tagged": "(words, tags)",
    "running": "one string",
}


def examples(table, kind, split, place=None, train_examples=None):
    """The `zoo.data.formats.Examples` of a split.

    Args:
        table: the `[data]` of a recipe, a `zoo.settings.data.Files`.
        kind: of the examples, see `zoo.data.formats`.
        split: "train", "valid" or "test".
        place: a folder that the recipe's paths are relative to; a file (or folder) of examples to read instead; or a
            dict of splits, see `make_examples`.
        train_examples: what `training_file` returned, so that it is not read once more.

    Raises:
        ValueError: there is no such split, or the files are not as they should be.
    """
    paths = replacements(table, place)
    if paths:
        try:
            return _read(table, kind, paths, fewest_labels=1)
        except ValueError as error:
            raise ValueError(f"{error}{_format_hint(table, paths[0])}") from error
    if split != "train" and _has_examples(table, split, place):
        return _read_split(table, kind, split, place)
    part = train_examples or training_file(table, kind, place)
    shares = {name: share for name, share in _shares(table, place).items() if share}
    if shares:
        part = formats.split_by_hash(part, **{"valid": 0.0, "test": 0.0} | shares)[split]
    if split == "train" and kind != "running":
        longest, ratio = table.longest or None, table.ratio or None
        part, counts = formats.filter_by_length(part, shortest=table.shortest, longest=longest, ratio=ratio)
        left_out = [f"{count:,} {why}" for why, count in counts.items() if count and why not in ("read", "kept")]
        if not counts["kept"]:
            raise ValueError(
                f"no training example is left of {counts['read']:,}: {', '.join(left_out)}, by data.shortest, "
                "data.longest and data.ratio. Change what leaves them out."
            )
        if left_out:
            part = dataclasses.replace(part, notes=(*part.notes, f"left out: {', '.join(left_out)}"))
    return part


def training_file(table, kind, place=None):
    """The `zoo.data.formats.Examples` of `data.train`, before other splits are cut off it and examples are left out."""
    return _read_split(table, kind, "train", place)


def check(table, split, place=None):
    """Refuse files that are not there, without reading any.

    Raises:
        ValueError: there is no such split, or a file is not there.
    """
    if (paths := replacements(table, place)) and not (split == "train" and _is_base_folder(table, place)):
        return _check_exists(paths[0])
    if split not in SPLITS:
        raise ValueError(f"files of one's own have the splits {', '.join(SPLITS)}; received {split!r}.")
    if isinstance(place, dict):
        return _check_in_memory(table, split, place)
    if split != "train" and not _paths(table, split, place) and not _shares(table).get(split):
        raise ValueError(
            f"the recipe has no {split} data: data.{split} names no file and data.{split}_share is 0. Name one with "
            f"--set data.{split}=FILE, or give examples with --data FILE."
        )
    source = split if _paths(table, split) else "train"
    paths = _paths(table, source, place)
    if not paths:
        raise ValueError(
            "the recipe says nothing of its data. Name the training examples with --set data.train=FILE; `seqzoo new` "
            "writes a recipe after looking at your files. An imported network is evaluated with --data FILE."
        )
    missing = [path for path in paths if not path.startswith("hf://") and not Path(path).exists()]
    if missing:
        raise ValueError(
            f"there is no file {missing[0]}, which data.{source} names. Check the path, or give --data DIR."
        )


def _check_exists(path):
    if not path.startswith("hf://") and not Path(path).exists():
        raise ValueError(
            f"there is no file or folder {path}, which was given as the data. Check the path, or leave it out to take "
            "the files that the recipe names."
        )


def _check_in_memory(table, split, data):
    unknown = [name for name in data if name not in SPLITS]
    if unknown:
        raise ValueError(f"examples have the splits {', '.join(SPLITS)}; received {unknown[0]!r}.")
    if split not in data and not ("train" in data and _shares(table, data).get(split)):
        raise ValueError(f"there are no {split} examples; received {', '.join(data) or 'none'}. Give data[{split!r}].")


def _has_examples(table, split, place):
    """Whether a split has examples of its own."""
    return split in place if isinstance(place, dict) else bool(_paths(table, split, place))


def _read_split(table, kind, split, place):
    """The examples of a split that has its own."""
    if isinstance(place, dict):
        return make_examples(kind, split, place[split], table.rules_off)
    return _read(table, kind, _paths(table, split, place), fewest_labels=2 if split == "train" else 1)


def _read(table, kind, files, fewest_labels=2):
    options = {"format": table.format or None, "columns": table.columns or None, "encoding": table.encoding}
    options |= {"encodings": table.encodings, "rules_off": table.rules_off}
    return formats.read(files, kind, **options, fewest_labels=fewest_labels)


def _format_hint(table, path):
    """An addition to the error about a folder, or a file whose suffix is of another format than the recipe names."""
    if Path(path).is_dir():
        translates = isinstance(table, Files) and table.source_language
        return " If its files are parallel, read it with --set data.corpus=parallel." if translates else ""
    form = next((each for each in FORMATS if each.name == table.format), None)
    if form is None or not form.suffixes or inner_suffix(path) in form.suffixes:
        return ""
    return (
        f" The recipe reads {table.format}: name the format of other examples with --set data.format=NAME, and their "
        "columns, where they have other names, with --set data.columns.ROLE=NAME."
    )


def _shares(table, place=None):
    """The shares of the training examples that the splits without examples of their own take."""
    shares = {"valid": table.valid_share, "test": table.test_share}
    return {name: share for name, share in shares.items() if not _has_examples(table, name, place)}


def _paths(table, split, place=None):
    """The paths that the recipe names for a split, relative to the folder `place` if it is one."""
    value = {"train": table.train, "valid": table.valid, "test": table.test}.get(split)
    paths = [value] if isinstance(value, str) else list(value or ())
    base = Path(place) if place is not None and Path(place).is_dir() else None
    return [path if base is None or path.startswith("hf://") else str(base / path) for path in paths if path]


def last_split(table, place=None):
    """The split to score: "test", or "valid" where the recipe names no test data and none are given instead."""
    if isinstance(place, dict):
        return "test" if "test" in place or ("train" in place and table.test_share) else "valid"
    has_test = _paths(table, "test") or table.test_share or replacements(table, place)
    return "test" if has_test else "valid"


def training_data(table, place):
    """(the `[data]`, the place) of a training: a file at `place` becomes `data.train`, and splits are cut off it."""
    paths = replacements(table, place)
    if not paths:
        return table, place
    _check_exists(paths[0])
    if not _is_base_folder(table, place):
        return structs.replace(table, train=paths[0]), None
    if not _relative(table):
        raise ValueError(
            f"data.train is {_paths(table, 'train')[0]}, which is not sought in {place}, the folder that was given as "
            "the data. Leave it out, or give a file of examples to train on."
        )
    return table, place


def _is_base_folder(table, place):
    """Whether `place` is a folder in which a training looks for the files that the recipe names."""
    return bool(_paths(table, "train")) and Path(place).is_dir()


def replacements(table, place):
    """The paths that are read instead of those that the recipe names; empty if `place` is the folder of these."""
    if place is None or isinstance(place, dict):
        return []
    if Path(place).is_dir() and any(Path(place, path).exists() for path in _relative(table)):
        return []
    return [str(place)]


def _relative(table):
    """The paths of the training examples that are sought in a folder which is given as the data."""
    return [path for path in _paths(table, "train") if not path.startswith("hf://") and not Path(path).is_absolute()]


def make_examples(kind, split, data, rules_off=()):
    """The `Examples` of Python values, such as `[("Who is it?", "person"), ...]`; running text is one string.

    Args:
        kind: of the examples, see `zoo.data.formats`.
        split: its name, for messages.
        data: `Examples`, a list, or any iterable of pairs. Words and tags may be lists, or strings with spaces.
        rules_off: rules of mending that are not applied, of `zoo.data.formats.base.RULES`.

    Raises:
        ValueError: there are none, or some are not as they should be; the message names the first five.
    """
    if isinstance(data, Examples):
        if data.kind != kind:
            raise ValueError(f"{split}: expected {KINDS[kind]}; received examples of the kind {data.kind!r}.")
        return data
    if not isinstance(data, Iterable):
        raise ValueError(f"{split}: expected {KINDS[kind]}, a list of {SHAPES[kind]}; received {data!r:.60}.")
    rows = [data] if isinstance(data, str) else list(data)
    inputs, answers, problems = [], [], Problems(rules_off)
    for number, row in enumerate(rows, 1):
        try:
            text, answer = make_example(kind, _values_by_role(kind, row), problems)
        except Lacking as lacking:
            problems.lack(lacking.what, str(lacking), f"{split}, example", number)
            continue
        except Wrong as wrong:
            problems.add(f"{split}, example", number, str(wrong))
            continue
        inputs.append(text)
        answers.append(answer)
    problems.check()
    if not inputs:
        left_out = f" All are left out: {'; '.join(problems.notes)}." if rows else ""
        raise ValueError(f"{split} has no examples; expected {KINDS[kind]}, each {SHAPES[kind]}.{left_out}")
    if kind == "running":
        inputs, answers = ["\n".join(inputs)], [""]
    return Examples(kind, inputs, answers, notes=problems.notes)


def _values_by_role(kind, row):
    """The values of an example in the order of its kind's roles."""
    if kind == "running":
        return (row,)
    if isinstance(row, tuple | list) and len(row) == 2:
        texts, answer = row
        if kind not in ("compared", "scored"):
            return texts, answer
        if isinstance(texts, tuple | list) and len(texts) == 2:
            return (*texts, answer)
    raise Wrong(f"received {row!r:.60}; expected {SHAPES[kind]}.")
