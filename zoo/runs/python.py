"""`zoo.train`, `zoo.evaluate` and `zoo.open`: what the commands of the same names do, from Python.

Like the commands, they check everything before they import a framework.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any

from zoo.recipes.files import load_for_training
from zoo.recipes.folder import check_run, resume_from
from zoo.recipes.recipe import check_data
from zoo.runs import start
from zoo.settings.training import Search
from zoo.tasks.parts import corpora
from zoo.tasks.parts.files import make_examples
from zoo.tasks.parts.task import Run


def train(
    recipe: str | PathLike[str] | Mapping[str, Any],
    data: Any = None,
    out: str | PathLike[str] | None = None,
    *,
    settings: Mapping[str, Mapping[str, Any]] | Iterable[str] = (),
    imports: str | Sequence[str] = (),
    resume: bool = False,
    callbacks: Sequence[Any] = (),
    log: Callable[[str], object] | None = None,
) -> Run:
    """Train a recipe and open the run.

    Args:
        recipe: a name that `seqzoo list` shows, the path of a .toml, a dict of tables, or a `zoo.recipes.Recipe`; or
            the path of a checkpoint (.npz), whose training goes on in `out`.
        data: the directory of the corpus, where the recipe needs one; a file of examples to train on instead of its
            `data.train`; or the examples themselves: a list of (input, answer), or what gives them one after the other,
            such as `zip(inputs, answers)`; of the task `continue` a string of several lines; or a dict of these for
            "train", "valid" and "test".
        out: the run directory; runs/NAME by default. NAME is the recipe's name; if it trains on a file that the recipe
            does not name, the file's name is added.
        settings: what to change of the recipe: a dict of tables, or texts such as "training.steps=100".
        imports: modules that bring layers of your own, or the name of one.
        resume: continue the run that is there, or begin if there is none.
        callbacks: `keras.callbacks.Callback`s.
        log: called with a line before what may take long; None prints to standard error.

    Returns:
        The `Run`: `recipe`, `model`, `tokenizers`, `labels` and `directory`.

    Raises:
        ValueError: the recipe or the data are not as they should be, or `out` holds a run already.
    """
    _check_kind("settings", settings, Iterable, "a dict of tables, or texts such as 'training.steps=100'")
    _check_kind("imports", imports, Iterable, "the names of modules")
    _check_kind("out", out, str | PathLike | None, "the path of a folder")
    _check_kind("resume", resume, bool, "True or False; a checkpoint stands in the place of the recipe")
    _check_kind("log", log, Callable | None, "a function that takes a line, or None")
    changes = [settings] if isinstance(settings, dict | str) else settings
    imports = [imports] if isinstance(imports, str) else imports
    place = str(data) if _is_place(data) else None
    loaded = load_for_training(recipe, changes, imports, place)
    directory = Path(out or Path("runs") / loaded.name)
    data = _check_examples(loaded, data, "train")
    start.train(loaded, directory, data, resume_from(recipe, directory, resume), callbacks, log)
    return open_run(directory)


def _check_kind(name, value, kinds, expected):
    if not isinstance(value, kinds):
        raise ValueError(f"{name} must be {expected}; received {value!r:.60}.")


def open_run(run: Run | str | PathLike[str]) -> Run:
    """The `Run` of a run directory; a `Run` is returned as it is.

    Raises:
        ValueError: the directory holds no finished run.
    """
    return run if isinstance(run, Run) else start.open_run(_directory_of(run))


def _directory_of(run):
    if isinstance(run, str | PathLike):
        return run
    raise ValueError(f"expected a Run, as zoo.train and zoo.open return it, or its directory; received {run!r:.60}.")


def _is_place(data):
    """Whether the data are a file or a folder; a string of several lines is a text."""
    return isinstance(data, PathLike) or isinstance(data, str) and "\n" not in data


def _check_examples(recipe, data, split):
    """`{split: Examples}` of examples in memory; what names data is returned as it is."""
    if data is None or _is_place(data):
        return data
    kind, rules_off = recipe.job.kind_of(recipe), recipe.data.rules_off
    by_split = data if isinstance(data, dict) else {split: data}
    return {name: make_examples(kind, name, each, rules_off) for name, each in by_split.items()}


def evaluate(
    run: Run | str | PathLike[str],
    data: Any = None,
    split: str | None = None,
    *,
    beams: int | None = None,
    limit: int | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """The scores of a run, a dict that JSON can hold; nothing is written.

    Args:
        run: a `Run`, or a run directory.
        data: the directory of the corpus, or examples to score instead: a file, or as of `train`.
        split: a part of the data; the test, or "valid" where there is none, by default.
        beams: width of the search of a model that writes; the recipe's by default.
        limit: only the first so many examples; of a running text, characters.
        progress: called with the number of examples done and their total.

    Returns:
        `task`, `split`, `count`, and the scores of the task, each with `NAME_interval` (see docs/scores.md).

    Raises:
        ValueError: the directory holds no finished run, or the data are not as they should be.
    """
    _check_kind("beams", beams, Integral | None, "a whole number, or None for the recipe's")
    _check_kind("limit", limit, Integral | None, "a whole number, or None for all")
    _check_kind("progress", progress, Callable | None, "a function that takes two numbers, or None")
    recipe = run.recipe if isinstance(run, Run) else check_run(_directory_of(run))
    if beams is not None and not isinstance(recipe.search, Search):
        raise ValueError(f"the task {recipe.task!r} is scored without a search, which beams would change.")
    data = _check_examples(recipe, data, split or "test")
    split = split or corpora.last_split(recipe, data)
    check_data(recipe, (split,), data)
    scores, _ = start.evaluate(open_run(run), split, data, beams=beams, limit=limit, progress=progress)
    return {"task": recipe.task, "split": split, **scores}
