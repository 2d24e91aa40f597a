"""What an evaluation leaves in the run folder: answers that two runs can be compared by; without Keras.

`SPLIT.outputs.json` holds what was asked and answered, how it is scored, and by which lengths it may be grouped.
`sha256` names the test set: two runs that have the same one answered the same examples.
"""

import json
from pathlib import Path

from zoo.core.storage import json_text, write_text
from zoo.tasks.parts import corpora

SUFFIX = ".outputs.json"
TEXTS = ("outputs", "inputs", "references")


def write(directory, recipe, split, evaluation):
    """Keep an evaluation in a run folder; a crash leaves the old file or the new one.

    Args:
        directory: the run folder.
        recipe: the run's.
        split: which was evaluated.
        evaluation: see `zoo.recipes.evaluation`.
    """
    write_text(path(directory, split), json_text(record(recipe, split, evaluation)) + "\n")


def record(recipe, split, evaluation):
    """What is kept of an evaluation, as a dict that JSON can hold."""
    task = recipe.job
    name, options = task.scored_by(recipe, evaluation.references)
    kept = {
        "format": 1,
        "task": task.name,
        "split": split,
        "count": evaluation.scores["count"],
        "sha256": corpora.digest(evaluation.inputs, evaluation.references),
        "scored_by": name,
        "options": options,
        "lengths": task.lengths(recipe, evaluation.inputs),
        "scores": {key: value for key, value in evaluation.scores.items() if not isinstance(value, list | dict)}
        | {key: value for key, value in evaluation.scores.items() if key.endswith("_interval")},
    }
    if not recipe.data.windows:  # a running text is one, and its windows are not answers
        kept |= {name: getattr(evaluation, name) for name in TEXTS}
    return kept | evaluation.measured


def path(directory, split):
    """Where the answers to a split are kept."""
    return Path(directory) / f"{split}{SUFFIX}"


def splits(directory):
    """The splits whose answers are kept in a run folder, sorted."""
    return sorted(each.name.removesuffix(SUFFIX) for each in Path(directory).glob(f"*{SUFFIX}"))


def shared_split(runs):
    """The split that all runs have answered: "test", or the only one.

    Raises:
        ValueError: there is none, or there are several.
    """
    for run in runs:
        check_folder(run)
    found = [splits(run) for run in runs]
    shared = [split for split in found[0] if all(split in own for own in found)]
    if "test" in shared or len(shared) == 1:
        return "test" if "test" in shared else shared[0]
    if shared:
        raise ValueError(f"{runs[0]} keeps answers to the splits {', '.join(shared)}. Choose one with --split.")
    some = next((own[0] for own in found if own), "test")
    for run, own in zip(runs, found, strict=True):
        if not own:
            raise ValueError(f"{run} keeps no answers. {remedy(run, some)}")
    told = "; ".join(f"{run} on {', '.join(own)}" for run, own in zip(runs, found, strict=True))
    raise ValueError(f"Expected runs that were evaluated on one split; received {told}. {remedy(runs[-1], some)}")


def check_same(first, second, one, other):
    """Refuse two runs that were not asked the same.

    Args:
        first: the run folder of `one`.
        second: the run folder of `other`.
        one: what `read` returned.
        other: likewise, of the same split.

    Raises:
        ValueError: they are of other tasks, or of other examples.
    """
    if one["task"] != other["task"]:
        raise ValueError(
            f"{first} is a run of the task {one['task']} and {second} one of {other['task']}: expected runs of one "
            "task, which answer the same questions."
        )
    if one["sha256"] != other["sha256"]:
        split, ids = one["split"], [each["sha256"][:8] for each in (one, other)]
        raise ValueError(
            f"{first} and {second} were evaluated on other test sets: the examples of their split {split} differ "
            f"({one['count']:,} and {other['count']:,} of them; sha256 {ids[0]} and {ids[1]}). "
            f"Evaluate both on the same data first: seqzoo evaluate {first} --split {split} --data DATA; "
            f"seqzoo evaluate {second} --split {split} --data DATA; with the same --limit, if any."
        )


def read(directory, split):
    """What `write` kept, as a dict.

    Raises:
        ValueError: there is no such file, or it is damaged.
    """
    file = path(directory, split)
    if not file.is_file():
        check_folder(directory)
        raise ValueError(f"{directory} keeps no answers to the split {split}. {remedy(directory, split)}")
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        if kept["format"] != 1:
            raise KeyError("format")
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{file} is damaged, or of another version of seqzoo. {remedy(directory, split)}") from error
    return kept


def check_folder(directory):
    """Refuse a run that is not there.

    Raises:
        ValueError: there is no such folder.
    """
    if not Path(directory).is_dir():
        raise ValueError(f"There is no run {directory}: expected the folder that `seqzoo train` wrote.")


def remedy(directory, split):
    """The command that makes the file."""
    return f"Make them with: seqzoo evaluate {directory} --split {split} (and --data, if its recipe needs it)."
