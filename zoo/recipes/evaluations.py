"""The files that an evaluation writes into a run folder, and the comparison of two runs by them.

`SPLIT.outputs.json` holds inputs and outputs, how they are scored, and by which lengths they may be grouped. For other
examples than the recipe's own it is `SPLIT.NAME.outputs.json`, whose split is called `SPLIT.NAME`. `sha256` names the
test set: two runs that have the same one answered the same examples.
"""

import contextlib
import json
import math
import re
from pathlib import Path

import numpy as np

from zoo import scores as scoring
from zoo.core.storage import json_text, write_json, write_text
from zoo.scores.comparison import confused_pairs, rank_mistakes
from zoo.tasks.parts import corpora

SUFFIX, SCORES = ".outputs.json", "scores.json"
TEXTS = ("outputs", "inputs", "references")
WRITTEN = ("task", "split", "count", "sha256", "scored_by", "options", "lengths", "scores")  # whatever the task
TENTHS = 10  # parts of a running text
UNUSUAL = re.compile(r"[^\w.-]+")  # characters that a file's name should not have


def name_split(split, data=None):
    """The name of a split; of other examples than the run's own, which `data` names, it is `SPLIT.DATA`.

    A corpus that has a split of its own, such as test_2016, is named by that alone.
    """
    own = data is None or data == split and split not in corpora.SPLITS
    return split if own else f"{split}.{UNUSUAL.sub('_', data)}"


def write(directory, recipe, split, evaluation):
    """Keep an evaluation in a run folder; a crash leaves the old file or the new one.

    Args:
        directory: the run folder.
        recipe: the run's.
        split: which was evaluated.
        evaluation: see `zoo.runs.evaluation`.
    """
    write_text(path(directory, split), json_text(record(recipe, split, evaluation)) + "\n")


def record(recipe, split, evaluation):
    """The record of an evaluation, as a dict that JSON can hold."""
    task = recipe.job
    name, options = task.choose_scoring(recipe, evaluation.references)
    result = {
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
    if not recipe.data.windows:  # the windows of a running text are no answers
        result |= {name: getattr(evaluation, name) for name in TEXTS}
    return result | evaluation.measured


def mistakes(recipe, evaluation, most):
    """The worst answers of an evaluation, for a file or a page.

    Args:
        recipe: the run's.
        evaluation: see `zoo.runs.evaluation`.
        most: how many are listed.

    Returns:
        (a dict, the numbers of all wrong answers). The dict has `wrong`, their number; `measure`, the name of what
        orders them, or None, see `rank_mistakes`; `rows`, a list of {"example", "place", "input", "answer",
        "reference", "confidence", MEASURE}, the worst first ("place" only of examples that have one); and of labels and
        tags `confused`, the pairs of them that are confused.
    """
    job = recipe.job
    _, outputs, inputs, references, measured, confidences, places = evaluation
    name, options = job.choose_scoring(recipe, references)
    if name == "language_model":
        measure, values, order = rank_mistakes(name, measured["nats"], measured["characters"])
        outputs = [None] * len(values)
        if recipe.data.windows:
            inputs = [inputs[0][start:end] for start, end in _window_places(measured["characters"])]
            references = [None] * len(values)
    else:
        measure, values, order = rank_mistakes(name, outputs, references, confidences, **options)
    columns = {"place": places} if places else {}
    columns |= {"input": inputs, "answer": outputs, "reference": references}
    columns["confidence"] = confidences or [None] * len(outputs)
    columns |= {measure: values.tolist()} if measure else {}
    rows = [{"example": row + 1} | {key: column[row] for key, column in columns.items()} for row in order[:most]]
    worst = {"wrong": len(order), "measure": measure, "rows": rows}
    if job.labelled:
        sides = ([label for answer in side for label in job.split(answer)] for side in (outputs, references))
        worst["confused"] = confused_pairs(*sides)
    return worst, order


def finite_scores(scores):
    """The finite numbers and intervals among scores, as an entry of an index has them."""
    return {
        name: value
        for name, value in scores.items()
        if (name.endswith("_interval") and isinstance(value, list) or type(value) in (int, float))
        and all(map(math.isfinite, value if isinstance(value, list) else [value]))
    }


def read_scores(directory):
    """The scores in `scores.json` of a run folder; {} where there is no such file yet.

    Raises:
        ValueError: the file is damaged.
    """
    file, scores = Path(directory, SCORES), None
    if not file.is_file():
        return {}
    with contextlib.suppress(ValueError):
        scores = json.loads(file.read_text(encoding="utf-8"))
    if not isinstance(scores, dict):
        raise ValueError(f"{file} is damaged: expected scores of `seqzoo evaluate`. Remove it, and evaluate again.")
    return scores


def write_scores(directory, scores, name=None):
    """Write the scores of the recipe's own test set, or of other examples beside them, into a run folder.

    Args:
        directory: the run folder.
        scores: a dict.
        name: of another set of examples; None for the recipe's own. The scores of other sets stay.
    """
    before = read_scores(directory)
    others = before.get("elsewhere", {})
    if name is not None:
        scores, others = before, others | {name: finite_scores(scores)}
    write_json(Path(directory, SCORES), scores | ({"elsewhere": others} if others else {}))


def forget(directory):
    """Remove scores and answers from a run folder whose model becomes another one."""
    for each in (Path(directory, SCORES), *(path(directory, split) for split in splits(directory))):
        each.unlink(missing_ok=True)


def path(directory, split):
    """The file with the answers to a split."""
    return Path(directory) / f"{split}{SUFFIX}"


def splits(directory):
    """The splits whose answers are in a run folder, sorted."""
    return sorted(each.name.removesuffix(SUFFIX) for each in Path(directory).glob(f"*{SUFFIX}"))


def shared_split(runs):
    """The split that all runs have answered: "test", or the only one.

    Raises:
        ValueError: there is none, or there are several.
    """
    for run in runs:
        check_folder(run)
    splits_of = [splits(run) for run in runs]
    shared = [split for split in splits_of[0] if all(split in own for own in splits_of)]
    if "test" in shared or len(shared) == 1:
        return "test" if "test" in shared else shared[0]
    if shared:
        raise ValueError(f"{runs[0]} keeps answers to the splits {', '.join(shared)}. Choose one with --split.")
    some = next((own[0] for own in splits_of if own), "test")
    for run, own in zip(runs, splits_of, strict=True):
        if not own:
            raise ValueError(f"{run} keeps no answers. {remedy(run, some)}")
    received = "; ".join(f"{run} on {', '.join(own)}" for run, own in zip(runs, splits_of, strict=True))
    raise ValueError(f"Expected runs that were evaluated on one split; received {received}. {remedy(runs[-1], some)}")


def check_same(first, second, one, other):
    """Refuse two runs of other tasks, or that answered other examples.

    Args:
        first: the run folder of `one`.
        second: the run folder of `other`.
        one: what `read` returned of the first run.
        other: what it returned of the second one, of the same split.

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
        mend = (
            f"Evaluate both on the same data first: seqzoo evaluate {first} --split {_base_split(split)} --data DATA; "
            f"seqzoo evaluate {second} --split {_base_split(split)} --data DATA; with the same --limit, if any. "
            f"Answers to other files than a recipe's own are compared with --split {_base_split(split)}.FILE."
        )
        if not (Path(first).is_dir() and Path(second).is_dir()):
            mend = "A published model is compared with what has answered the same test set."
        raise ValueError(
            f"{first} and {second} were evaluated on other test sets: the examples of their split {split} differ "
            f"({one['count']:,} and {other['count']:,} of them; sha256 {ids[0]} and {ids[1]}). {mend}"
        )


def read(directory, split):
    """The record that `write` wrote, as a dict.

    Raises:
        ValueError: there is no such file, or it is damaged.
    """
    file = path(directory, split)
    if not file.is_file():
        check_folder(directory)
        raise ValueError(f"{directory} keeps no answers to the split {split}. {remedy(directory, split)}")
    try:
        result = json.loads(file.read_text(encoding="utf-8"))
        if result["format"] != 1 or not all(name in result for name in WRITTEN):
            raise KeyError("format")
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{file} is damaged, or of another version of seqzoo. {remedy(directory, split)}") from error
    return result


def check_folder(directory):
    """Refuse a run folder that does not exist.

    Raises:
        ValueError: there is no such folder.
    """
    if not Path(directory).is_dir():
        raise ValueError(f"There is no run {directory}: expected the folder that `seqzoo train` wrote.")


def remedy(directory, split):
    """The command that makes the file."""
    if split != _base_split(split):
        return f"Make them with: seqzoo evaluate {directory} --split {_base_split(split)} --data DATA (and --as NAME)."
    return f"Make them with: seqzoo evaluate {directory} --split {split} (and --data, if its recipe needs it)."


def _base_split(split):
    """The recipe's split in a name of `name_split`."""
    return split.partition(".")[0]


def compare(first, second, split=None):
    """Test two runs on the same test set by the paired bootstrap, see `zoo.scores.compare`.

    Args:
        first: a run folder, evaluated by `seqzoo evaluate`.
        second: another one, whose outputs are compared with those of the first.
        split: the name of the test set; by default "test", or the only one that both have.

    Returns:
        What `zoo.scores.compare` returns, `b` being the second; `split`, `sha256` of the test set, and `grouped_by`,
        "label", "length" or "part". `task` is the one of the recipes, and `scored_by` the one of `zoo.scores`. The
        rows of `differ` have their "input"; of a running text it says which characters.

    Raises:
        ValueError: a run was not evaluated, or the runs are of other tasks or were evaluated on other test sets.
    """
    split = split or shared_split((first, second))
    return compare_records(first, second, *(read(each, split) for each in (first, second)))


def compare_records(first, second, *sides):
    """As `compare`, of two records; `first` and `second` name them in messages."""
    check_same(first, second, *sides)
    name, options = _choose_scores(first, second, *sides)
    if name == "language_model":
        *answers, references, sizes = _align(*sides)
        options, inputs = options | {"bytes": sizes}, sides[0].get("inputs")
        inputs = inputs or [f"characters {start + 1:,} to {end:,}" for start, end in _window_places(references)]
    else:
        answers, references, inputs = [side["outputs"] for side in sides], sides[0]["references"], sides[0]["inputs"]
    grouped_by, groups = _groups(sides[0], references)
    comparison = scoring.compare(name, *answers, references, groups, **options)
    for row in comparison["differ"]:
        row["input"] = inputs[row["example"]]
    task = {"task": sides[0]["task"], "split": sides[0]["split"], "sha256": sides[0]["sha256"], "scored_by": name}
    return task | {"grouped_by": grouped_by} | {key: value for key, value in comparison.items() if key != "task"}


def _choose_scores(first, second, one, other):
    """(the name of the scores, their options). The label that is out of scope for one run is so for the other, too."""
    scorings = [(side["scored_by"], side["options"]) for side in (one, other)]
    scoped = [each for each in scorings if each[0] == "out_of_scope"]
    if scoped and len(scoped) < 2:
        return scoped[0]
    if scorings[0] != scorings[1]:
        (name, options), (other_name, other_options) = scorings
        raise ValueError(
            f"{first} is scored by {name} with {options}, and {second} by {other_name} with {other_options}: expected "
            "two runs that are scored alike. Evaluate both with recipes that have the same settings there."
        )
    return scorings[0]


def _groups(side, references):
    """(the property that examples are grouped by, {name: numbers of the examples})."""
    if side["lengths"]:
        groups = scoring.length_groups(side["lengths"])
        return "length", {f"{group['from']}-{group['to']}": group["examples"] for group in groups}
    if "nats" in side:
        parts = np.array_split(np.arange(len(references)), min(TENTHS, len(references)))
        return "part", {f"{100 * place // len(parts)} %": part.tolist() for place, part in enumerate(parts)}
    groups = {}
    for example, label in enumerate(references):
        groups.setdefault(label, []).append(example)
    return "label", dict(sorted(groups.items()))


def _window_places(characters):
    """(start, end) of each window of a running text, in characters."""
    ends = np.rint(np.cumsum(characters)).astype(int)
    return zip([0, *ends[:-1]], ends, strict=True)


def _align(one, other):
    """(nats of the one, nats of the other, characters, bytes) of the same pieces of text.

    Two models whose windows are the same are compared window by window. Others cut the text at other places: there,
    pieces of equal length, each of about two windows, stand for the windows. The nats of a window are spread evenly
    over its characters, so that nats move across the border of a piece at most; the totals stay.
    """
    lengths = [np.array(side["characters"]) for side in (one, other)]
    if lengths[0].shape == lengths[1].shape and np.allclose(*lengths):
        return one["nats"], other["nats"], one["characters"], one["bytes"]
    ends = [np.append(0.0, np.cumsum(each)) for each in lengths]
    borders = np.linspace(0, ends[0][-1], max(1, min(map(len, lengths)) // 2) + 1)

    def cut(side, name, ends):
        return np.diff(np.interp(borders, ends, np.append(0.0, np.cumsum(side[name])))).tolist()

    nats = [cut(side, "nats", at) for side, at in zip((one, other), ends, strict=True)]
    return *nats, np.diff(borders).tolist(), cut(one, "bytes", ends[0])
