"""A recipe for files of one's own: what `seqzoo new` writes after looking at them."""

import re
from collections import Counter
from pathlib import Path

from zoo.recipes import languages
from zoo.recipes.recipe import TEXTS, allowed, make
from zoo.recipes.toml import line, toml
from zoo.settings import table
from zoo.settings.kinds import choices
from zoo.tasks import TASKS

SPLITS = {"train": ("train", "training"), "valid": ("valid", "val", "dev", "validation"), "test": ("test", "eval")}
UPDATES = 30  # times that a training sees each example, within the bounds below
FEWEST, MOST = 200, 6_000  # steps
LOOKED_AT = 200_000  # examples that are read to choose sizes


def propose(task, files, name):
    """(settings, notes) of a recipe that trains as it is.

    Args:
        task: the name of a task.
        files: their paths. Which split a file belongs to is told by its name (train, valid or dev, test); the others
            are for training.
        name: of the recipe.

    Raises:
        ValueError: there is no such task, or the files cannot be read; the message says what is wrong where.
    """
    from zoo.data import formats

    if task not in TASKS:
        raise ValueError(f"There is no task {task!r}.{table.hint(task, TASKS)} The tasks are {', '.join(TASKS)}.")
    job = TASKS[task]
    splits = by_split([str(each) for each in files])
    if "train" not in splits:
        raise ValueError(
            f"None of the files is for training: {', '.join(map(str, files))}. Name the training file, too."
        )
    found = formats.detect(splits["train"], job.kind)
    train = formats.read(splits["train"], job.kind, format=found.format, columns=found.columns)
    data = {"corpus": "files"} | {key: own[0] if len(own) == 1 else own for key, own in splits.items()}
    data |= {"format": found.format} | ({"columns": found.columns} if found.columns else {})
    if "test" not in splits:
        data["test_share"] = 0.1
    if job.between_languages:
        data |= languages.guess(splits["train"], found.columns or {}, train.inputs, train.answers)
    settings = {"name": name, "task": task, "description": f"{_what(job)} from {Path(splits['train'][0]).name}."}
    starter = job.starter(train)
    settings |= {"data": data} | merged(sizes(job, starter, train), starter)
    notes = [f"{found.format}: {found.why}" if found.why else found.format, *_counted(job, train)]
    return settings, notes + languages.notes(data.get("target_language"))


def by_split(files):
    """`{"train": [...], "valid": [...], "test": [...]}` of files, by the words in their names."""
    found = {}
    for path in files:
        words = re.split(r"[^a-z]+", Path(path).name.lower()) if not path.startswith("hf://") else path.split(":")
        split = next((name for name, said in SPLITS.items() if set(words) & set(said)), "train")
        found.setdefault(split, []).append(path)
    return {name: found[name] for name in SPLITS if name in found}


def sizes(job, starter, train):
    """The settings that the data decide: sizes of vocabularies, and the length of the training."""
    texts, said = job.texts(train.inputs, train.answers), starter.get("text", {})
    text = {"vocab_size": _vocabulary(texts[0], said.get("pieces", "unigram"))}
    if len(texts) > 1:
        text["target"] = {"vocab_size": _vocabulary(texts[1], said.get("target", {}).get("pieces", "unigram"))}
    if job.kind == "running":
        return {"text": text}
    batch = starter["training"]["batch_size"]
    steps = min(MOST, max(FEWEST, UPDATES * len(train) // batch))
    every = max(1, steps // 10)
    training = {"steps": every * 10, "validate_every": every, "warmup": every}
    return {"text": text, "training": training}


def merged(base, own):
    """`base` with `own`, table by table."""
    result = dict(base)
    for key, value in own.items():
        result[key] = merged(result.get(key, {}), value) if isinstance(value, dict) else value
    return result


def _vocabulary(texts, pieces):
    """A size that the texts fill: of characters all, of words those that occur twice, of subwords a tenth of them."""
    texts = texts[:LOOKED_AT]
    if pieces == "char":
        return len(set().union(*texts)) + 8
    counts = Counter(word for text in texts for word in text.split())
    if pieces == "word":
        return max(16, sum(count > 1 for count in counts.values()) + 8)
    letters = len(set().union(*counts)) if counts else 0
    return min(16_000, max(2 * letters + 20, 200, len(counts) // 2))


def _what(job):
    return type(job).__doc__.split(",")[0].split(";")[0].strip().rstrip(".")


def _counted(job, train):
    if job.kind == "running":
        return [f"{len(train.inputs[0]):,} characters"]
    notes = [f"{len(train):,} examples"]
    if job.labelled:
        labels = Counter(label for answer in train.answers for label in job.split(answer))
        shown = ", ".join(f"{label} {count:,}" for label, count in labels.most_common(5))
        notes.append(f"{len(labels)} labels: {shown}{', ...' if len(labels) > 5 else ''}")
    return notes


def commented(settings, notes=()):
    """The TOML text of a recipe, each setting with its meaning beside it.

    Raises:
        ValueError: the settings are no recipe.
    """
    make(settings)
    places, lines = allowed(settings), [f"# {note}\n" for note in notes]
    lines += [line(key, value, TEXTS[key]) for key, value in settings.items() if key not in places]
    for name, classes in places.items():
        if name in settings:
            lines += _table(name, classes, settings[name])
    return "".join(lines)


def _table(where, classes, settings):
    field = classes[0].__struct_config__.tag_field
    chosen = table.names(classes).get(settings.get(field), classes[0])
    lines, inner, known = [f"\n[{where}]\n"], [], table.fields(chosen)
    for key, value in settings.items():
        kind = known[key].type if key in known else None
        if kind and table.nested(kind):
            inner += _table(f"{where}.{key}", (table.nested(kind),), value)
        elif isinstance(value, dict):
            inner.append(f"\n[{where}.{key}]  # {table.meaning(kind)}\n{toml(value)}")
        else:
            lines.append(line(key, value, _meaning(kind, value) if kind else _chosen(chosen, classes)))
    return lines + inner


def _chosen(own, classes):
    """What a table that was chosen is, and what else could have been."""
    others = [name for name in table.names(classes) if name != own.__struct_config__.tag]
    return _or(own.__doc__.splitlines()[0].rstrip("."), others)


def _meaning(kind, value):
    """What a setting means, and what else it could be where it is chosen from a few words."""
    return _or(table.meaning(kind), [each for each in choices(kind) if each != value])


def _or(said, others):
    return f"{said}; or {', '.join(others)}" if others else said
