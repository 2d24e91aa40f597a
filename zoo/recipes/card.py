"""What a run was trained on, in numbers: the data card in its folder, and what of it is told at once."""

from zoo.data import formats
from zoo.data.formats.base import quote
from zoo.data.formats.unknown import alike_labels, main_labels, say_unknown, unknown_labels
from zoo.tasks.parts.vocabularies import right_answers

FEW = 3  # places that are told


def describe(splits, own):
    """(the card of `zoo.data.formats.card`, lines that are worth telling) of `{split: Examples}` of `[data]`."""
    card, lines = formats.card(splits, own.licence, own.rules_off), [*say_rules_off(own), *notes(splits)]
    for where, duplicates in card["duplicates"].items():
        if duplicates["count"]:
            places = f", such as {'; '.join(duplicates['first'][:FEW])}" if duplicates["first"] else ""
            lines.append(
                f"{duplicates['count']:,} inputs of {where} are the same ({100 * duplicates['share']:.1f} %){places}"
            )
    return card, lines


def say_rules_off(own):
    """Which rules of mending `[data]` turns off, in words."""
    return [f"rules of mending that are off: {', '.join(own.rules_off)}"] if own.rules_off else []


def notes(splits):
    """What was left out, or read otherwise than it was written, of `{split: Examples}`; of one file it is told once."""
    splits_of = {}
    for name, part in splits.items():
        for note in part.notes:
            splits_of.setdefault(note, []).append(name)
        if count := several_answers(part):
            splits_of.setdefault(f"inputs that come with several different answers: {count:,}", []).append(name)
    return [f"{', '.join(names)}: {note}" for note, names in splits_of.items()]


def mended(task, recipe, splits):
    """The `{split: Examples}` whose labels are written as those of the training, and those as the commonest of them."""
    if not task.labelled:
        return splits
    train = splits["train"]
    train = task.mended(recipe, train, main_labels(label for each in train.answers for label in task.split(each)))
    known = task.labels(recipe, train.answers)
    return {name: train if name == "train" else task.mended(recipe, part, known) for name, part in splits.items()}


def untaught(task, recipe, splits):
    """What the other splits have as labels that the training does not teach, in words.

    Raises:
        ValueError: the training teaches no label of the validation.
    """
    if not task.labelled:
        return []
    outside = recipe.scope.label if recipe.job.scope else None  # which need not be taught
    known = task.labels(recipe, splits["train"].answers)
    alike = alike_labels(known)
    pairs = [f"{' and '.join(map(quote, each))} ({cause.removeprefix('which differs by ')})" for each, cause in alike]
    lines = [f"labels that may be one: {', '.join(pairs[:FEW])}; write them alike if they are"] if alike else []
    for name, part in splits.items():
        labels = [label for answer in part.answers for label in task.split(answer) if label != outside]
        unknown = unknown_labels(known, labels)
        if not unknown:
            continue
        said = f"{name}: labels that the training does not have: {say_unknown(unknown, known, 'the training')}"
        if name == "valid" and not set(known) & set(labels):
            raise ValueError(f"{said}. It has none of the validation's: write them alike, or name the right columns.")
        lines.append(said)
    return lines


def several_answers(part):
    """How many inputs stand in `Examples` with different answers, such as pronunciations of a word."""
    return (
        0
        if part.kind == "running"
        else sum(len(each) > 1 for each in right_answers(part.inputs, part.answers).values())
    )
