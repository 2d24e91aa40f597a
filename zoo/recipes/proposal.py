"""A recipe for files of one's own: what `seqzoo new` writes after looking at them."""

import contextlib
import os
import re
from collections import Counter
from pathlib import Path

from zoo.core.wording import quantity
from zoo.data import formats
from zoo.data.formats.names import normal
from zoo.recipes import beginning, languages
from zoo.recipes.card import describe, find_untaught, mend_labels
from zoo.recipes.files import combine_settings, merge, merge_overrides
from zoo.recipes.recipe import TEXTS, allowed_tables, make
from zoo.recipes.toml import comment, line, toml
from zoo.scores.labels import choose_rules, describe_rules
from zoo.settings import table
from zoo.settings.table import choices
from zoo.tasks import TASKS
from zoo.tasks.parts import corpora
from zoo.tasks.parts.vocabularies import decompose

SPLITS = {  # words in the names of files; testa and testb are those of CoNLL
    "train": ("train", "training"),
    "valid": ("valid", "val", "dev", "validation", "testa"),
    "test": ("test", "eval", "testb"),
}
PASSES = 30  # times that a training sees each example, within the bounds below
FEWEST, MOST = 200, 6_000  # steps
LOOKED_AT = 200_000  # examples that are read to choose sizes
OUT_OF_SCOPE = ("oos", "ood", "out_of_scope", "out_of_domain")  # normalised names of a label


def propose(task, files, name, overrides=(), network=None):
    """(settings, notes) of a recipe that trains as it is.

    Args:
        task: the name of a task.
        files: their paths. The name of a file says to which split it belongs (train, valid or dev, test); the others
            are for training.
        name: of the recipe.
        overrides: settings that are decided already, as `zoo.recipes.load` takes them. Their columns, format and
            encoding decide how the files are read.
        network: the folder of a run or an artefact's version, or the model, with which the training begins, see
            `zoo.recipes.beginning`.

    Raises:
        ValueError: there is no such task, or the files cannot be read, or cannot be cut into splits; the message says
            what is wrong where.
    """
    if task not in TASKS:
        raise ValueError(f"There is no task {task!r}.{table.hint(task, TASKS)} The tasks are {', '.join(TASKS)}.")
    places = [os.path.realpath(each) for each in files]
    for file, real in zip(files, places, strict=True):
        if places.count(real) > 1:
            raise ValueError(f"{file} is given twice, by its name or by a link to it. Name each file once.")
    job, overrides = TASKS[task], merge_overrides(overrides)
    if overrides.get("task", task) != task:
        raise ValueError(f"the recipe is for the task {task}; received task={overrides['task']!r}. Leave it out.")
    splits, data_overrides = group_by_split([str(each) for each in files]), overrides.get("data", {})
    if "train" not in splits:
        raise ValueError(
            f"None of the files is for training: {', '.join(map(str, files))}. Name the training file, too."
        )
    encoding = {key: data_overrides[key] for key in ("encoding", "encodings") if key in data_overrides}
    rules_off = table.read("data", job.data[:1], data_overrides | {"corpus": "files"}).rules_off
    options = encoding | {"rules_off": rules_off}
    chosen = {key: data_overrides[key] for key in ("format", "columns") if data_overrides.get(key)}
    detected, kind = _detect(job, splits["train"], options | chosen)
    layout = {"format": detected.format}
    if detected.columns:
        columns = chosen.get("columns", {})
        layout["columns"] = columns | detected.columns | _header(detected, columns)
    train = formats.read(splits["train"], kind, **layout, **options)
    data = {"corpus": "files"} | {key: own[0] if len(own) == 1 else own for key, own in splits.items()}
    data |= layout | encoding
    if not (data | data_overrides).get("test"):
        data["test_share"] = 0.1
    if job.between_languages:
        data |= languages.guess(splits["train"], detected.columns or {}, train.inputs, train.answers)
    settings = {
        "name": name,
        "task": task,
        "description": f"{task.capitalize()}, from {Path(splits['train'][0]).name}.",
    }
    if network is None and job.init_needed:
        raise ValueError(job.init_needed)
    starter, network_notes = _starter(job, train, overrides), []
    if network is not None:
        texts = job.texts(train.inputs, train.answers)
        starter, network_notes = beginning.starter(task, network, starter, texts)
    starter = merge(sizes(job, starter, train, network), starter)
    settings = combine_settings([settings | {"data": data} | starter, overrides])
    parts = mend_labels(job, make(settings), _read_splits(settings, train))
    settings = combine_settings([settings, _scope(job, parts) | _context(settings, parts), overrides])
    notes = [
        f"{detected.format}: {detected.why}" if detected.why else detected.format,
        *_describe_columns(detected),
        *_describe_counts(job, parts),
        *_describe_length(settings, parts["train"]),
        *job.notes(train),
        *(() if network else job.reasons(train)),
        *describe(parts, make(settings).data)[1],
        *find_untaught(job, make(settings), parts),
    ]
    if label := settings.get("scope", {}).get("label"):
        notes.append(f"{label!r} is the label of texts that are out of scope; see [scope]")
    return settings, notes + network_notes + languages.notes(settings["data"].get("target_language"))


def _starter(job, train, overrides):
    """The task's starter for the kind of model that overrides choose; a rate that suits another kind is left out."""
    model = overrides.get("model", {})
    kind = model.get("kind") if isinstance(model, dict) else model
    starter = job.starter(train, kind)
    if kind and starter.get("model", {}).get("kind", kind) != kind:
        starter["training"].pop("learning_rate", None)
    return starter


def _detect(job, files, options):
    """(what is detected, the kind of examples): the task's other kind where the files have none of its first kind."""
    try:
        return formats.detect(files, job.kind, **options), job.kind
    except ValueError:
        if job.other_kind:
            with contextlib.suppress(ValueError):
                return formats.detect(files, job.other_kind, **options), job.other_kind
        raise


def _header(detected, columns):
    """`{"header": whether line 1 holds names}` where columns are numbers: else it would be detected file by file."""
    numbered = any(str(column).isdigit() for column in (*columns.values(), *detected.columns.values()))
    return {"header": detected.details["header"]} if numbered and detected.format in ("csv", "tsv") else {}


def _read_splits(settings, whole):
    """`{split: Examples}`, as the training and the evaluation will read them.

    Raises:
        ValueError: a file of another split is wrong, or the training file is too small to be cut.
    """
    recipe = make(settings)
    return {split: corpora.examples(recipe, recipe.job.kind_of(recipe), split, None, whole) for split in SPLITS}


def _scope(job, parts):
    """`[scope]`, where a label has one of the names in `OUT_OF_SCOPE`.

    A threshold is chosen on such texts of the validation; those of the training are learnt as a label of their own.
    """
    answers = {split: part.answers for split, part in parts.items()} if job.scope else {}
    label = next((each for own in answers.values() for each in own if normal(each) in OUT_OF_SCOPE), None)
    if label is None or label not in (*answers["train"], *answers["valid"]):
        return {}
    threshold, trained = (label in answers[split] for split in ("valid", "train"))
    return {"scope": {"label": label, "threshold": threshold, "trained": trained}}


def _context(settings, parts):
    """A shorter context for running text of which a part has fewer characters than a window has."""
    context = settings.get("model", {}).get("context")
    if not context:
        return {}
    characters = set(parts["train"].inputs[0])
    shortest = min(_count_tokens(part.inputs[0], characters) for part in parts.values())
    return {"model": {"context": shortest}} if shortest < context else {}


def _count_tokens(text, vocabulary):
    """How many tokens a text has in a vocabulary of characters, which reads adjacent unknown ones as one."""
    return sum(one in vocabulary or before in vocabulary for before, one in zip("\n" + text, text, strict=False))


def group_by_split(files):
    """`{"train": [...], "valid": [...], "test": [...]}` of files, by the words in their names."""
    paths = {}
    for path in files:
        words = re.split(r"[^a-z]+", Path(path).name.lower()) if not path.startswith("hf://") else path.split(":")
        split = next((name for name, names in SPLITS.items() if set(words) & set(names)), "train")
        paths.setdefault(split, []).append(path)
    return {name: paths[name] for name in SPLITS if name in paths}


def sizes(job, starter, train, network=None):
    """The settings that the data decide: sizes of vocabularies, and the length of the training."""
    if network is not None:
        return (
            {}
            if job.kind == "running"
            else {"training": beginning.steps(len(train), starter["training"]["batch_size"])}
        )
    texts, text_settings = job.texts(train.inputs, train.answers), starter.get("text", {})
    text = {"vocab_size": _vocabulary_size(texts[0], text_settings)}
    if len(texts) > 1:
        text["target"] = {"vocab_size": _vocabulary_size(texts[1], text_settings.get("target", {}))}
    if job.kind == "running":
        return {"text": text}
    batch = starter["training"]["batch_size"]
    steps = min(MOST, max(FEWEST, PASSES * len(train) // batch))
    every = max(1, steps // 10)
    training = {"steps": every * 10, "validate_every": every, "warmup": every}
    return {"text": text, "training": training}


def _vocabulary_size(texts, settings):
    """A size that the texts fill: all characters; words that occur twice; half as many subwords as there are words."""
    texts, pieces = texts[:LOOKED_AT], settings.get("pieces", "unigram")
    if settings.get("normalization") == "nfd":
        texts = list(map(decompose, texts))
    if pieces == "char":
        return len(set().union(*texts)) + 8
    counts = Counter(word for text in texts for word in text.split())
    if pieces == "word":
        return max(16, sum(count > 1 for count in counts.values()) + 8)
    letters = len(set().union(*counts)) if counts else 0
    return min(16_000, max(2 * letters + 20, 200, len(counts) // 2))


def _describe_columns(detected):
    """A note that says which column has which role, where the files have columns."""
    columns = ", ".join(f"{role}: {column!r}" for role, column in detected.columns.items())
    return [columns] if columns and detected.format != "lines" else []


def _describe_length(settings, train):
    """A note on how often a training sees its examples; none of running text, or where the recipe leaves it open."""
    steps, batch = (settings.get("training", {}).get(name) for name in ("steps", "batch_size"))
    if train.kind == "running" or not steps or not batch:
        return []
    passes = steps * batch / max(1, len(train))
    return [f"{quantity(steps, 'step')} of {quantity(batch, 'example')}: each is seen about {passes:.3g} times"]


def _describe_counts(job, parts):
    """Notes that say how many examples (of running text characters) and labels the splits have."""
    is_text = job.kind == "running"
    counts = {split: len(part.inputs[0]) if is_text else len(part) for split, part in parts.items()}
    shown = ", ".join(f"{split} {count:,}" for split, count in counts.items())
    notes = [f"{quantity(sum(counts.values()), 'character' if is_text else 'example')}: {shown}"]
    if job.labelled:
        labels = Counter(label for part in parts.values() for answer in part.answers for label in job.split(answer))
        shown = ", ".join(f"{label} {count:,}" for label, count in labels.most_common(5))
        notes.append(f"{quantity(len(labels), 'label')}: {shown}{', ...' if len(labels) > 5 else ''}")
    if job.kind == "tagged":
        tags = [answer.split(" ") for answer in parts["train"].answers]
        notes += filter(None, [describe_rules(*choose_rules(tags, tags))])
    return notes


def dumps_with_comments(settings, notes=()):
    """The TOML text of a recipe, each setting with its meaning beside it.

    Raises:
        ValueError: the settings are no recipe.
    """
    make(settings)
    places, lines = allowed_tables(settings), list(map(comment, notes))
    lines += [line(key, value, TEXTS.get(key, "")) for key, value in settings.items() if key not in places]
    for name, classes in places.items():
        if name in settings:
            lines += _table(name, classes, settings[name])
    return "".join(lines)


def _table(where, classes, settings):
    field = classes[0].__struct_config__.tag_field
    chosen = table.by_tag(classes).get(settings.get(field), classes[0])
    lines, inner, fields = [f"\n[{where}]\n"], [], table.fields(chosen)
    for key, value in settings.items():
        kind = fields[key].type if key in fields else None
        if kind and table.nested_table(kind):
            inner += _table(f"{where}.{key}", (table.nested_table(kind),), value)
        elif isinstance(value, dict):
            inner.append(f"\n[{where}.{key}]  {comment(table.meaning(kind))}{toml(value)}")
        else:
            lines.append(line(key, value, _meaning(kind, value) if kind else _explain_choice(chosen, classes)))
    return lines + inner


def _explain_choice(own, classes):
    """The meaning of the chosen kind of a table, and the other kinds."""
    others = [name for name in table.by_tag(classes) if name != own.__struct_config__.tag]
    return _with_alternatives(own.__doc__.splitlines()[0].rstrip("."), others)


def _meaning(kind, value):
    """The meaning of a setting, and its other values where it is chosen from a few words."""
    return _with_alternatives(table.meaning(kind), [each for each in choices(kind) if each != value])


def _with_alternatives(meaning, others):
    return f"{meaning}; or {', '.join(others)}" if others else meaning
