"""What a run was trained on, in numbers: the data card in its folder, and what of it is told at once."""

from zoo.data import formats

FEW = 3  # places that are told


def describe(splits, licence=""):
    """(the card of `zoo.data.formats.card`, lines that are worth telling) of `{split: Examples}`."""
    card, lines = formats.card(splits, licence), notes(splits)
    for where, found in card["duplicates"].items():
        if found["count"]:
            places = f", such as {'; '.join(found['first'][:FEW])}" if found["first"] else ""
            lines.append(f"{found['count']:,} inputs of {where} are the same ({100 * found['share']:.1f} %){places}")
    return card, lines


def notes(splits):
    """What was left out, or read otherwise than it was written, of `{split: Examples}`; of one file it is told once."""
    found = {}
    for name, part in splits.items():
        for note in part.notes:
            found.setdefault(note, []).append(name)
    return [f"{', '.join(names)}: {note}" for note, names in found.items()]
