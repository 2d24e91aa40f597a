"""A recipe that begins with a network trained elsewhere: its sizes and vocabulary, and a short gentle training."""

import json
import os

from zoo.hub.resolve import is_path
from zoo.recipes.files import idle_settings
from zoo.recipes.folder import MANIFEST, OF_VOCABULARIES, find_initial
from zoo.recipes.recipe import allowed_tables, plain
from zoo.settings import table
from zoo.settings.slots import SLOTS
from zoo.tasks import TASKS
from zoo.text.base import UNK
from zoo.text.tokenizer_files import load_tokenizer

GENTLE, STRONG = 5e-5, 3e-4  # the bounds of the learning rate, for large and for small networks
AT, FALLS = 10e6, 0.5  # 10 million weights have the largest rate, and four times as many weights half the rate
PASSES = ((5_000, 4), (20_000, 3))  # (largest number of examples, passes over them)
FEWEST_PASSES, FEWEST = 2, 150  # passes where there are more examples, and the fewest steps
CHECKS = 10  # validations of a training
LOOKED_AT, LONGEST, NOTABLE = 1_000, 20_000, 0.01  # texts, characters of one, and the share that is told
SHOWN = ("units", "num_layers", "num_heads", "hidden_units", "dropout")  # written even where they are defaults


def starter(task, network, own, texts=()):
    """The tables with which a training of `task` begins with a network.

    Args:
        task: its name.
        network: the folder of a run, as `seqzoo train` and `seqzoo import` write it, or of an artefact's version, or
            the name of a model in a hub. The recipe keeps a name with its version, which is the same on every machine.
        own: the starter of the task for the same data; its loss and the score of its validation are kept.
        texts: for each vocabulary of the network, texts of the training, of which some are looked at.

    Returns:
        (settings, table by table; notes).

    Raises:
        ValueError: there is no such network, or the task cannot begin with it.
    """
    initial = find_initial(network, "--from")
    if not is_path(network):
        network = f"{initial.directory.parent.name}@{initial.directory.name}"
    _check(task, initial)
    tables = plain(initial.recipe)
    settings = {name: tables[name] for name in ("text", "model", *SLOTS) if tables.get(name)}
    if task == initial.recipe.task or initial.recipe.search and TASKS[task].sides == initial.recipe.job.sides:
        settings |= {"search": tables["search"]} if tables.get("search") else {}
    if TASKS[task].init_needed:
        settings["loss"] = own["loss"]
    settings = _select_effective({"name": task, "task": task} | settings)
    if "words" in own.get("text", {}):  # a rule of the data, and not of the vocabulary
        settings["text"] = settings.get("text", {}) | {"words": own["text"]["words"]}
    weights = _count_weights(initial)
    rate = min(STRONG, max(GENTLE, STRONG * (AT / weights) ** FALLS))
    training = {key: value for key, value in own.get("training", {}).items() if key in ("batch_size", "monitor")}
    training |= {
        "init": os.fspath(network),
        "learning_rate": float(f"{rate:.1g}"),
        "schedule": "linear",
        "weight_decay": 0.01,
    }
    if TASKS[task].kind != "running":
        training["max_length"] = 0
    return settings | {"training": training}, [
        f"begins with {network} (task {initial.recipe.task}, about {weights / 1e6:,.1f} million weights), and keeps "
        f"its vocabulary; a learning rate of {rate:.1g} for that size",
        *_describe_texts(initial, settings.get("text", {}).get("max_input_length"), texts),
    ]


def _count_weights(initial):
    """About how many numbers the network has, by the size of its file and of a number in it."""
    manifest = initial.directory / MANIFEST
    storage = json.loads(manifest.read_text(encoding="utf-8")).get("storage") if manifest.is_file() else "float32"
    return initial.model.stat().st_size / {"float16": 2, "int8": 1}.get(storage, 4)


def _describe_texts(initial, most, texts):
    """Notes of texts that the vocabularies do not know, or that are longer than `most` tokens."""
    for path, own in zip(initial.tokenizers.values(), texts, strict=False):
        part = [text[:LONGEST] for text in own[:: len(own) // LOOKED_AT + 1]]
        ids = load_tokenizer(path).encode(part)
        unknown = sum(each.count(UNK) for each in ids) / max(1, sum(map(len, ids)))
        longer = sum(len(each) > most for each in ids) / len(ids) if most else 0
        if unknown > NOTABLE:
            yield (
                f"{100 * unknown:.1f} % of the pieces of the texts are unknown to the vocabulary {path.name}, and read "
                "alike: a network that knows their language or signs may do better"
            )
        if longer > NOTABLE:
            yield f"{100 * longer:.1f} % of the texts are longer than max_input_length = {most}; the rest is not read"


def steps(examples, batch_size):
    """The length of a training: `{"steps", "validate_every", "warmup"}`, a tenth of the steps each of the latter."""
    passes = next((passes for most, passes in PASSES if examples <= most), FEWEST_PASSES)
    every = max(1, round(max(FEWEST, passes * examples / batch_size) / CHECKS))
    return {"steps": every * CHECKS, "validate_every": every, "warmup": every}


def _check(task, initial):
    """Refuse a network that the task cannot begin with."""
    job, earlier = TASKS[task], initial.recipe.job
    readers = {name for name, each in TASKS.items() if each.sides == ("source",) and each.kind != "running"}
    alike = readers if task in readers else {name for name, each in TASKS.items() if _has_same_sides(each, job)}
    if earlier.name not in alike:
        raise ValueError(
            f"--from: the network of {initial.directory} has learnt the task {earlier.name!r}, and {task} cannot begin "
            f"with it. Expected one of a task among {', '.join(sorted(alike))}, such as `seqzoo import` makes of "
            f"{'an encoder (BERT, MiniLM)' if task in readers else 'a network that writes (Marian, GPT-2)'}."
        )
    kind = initial.recipe.model.__struct_config__.tag
    if kind not in job.models:
        raise ValueError(
            f"--from: the network of {initial.directory} is of the kind {kind!r}, and {task} has models of the kinds "
            f"{', '.join(job.models)}."
        )


def _has_same_sides(one, other):
    return (one.sides, one.kind == "running") == (other.sides, other.kind == "running")


def _select_effective(settings):
    """The settings that the task has a place for, that have an effect there, and that are not its defaults."""
    places = allowed_tables(settings)
    selected = {}
    for where in (name for name in ("text", "model", *SLOTS, "loss", "search") if name in settings and name in places):
        table_class = _table_class(places[where], settings[where])
        selected[where] = (
            settings[where] if table_class is None else _select_settings(table_class, settings[where], where)
        )
    whole = {name: settings[name] for name in ("name", "task")} | selected
    for path in sorted(idle_settings(whole), reverse=True):
        whole = table.without(whole, path)
    return {name: value for name, value in whole.items() if name in selected and value}


def _table_class(classes, own):
    """The class of a table; None for a layer of the user."""
    named = table.by_tag(classes)
    field = classes[0].__struct_config__.tag_field
    return named.get(own.get(field)) if field in own else classes[0]


def _select_settings(table_class, own, where):
    """The settings of a table that its class knows and that are no defaults, and always its choice."""
    fields, field = table.fields(table_class), table_class.__struct_config__.tag_field
    selected = {field: own[field]} if field in own else {}
    vocabulary = OF_VOCABULARIES if where == "text" else ()  # training.init decides these
    for name, value in own.items():
        if name in fields and name not in vocabulary:
            default = table.default(table_class, name)
            default = table.plain(default) if isinstance(default, table.Table) else default
            selected |= {name: value} if name in SHOWN or value != default else {}
    return selected
