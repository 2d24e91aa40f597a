"""The texts that a recipe names: (inputs, answers) of each split."""

import hashlib
from pathlib import Path

from zoo.data import (
    babi,
    corpora,
    dates,
    duplication,
    find_parallel,
    read_parallel,
    reversal,
    running_text,
    sst,
    tagged,
    trec,
)
from zoo.data.babi import find as babi_file
from zoo.recipes.effects import GENERATED

SPLITS = ("train", "valid", "test")


def read(recipe, split, directory=None):
    """Two lists of strings, line i of the second answering line i of the first.

    The answer is a translation, a label, or the tags of the words, joined by one space. A language model's data are one
    string, its running text, and the answer is "".

    Args:
        recipe: the `Recipe`.
        split: "train", "valid", "test", or for files with a name of their own any other split's.
        directory: where the files lie, unless the data are generated.

    Raises:
        ValueError: the directory is missing where one is needed, the files are not as they should
            be, or there is no such split.
    """
    check_data(recipe, (split,), directory)
    return _READERS[recipe.data](recipe, split, directory)


def check_data(recipe, splits, directory=None):
    """Refuse data that are not there, without reading any: a matter of a moment, before anything is imported.

    Args:
        recipe: the `Recipe`.
        splits: the names of those that are needed, see `read`.
        directory: where the files lie, unless the data are generated.

    Raises:
        ValueError: the directory is missing where one is needed, a file is not there, or there is no such split.
    """
    if recipe.data in GENERATED:
        wrong = [split for split in splits if split not in SPLITS]
        if wrong:
            raise ValueError(f"{recipe.name} has the splits {', '.join(SPLITS)}; received {wrong[0]!r}.")
        return
    if directory is None:
        raise ValueError(
            f"recipe {recipe.name} reads files: name their directory, for example with --data; "
            f"expected files such as {_example(recipe)}."
        )
    if not Path(directory).is_dir():
        raise ValueError(
            f"recipe {recipe.name} reads files, and there is no directory {directory}; "
            f"expected one with files such as {_example(recipe)}."
        )
    for split in splits:
        _FINDERS[recipe.data](recipe, split, directory)


def last_split(recipe):
    """The split to score: "test" where there is one."""
    return "valid" if recipe.data == "text" else "test"


def _example(recipe):
    if recipe.data == "parallel":
        return f"{recipe.train_split}.{recipe.source_language}.gz"
    trees, story = "trees/train.txt.gz", f"en-valid-10k/qa{recipe.babi_task}_train.txt.gz"
    names = {"text": "input.txt", "trec": "TREC.train", "sst": trees, "sst5": trees, "babi": story}
    return names.get(recipe.data, f"{recipe.train_split}.tsv.gz")


def _parallel(recipe, split, directory):
    languages = recipe.source_language, recipe.target_language
    return read_parallel(*find_parallel(Path(directory), _own(recipe, split), *languages))


def _tagged(recipe, split, directory):
    return tagged(directory, _own(recipe, split))


def _own(recipe, split):
    """The name that the recipe has for a split."""
    return getattr(recipe, f"{split}_split", split)


def _sst(recipe, split, directory):
    classes = 5 if recipe.data == "sst5" else 2
    return sst(directory, split, phrases=recipe.phrases and split == "train", classes=classes)


def _text(recipe, split, directory):
    return [running_text(directory, split)], [""]


def _dates(recipe, split, directory):
    return dates(split, getattr(recipe, f"{split}_size"), seed=recipe.seed)


def _reversal(recipe, split, directory):
    return _part(recipe, split, lambda count: reversal(count, recipe.shortest, recipe.longest, seed=recipe.seed))


def _duplication(recipe, split, directory):
    return _part(recipe, split, lambda count: duplication(count, recipe.longest, seed=recipe.seed))


def _part(recipe, split, generate):
    """Distinct sequences, cut into test, valid and train, so that no split knows another's."""
    sizes = [getattr(recipe, f"{name}_size") for name in reversed(SPLITS)]
    pairs = list(dict(zip(*generate(sum(sizes)), strict=True)).items())
    start = sum(sizes[: SPLITS[::-1].index(split)])
    chosen = pairs[start : start + getattr(recipe, f"{split}_size")]
    return [source for source, _ in chosen], [target for _, target in chosen]


_FINDERS = {  # each finds the files of a split, or says what it looked for
    "parallel": lambda recipe, split, directory: find_parallel(
        directory, _own(recipe, split), recipe.source_language, recipe.target_language
    ),
    "text": lambda recipe, split, directory: corpora.find_text(directory, split),
    "trec": lambda recipe, split, directory: corpora.find_trec(directory, split),
    "babi": lambda recipe, split, directory: babi_file(directory, split, recipe.babi_task),
    "sst": lambda recipe, split, directory: corpora.find_sst(directory, split),
    "sst5": lambda recipe, split, directory: corpora.find_sst(directory, split),
    "tagged": lambda recipe, split, directory: corpora.find(directory, _own(recipe, split), ".tsv"),
}
_READERS = {
    "dates": _dates,
    "reversal": _reversal,
    "duplication": _duplication,
    "parallel": _parallel,
    "text": _text,
    "trec": lambda recipe, split, directory: trec(directory, split),
    "babi": lambda recipe, split, directory: babi(directory, split, recipe.babi_task),
    "sst": _sst,
    "sst5": _sst,
    "tagged": _tagged,
}


def digest(inputs, answers):
    """sha256 of a corpus as "input TAB answer LF" lines in UTF-8."""
    total = hashlib.sha256()
    for one, other in zip(inputs, answers, strict=True):
        total.update(f"{one}\t{other}\n".encode())
    return total.hexdigest()
