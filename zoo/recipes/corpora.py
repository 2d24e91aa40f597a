"""The texts that a recipe names: (sources, targets) of each split."""

import hashlib
from pathlib import Path

from zoo.data import dates, find_parallel, read_parallel, reversal

SPLITS = ("train", "valid", "test")


def read(recipe, split, directory=None):
    """Two lists of strings, line i of the second answering line i of the first.

    Args:
        recipe: the `Recipe`.
        split: "train", "valid", "test", or for a parallel corpus any other split's file name.
        directory: where a parallel corpus lies.

    Raises:
        ValueError: the directory is missing where one is needed, the files are not as they should
            be, or a generated data set has no such split.
    """
    if recipe.data == "parallel":
        return _parallel(recipe, split, directory)
    if split not in SPLITS:
        raise ValueError(f"{recipe.name} has the splits {', '.join(SPLITS)}; received {split!r}.")
    if recipe.data == "dates":
        return dates(split, getattr(recipe, f"{split}_size"), seed=recipe.seed)
    return _reversal(recipe, split)


def _parallel(recipe, split, directory):
    if directory is None:
        raise ValueError(
            f"recipe {recipe.name} reads a parallel corpus: name its directory, for example with "
            f"--data; expected files such as {recipe.train_split}.{recipe.source_language}.gz."
        )
    name = getattr(recipe, f"{split}_split", split)
    languages = recipe.source_language, recipe.target_language
    return read_parallel(*find_parallel(Path(directory), name, *languages))


def _reversal(recipe, split):
    """Distinct sequences, cut into test, valid and train, so that no split knows another's."""
    sizes = [getattr(recipe, f"{name}_size") for name in reversed(SPLITS)]
    lengths = recipe.shortest, recipe.longest
    pairs = list(dict(zip(*reversal(sum(sizes), *lengths, seed=recipe.seed), strict=True)).items())
    start = sum(sizes[: SPLITS[::-1].index(split)])
    chosen = pairs[start : start + getattr(recipe, f"{split}_size")]
    return [source for source, _ in chosen], [target for _, target in chosen]


def digest(sources, targets):
    """sha256 of a corpus as "source TAB target LF" lines in UTF-8."""
    total = hashlib.sha256()
    for source, target in zip(sources, targets, strict=True):
        total.update(f"{source}\t{target}\n".encode())
    return total.hexdigest()
