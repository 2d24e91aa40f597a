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
from zoo.data.babi import find as babi_file
from zoo.data.formats import Examples
from zoo.settings import data
from zoo.tasks.parts import files
from zoo.tasks.parts.files import SPLITS


def training_file(recipe, kind, directory=None):
    """`data.train` of files of one's own, read once for all splits that are cut off it; None of other corpora."""
    if not isinstance(recipe.data, FILES) or files.instead(recipe.data, directory):
        return None
    check_data(recipe, kind, ("train",), directory)
    return files.training_file(recipe.data, kind, directory)


def examples(recipe, kind, split, directory=None, whole=None):
    """The `zoo.data.formats.Examples` of a split.

    An answer is a translation, a label, or the tags of the words, joined by one space. A language model's data are one
    string, its running text, and the answer is "".

    Args:
        recipe: the `Recipe`.
        kind: of the examples, see `zoo.data.formats`.
        split: "train", "valid", "test", or for files with a name of their own any other split's.
        directory: where the files lie, unless the data are generated.
        whole: what `training_file` returned, if it is known.

    Raises:
        ValueError: the directory is missing where one is needed, the files are not as they should
            be, or there is no such split.
    """
    check_data(recipe, kind, (split,), directory)
    if isinstance(recipe.data, FILES):
        return files.examples(recipe.data, kind, split, directory, whole)
    if isinstance(recipe.data, data.Parallel):
        pair = [str(path) for path in _find_parallel(recipe.data, split, directory)]
        return formats.read(pair, kind, format="lines", rules_off=recipe.data.rules_off)
    inputs, answers = _READERS[recipe.data.corpus](recipe, split, directory)
    return Examples(kind, list(inputs), list(answers))


def check_data(recipe, kind, splits, directory=None):
    """Refuse data that are not there, without reading any: a matter of a moment, before anything is imported.

    Args:
        recipe: the `Recipe`.
        kind: of the examples.
        splits: the names of those that are needed, see `read`.
        directory: where the files lie, unless the data are generated.

    Raises:
        ValueError: the directory is missing where one is needed or given where none is, a file is not there, or there
            is no such split.
    """
    own = recipe.data
    if isinstance(own, FILES):
        for split in splits:
            files.check(own, split, directory)
        return
    if isinstance(directory, dict):
        raise ValueError(
            f"recipe {recipe.name} has a corpus of its own, {own.corpus!r}. Examples in memory are for "
            "data.corpus = 'files'."
        )
    if own.generated:
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
            f"expected files such as {own.example}."
        )
    if not Path(directory).is_dir():
        raise ValueError(
            f"recipe {recipe.name} reads files, and there is no directory {directory}; "
            f"expected one with files such as {own.example}."
        )
    for split in splits:
        _FINDERS[own.corpus](own, split, directory)


FILES = (data.Files, data.RunningFiles)


def is_instead(recipe, directory):
    """Whether what is given as data is read instead of the files that a recipe names."""
    return isinstance(recipe.data, FILES) and bool(files.instead(recipe.data, directory))


def trained_on(recipe, directory=None):
    """(the recipe, the directory) of a training: a file that is given instead of a folder is what it trains on."""
    if not isinstance(recipe.data, FILES):
        return recipe, directory
    own, place = files.trained_on(recipe.data, directory)
    return structs.replace(recipe, data=own), place


def last_split(recipe, directory=None):
    """The split to score: "test", or "valid" where there is no test."""
    own = recipe.data
    if isinstance(own, FILES):
        return files.last_split(own, directory)
    return "valid" if isinstance(own, data.RunningText) else "test"


def _own(table, split):
    """The name that the files of a split have."""
    return {"train": table.train_split, "valid": table.valid_split, "test": table.test_split}.get(split, split)


def _find_parallel(table, split, directory):
    return find_parallel(Path(directory), _own(table, split), *table.languages)


def _sst(classes):
    def read_split(recipe, split, directory):
        phrases = recipe.data.phrases and split == "train"
        return sst(directory, split, phrases=phrases, classes=classes)

    return read_split


def _reversal(recipe, split, directory):
    own, seed = recipe.data, recipe.training.seed
    return _part(own, split, lambda count: reversal(count, own.shortest, own.longest, seed=seed))


def _duplication(recipe, split, directory):
    own, seed = recipe.data, recipe.training.seed
    return _part(own, split, lambda count: duplication(count, own.longest, seed=seed))


def _size(table, split):
    return {"train": table.train_size, "valid": table.valid_size, "test": table.test_size}[split]


def _part(table, split, generate):
    """Distinct sequences, cut into test, valid and train, so that no split knows another's."""
    backwards = SPLITS[::-1]
    sizes = [_size(table, name) for name in backwards]
    pairs = list(dict(zip(*generate(sum(sizes)), strict=True)).items())
    start = sum(sizes[: backwards.index(split)])
    chosen = pairs[start : start + _size(table, split)]
    return [source for source, _ in chosen], [target for _, target in chosen]


_FINDERS = {  # each finds the files of a split, or says what it looked for
    "parallel": _find_parallel,
    "text": lambda table, split, directory: corpora.find_text(directory, split),
    "trec": lambda table, split, directory: corpora.find_trec(directory, split),
    "babi": lambda table, split, directory: babi_file(directory, split, table.number),
    "sst": lambda table, split, directory: corpora.find_sst(directory, split),
    "sst5": lambda table, split, directory: corpora.find_sst(directory, split),
    "tagged": lambda table, split, directory: corpora.find(directory, _own(table, split), ".tsv"),
}
_READERS = {
    "dates": lambda recipe, split, _: dates(split, _size(recipe.data, split), seed=recipe.training.seed),
    "date_pairs": lambda recipe, split, _: date_pairs(split, _size(recipe.data, split), seed=recipe.training.seed),
    "reversal": _reversal,
    "duplication": _duplication,
    "text": lambda recipe, split, directory: ([running_text(directory, split)], [""]),
    "trec": lambda recipe, split, directory: trec(directory, split),
    "babi": lambda recipe, split, directory: babi(directory, split, recipe.data.number),
    "sst": _sst(2),
    "sst5": _sst(5),
    "tagged": lambda recipe, split, directory: tagged(directory, _own(recipe.data, split)),
}


def digest(inputs, answers):
    """sha256 of a corpus as "input TAB answer LF" lines in UTF-8; a TAB joins two texts, or several answers."""
    total = hashlib.sha256()
    for one, other in zip(inputs, answers, strict=True):
        text = "\t".join(one) if isinstance(one, tuple) else one
        answer = "\t".join(other) if isinstance(other, list) else other
        total.update(f"{text}\t{answer}\n".encode())
    return total.hexdigest()
