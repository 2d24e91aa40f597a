"""The texts that a recipe names: (inputs, answers) of each split."""

import hashlib
from pathlib import Path

from msgspec import structs

from zoo.data import (
    babi,
    corpora,
    date_pairs,
    dates,
    duplication,
    find_parallel,
    formats,
    reversal,
    running_text,
    sst,
    tagged,
    trec,
)
from zoo.data.formats import Examples
from zoo.settings import data
from zoo.tasks.parts import files
from zoo.tasks.parts.files import SPLITS


def training_file(recipe, kind, directory=None):
    """`data.train` of files of one's own, read once for all splits that are cut off it; None of other corpora."""
    if not isinstance(recipe.data, FILES) or files.replacements(recipe.data, directory):
        return None
    check_data(recipe, ("train",), directory)
    return files.training_file(recipe.data, kind, directory)


def examples(recipe, kind, split, directory=None, train_examples=None):
    """The `zoo.data.formats.Examples` of a split.

    An answer is a translation, a label, or the tags of the words, joined by one space. A language model's data are one
    string, its running text, and the answer is "".

    Args:
        recipe: the `Recipe`.
        kind: of the examples, see `zoo.data.formats`.
        split: "train", "valid", "test", or for files with a name of their own any other split's.
        directory: where the files lie, unless the data are generated.
        train_examples: what `training_file` returned, if it is known.

    Raises:
        ValueError: the directory is missing where one is needed, the files are not as they should
            be, or there is no such split.
    """
    check_data(recipe, (split,), directory)
    if isinstance(recipe.data, FILES):
        return files.examples(recipe.data, kind, split, directory, train_examples)
    if isinstance(recipe.data, data.Parallel):
        pair = [str(path) for path in _find_parallel(recipe.data, split, directory)]
        return formats.read(pair, kind, format="lines", rules_off=recipe.data.rules_off)
    inputs, answers = _READERS[recipe.data.corpus](recipe, split, directory)
    return Examples(kind, list(inputs), list(answers))


def check_data(recipe, splits, directory=None):
    """Refuse data that are not there, without reading them or importing a framework.

    Args:
        recipe: the `Recipe`.
        splits: the names of those that are needed, see `read`.
        directory: where the files lie, unless the data are generated.

    Raises:
        ValueError: the directory is missing where one is needed or given where none is, a file is not there, or there
            is no such split.
    """
    table = recipe.data
    if isinstance(table, FILES):
        for split in splits:
            files.check(table, split, directory)
        return
    if isinstance(directory, dict):
        raise ValueError(
            f"recipe {recipe.name} has a corpus of its own, {table.corpus!r}. Examples in memory are for "
            "data.corpus = 'files'."
        )
    if table.generated:
        if directory is not None:
            raise ValueError(
                f"recipe {recipe.name} makes its data itself, and {directory} was given as the data. Leave it out; for "
                "files of your own, write a recipe with `seqzoo new`."
            )
        wrong = [split for split in splits if split not in SPLITS]
        if wrong:
            raise ValueError(f"{recipe.name} has the splits {', '.join(SPLITS)}; received {wrong[0]!r}.")
        return
    if directory is None:
        raise ValueError(
            f"recipe {recipe.name} reads files: name their directory, for example with --data; "
            f"expected files such as {table.example}."
        )
    if not Path(directory).is_dir():
        raise ValueError(
            f"recipe {recipe.name} reads files, and there is no directory {directory}; "
            f"expected one with files such as {table.example}."
        )
    for split in splits:
        _FINDERS[table.corpus](table, split, directory)


FILES = (data.Files, data.RunningFiles)


def replaces_files(recipe, directory):
    """Whether the data at `directory` are read instead of the files that a recipe names."""
    return isinstance(recipe.data, FILES) and bool(files.replacements(recipe.data, directory))


def training_data(recipe, directory=None):
    """(the recipe, the directory) of a training: a file in place of a directory becomes the recipe's `data.train`."""
    if not isinstance(recipe.data, FILES):
        return recipe, directory
    table, place = files.training_data(recipe.data, directory)
    return structs.replace(recipe, data=table), place


def last_split(recipe, directory=None):
    """The split that is scored unless another one is asked for: "test", or "valid" where there is no test."""
    if isinstance(recipe.data, FILES):
        return files.last_split(recipe.data, directory)
    return "valid" if isinstance(recipe.data, data.RunningText) else "test"


def _split_name(table, split):
    """The name of a split in its files' names."""
    return {"train": table.train_split, "valid": table.valid_split, "test": table.test_split}.get(split, split)


def _find_parallel(table, split, directory):
    return find_parallel(Path(directory), _split_name(table, split), *table.languages)


def _read_sst(recipe, split, directory):
    phrases = recipe.data.phrases and split == "train"
    return sst(directory, split, phrases=phrases, classes=recipe.data.classes)


def _split_size(table, split):
    return {"train": table.train_size, "valid": table.valid_size, "test": table.test_size}[split]


def _take_split(recipe, split, generate, *lengths):
    """A split of distinct sequences, which are cut into test, valid and train, so that no two splits share one."""
    table, names = recipe.data, SPLITS[::-1]
    sizes = [_split_size(table, name) for name in names]
    pairs = list(dict(zip(*generate(sum(sizes), *lengths, seed=recipe.training.seed), strict=True)).items())
    start = sum(sizes[: names.index(split)])
    pairs = pairs[start : start + _split_size(table, split)]
    return [source for source, _ in pairs], [target for _, target in pairs]


_FINDERS = {  # each finds the files of a split, or raises a ValueError that says what it looked for
    "parallel": _find_parallel,
    "text": lambda table, split, directory: corpora.find_text(directory, split),
    "trec": lambda table, split, directory: corpora.find_trec(directory, split),
    "babi": lambda table, split, directory: corpora.find_babi(directory, split, table.number),
    "sst": lambda table, split, directory: corpora.find_sst(directory, split),
    "sst5": lambda table, split, directory: corpora.find_sst(directory, split),
    "tagged": lambda table, split, directory: corpora.find(directory, _split_name(table, split), ".tsv"),
}
_READERS = {
    "dates": lambda recipe, split, _: dates(split, _split_size(recipe.data, split), seed=recipe.training.seed),
    "date_pairs": lambda recipe, split, _: date_pairs(
        split, _split_size(recipe.data, split), seed=recipe.training.seed
    ),
    "reversal": lambda recipe, split, _: _take_split(
        recipe, split, reversal, recipe.data.shortest, recipe.data.longest
    ),
    "duplication": lambda recipe, split, _: _take_split(recipe, split, duplication, recipe.data.longest),
    "text": lambda recipe, split, directory: ([running_text(directory, split)], [""]),
    "trec": lambda recipe, split, directory: trec(directory, split),
    "babi": lambda recipe, split, directory: babi(directory, split, recipe.data.number),
    "sst": _read_sst,
    "sst5": _read_sst,
    "tagged": lambda recipe, split, directory: tagged(directory, _split_name(recipe.data, split)),
}


def digest(inputs, answers):
    """sha256 of a corpus as "input TAB answer LF" lines in UTF-8; a TAB joins two texts, or several answers."""
    sha256 = hashlib.sha256()
    for text, answer in zip(inputs, answers, strict=True):
        text = "\t".join(text) if isinstance(text, tuple) else text
        answer = "\t".join(answer) if isinstance(answer, list) else answer
        sha256.update(f"{text}\t{answer}\n".encode())
    return sha256.hexdigest()
