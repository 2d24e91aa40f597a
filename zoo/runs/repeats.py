"""Many runs of one recipe: with other seeds, for a mean and a deviation, or with other settings, for the best of them.

Everything is checked before the first run begins, and the first run imports Keras. Finished runs stay, so `resume`
continues an interrupted series.
"""

import dataclasses
import gc
import itertools
import math
import re
import shutil
import statistics
import sys
from pathlib import Path

from msgspec import structs

from zoo.core.later import later
from zoo.core.storage import LOCK, one_writer, write_bytes, write_json
from zoo.recipes import evaluations, folder
from zoo.recipes.files import load, parse, read_stored
from zoo.recipes.folder import claim, read_json, refuse_others, resolve_initial
from zoo.runs import start

keras = later("keras")
zoo_training = later("zoo.training")

MOST = 100  # runs of one series
SUMMARY, TRIED, MODEL = "summary.json", "tried", "model.keras"
BRACKETS = {"[": 1, "{": 1, "(": 1, "]": -1, "}": -1, ")": -1}


@dataclasses.dataclass(frozen=True)
class Trial:
    """One run of a series: the name of its folder, and its recipe."""

    name: str
    recipe: object


class Stopped(KeyboardInterrupt):
    """Ctrl-C ended a series in the run of `directory`, of so many `steps`; `place` is such as "run 2 of 3"."""

    def __init__(self, directory, steps, place):
        super().__init__(f"interrupted in {place}")
        self.directory, self.steps, self.place = directory, steps, place


def seed_trials(recipe, count):
    """The trials of a recipe with `count` seeds, the recipe's own and the next ones."""
    _check_count(count)
    settings = [structs.replace(recipe.training, seed=recipe.training.seed + more) for more in range(count)]
    return [Trial(f"seed-{each.seed}", structs.replace(recipe, training=each)) for each in settings]


def sweep(name_or_path, axes, overrides=(), imports=()):
    """The trials of a recipe with every combination of values.

    Args:
        name_or_path, overrides, imports: as of `zoo.recipes.load`.
        axes: texts such as "training.learning_rate=0.001,0.003".

    Raises:
        ValueError: a setting is unknown, a value is wrong, there are too many combinations, or two are the same.
    """
    choices = []
    for each in axes:
        key, equals, text = each.partition("=")
        if not equals or not text.strip():
            raise ValueError(
                f"expected table.key=value,value, such as training.learning_rate=0.001,0.003; received {each!r}."
            )
        parse(f"{key}=0")  # refuses an unknown setting
        choices.append([f"{key}={value}" for value in split_values(text)])
    _check_count(math.prod(map(len, choices)))
    trials = [
        Trial(_trial_name(each), load(name_or_path, [*overrides, *each], imports))
        for each in itertools.product(*choices)
    ]
    settings = [structs.replace(trial.recipe, name="") for trial in trials]
    duplicates = [trial.name for index, trial in enumerate(trials) if settings[index] in settings[:index]]
    if duplicates:
        raise ValueError(f"the sweep has {duplicates[0]} twice. Give each value once.")
    if len({trial.recipe.training.monitor for trial in trials}) > 1:
        raise ValueError(
            "a sweep keeps the best by training.monitor, and cannot compare runs of different ones. Choose one with "
            "--set training.monitor=NAME."
        )
    return trials


def split_values(text):
    """The values of "a,b,c"; a comma inside brackets or quotation marks belongs to its value."""
    parts, depth, quote = [""], 0, ""
    for letter in text:
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        depth += 0 if quote else BRACKETS.get(letter, 0)
        if letter == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += letter
    parts = [each.strip() for each in parts]
    if not all(parts):
        raise ValueError(f"expected values with one comma between them, such as 0.001,0.003; received {text!r}.")
    return parts


def _trial_name(assignments):
    """A folder's name, such as "learning_rate=0.001,cell=lstm"."""
    parts = (assignment.partition("=") for assignment in assignments)
    name = ",".join(f"{key.rpartition('.')[2] or key}={value}" for key, _, value in parts)
    return re.sub(r"[^\w.=,+-]+", "_", name)


def _check_count(count):
    if not 1 <= count <= MOST:
        raise ValueError(f"a series has from 1 to {MOST} runs; this one would have {count:,}.")


def check(trials, out, data=None, resume=False):
    """Refuse a series that cannot begin or go on, before any of its runs.

    Raises:
        ValueError: as of `zoo.runs.train`, of any of them.
    """
    for trial in trials:
        claim(resolve_initial(trial.recipe)[0], out / trial.name, resume)
        start.check_data(trial.recipe, ("train", "valid"), data)


def train_all(trials, out, data=None, resume=False, log=None):
    """Train the trials in folders of `out` and return a row for each.

    A row has the `run`'s name, its `steps`, `seconds` and scores (`valid`), or `failed`, why it has none: a loss that
    is not finite ends one run and not the series.

    Raises:
        Stopped: Ctrl-C was pressed.
        FloatingPointError: no run has a finite loss.
    """
    log, rows = log or _print, []
    most = max(trial.recipe.training.steps for trial in trials)
    log(f"{len(trials)} {'run' if len(trials) == 1 else 'runs'} of at most {most:,} steps each")
    for number, trial in enumerate(trials, 1):
        place, row = f"run {number} of {len(trials)}", {"run": trial.name}
        try:
            summary = _read_finished(trial, out / trial.name) if resume else None
            log(f"{place}: {trial.name}{' is finished' if summary else ''}")
            if summary is None:
                summary = start.train(trial.recipe, out / trial.name, data, resume, log=log)
                keras.utils.clear_session()  # frees what Keras keeps of the finished run
                gc.collect()
            row |= {"steps": summary["steps"], "seconds": summary["training_seconds"], "valid": summary["valid"]}
        except KeyboardInterrupt:
            raise Stopped(out / trial.name, trial.recipe.training.steps, place) from None
        except FloatingPointError as error:
            log(f"{place}: {error}")
            row["failed"] = str(error)
        rows.append(row)
    if all("failed" in row for row in rows):
        raise FloatingPointError(f"no run of the series has a finite loss: {rows[0]['failed']}")
    return rows


def _print(line):
    print(line, file=sys.stderr, flush=True)


def _read_finished(trial, directory):
    """The content of training.json, if the run was finished with these settings; else None."""
    summary = read_json(directory, folder.SUMMARY)
    if summary is None or read_stored(directory / "recipe.toml") != resolve_initial(trial.recipe)[0]:
        return None
    return summary


def repeat(recipe, count, out, data=None, resume=False, log=None):
    """Train a recipe with `count` seeds, and write OUT/summary.json.

    Returns:
        `{"recipe", "runs", "valid"}`: the rows of `train_all`, and mean and standard deviation (of a sample) of each
        score of the validation.

    Raises:
        ValueError: see `check`; or there is a single run in `out`.
    """
    out, trials = Path(out), seed_trials(recipe, count)
    if (out / "recipe.toml").is_file():
        raise ValueError(f"{out} holds a run. Choose another --out for the {count} runs of a series.")
    check(trials, out, data, resume)
    with one_writer(out):
        rows = train_all(trials, out, data, resume, log)
        return _write(
            out, {"recipe": recipe.name, "runs": rows, "valid": summarize([row for row in rows if "valid" in row])}
        )


def summarize(rows):
    """`{score: {"mean", "deviation"}}` of the validations; the deviation of a single run is None."""
    names = [name for name in rows[0]["valid"] if all(isinstance(row["valid"].get(name), float) for row in rows)]
    columns = {name: [row["valid"][name] for row in rows] for name in names}
    return {
        name: {
            "mean": statistics.fmean(column),
            "deviation": statistics.stdev(column) if len(column) > 1 else None,
        }
        for name, column in columns.items()
    }


def search(trials, out, data=None, resume=False, log=None):
    """Train the trials of a `sweep` in OUT/tried, make OUT a copy of the best run, and write OUT/summary.json.

    Returns:
        `{"recipe", "runs", "best", "monitor"}`: the rows of `train_all`, and the name of the best one.

    Raises:
        ValueError: see `check`; or there is a run in `out` already, or other files with the names of a run's.
    """
    out, recipe = Path(out), trials[0].recipe
    if not (resume and (out / TRIED).is_dir()):
        if (out / "recipe.toml").is_file():
            raise ValueError(f"{out} holds a run already. Continue a sweep with --resume, or choose another --out.")
        claim(recipe, out, False)
        refuse_others(out, ("checkpoint", "tensorboard", SUMMARY))
    check(trials, out / TRIED, data, resume)
    if recipe.training.monitor == "nll" and any(trial.recipe.text != recipe.text for trial in trials):
        (log or _print)("the vocabularies differ, and nll counts their tokens: it does not compare them")
    monitor = recipe.training.monitor

    def loss(row):
        value = zoo_training.MONITORS[monitor](row["valid"]) if "valid" in row else math.nan
        return math.inf if math.isnan(value) else value

    with one_writer(out):
        rows = train_all(trials, out / TRIED, data, resume, log)
        best = min(rows, key=loss)["run"]
        _copy_run(out / TRIED / best, out)
        return _write(out, {"recipe": recipe.name, "runs": rows, "best": best, "monitor": monitor})


def _copy_run(run, out):
    """Make `out` a copy of the run, whatever run was there before. Meanwhile it has no model, so no finished run."""
    out.mkdir(parents=True, exist_ok=True)
    content = (run / MODEL).read_bytes()
    if (out / MODEL).is_file() and (out / MODEL).read_bytes() != content:
        evaluations.forget(out)  # the answers of the former best model
    (out / MODEL).unlink(missing_ok=True)
    for each in run.iterdir():
        if each.is_dir():
            shutil.rmtree(out / each.name, ignore_errors=True)
    shutil.copytree(run, out, dirs_exist_ok=True, ignore=lambda folder, names: {MODEL, LOCK} & set(names))
    write_bytes(out / MODEL, content)


def _write(out, summary):
    write_json(out / SUMMARY, summary)
    return summary
