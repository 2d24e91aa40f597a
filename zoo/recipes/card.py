"""What a run was trained on, in numbers: the data card in its folder, and the notes that a training begins with."""

from zoo.core.wording import quantity
from zoo.data import formats
from zoo.data.formats.base import quote
from zoo.data.formats.unknown import alike_labels, main_labels, say_unknown, unknown_labels
from zoo.tasks.parts.vocabularies import right_answers

FEW = 3  # places that a note names


def describe(splits, own):
    """(the card of `zoo.data.formats.card`, lines to print) of `{split: Examples}` of `[data]`."""
    card, lines = formats.card(splits, own.licence, own.rules_off), [*say_rules_off(own), *describe_omissions(splits)]
    lines += [_say_duplicates(where, found) for where, found in card["duplicates"].items() if found["count"]]
    return card, lines


def find_learnt(recipe, examples):
    """({"in_training": how many of `Examples` have an input of the training}, notes), if its files can be read."""
    if examples.kind == "running" or "hf://" in str(recipe.data.train):  # which would be fetched
        return {}, []
    try:
        found = formats.duplicates(recipe.job.examples(recipe, "train"), examples)
    except ValueError:  # they are no longer there
        return {}, []
    note = f"{_say_duplicates('these examples and of the training', found)}: what was learnt flatters the scores"
    return {"in_training": found["count"]}, [note] * (found["count"] > 0)


def _say_duplicates(where, found):
    places = f", such as {'; '.join(found['first'][:FEW])}" if found["first"] else ""
    are = "is" if found["count"] == 1 else "are"
    return f"{quantity(found['count'], 'input')} of {where} {are} the same ({100 * found['share']:.1f} %){places}"


def say_rules_off(own):
    """A note of the rules of mending that `[data]` turns off."""
    return [f"rules of mending that are off: {', '.join(own.rules_off)}"] if own.rules_off else []


def describe_omissions(splits):
    """Notes of what was left out of `{split: Examples}`, or read otherwise than it was written; each stands once."""
    splits_of = {}
    for name, part in splits.items():
        for note in part.notes:
            splits_of.setdefault(note, []).append(name)
        if count := count_several_answers(part):
            splits_of.setdefault(f"inputs that come with several different answers: {count:,}", []).append(name)
    return [f"{', '.join(names)}: {note}" for note, names in splits_of.items()]


def mend_labels(task, recipe, splits):
    """`{split: Examples}` whose labels are written as in the training, where the most frequent spelling wins."""
    if not task.labelled:
        return splits
    train = splits["train"]
    train = task.mend_labels(recipe, train, main_labels(label for each in train.answers for label in task.split(each)))
    labels = task.labels(recipe, train.answers)
    return {name: train if name == "train" else task.mend_labels(recipe, part, labels) for name, part in splits.items()}


def find_untaught(task, recipe, splits):
    """Notes of the labels that other splits have and the training does not teach.

    Raises:
        ValueError: training and validation have one label alone, or the training teaches none of the validation's.
    """
    if not task.labelled:
        return []
    outside = recipe.scope.label if recipe.job.scope else None  # it need not be taught
    taught = task.labels(recipe, splits["train"].answers)
    known = [answer for split in ("train", "valid") for answer in splits[split].answers]
    if len(task.labels(recipe, known)) < 2:
        raise ValueError(
            f"training and validation have {quantity(len(known), 'example')}, all with the label {quote(taught[0])}; "
            "expected 2 labels or more, or there is nothing to tell apart. Give more examples, or a file for each part."
        )
    alike = alike_labels(taught)
    pairs = [f"{' and '.join(map(quote, each))} ({cause.removeprefix('which differs by ')})" for each, cause in alike]
    lines = [f"labels that may be one: {', '.join(pairs[:FEW])}; write them alike if they are"] if alike else []
    for name, part in splits.items():
        labels = [label for answer in part.answers for label in task.split(answer) if label != outside]
        unknown = unknown_labels(taught, labels)
        if not unknown:
            continue
        note = f"{name}: labels that the training does not have: {say_unknown(unknown, taught, 'the training')}"
        if name == "valid" and not set(taught) & set(labels):
            raise ValueError(f"{note}. It has none of the validation's: write them alike, or name the right columns.")
        lines.append(note)
    return lines


def count_several_answers(part):
    """How many inputs of `Examples` occur with different answers, such as pronunciations of a word."""
    return (
        0
        if part.kind == "running"
        else sum(len(each) > 1 for each in right_answers(part.inputs, part.answers).values())
    )
