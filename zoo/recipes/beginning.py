"""A recipe that begins with a network trained elsewhere: its sizes and vocabulary, and a short gentle training."""

import os

from zoo.hub.resolve import is_path
from zoo.recipes.files import idle
from zoo.recipes.folder import OF_VOCABULARIES, find_initial
from zoo.recipes.recipe import allowed, plain
from zoo.settings import table
from zoo.settings.slots import SLOTS
from zoo.tasks import TASKS

GENTLE, STRONG = 5e-5, 3e-4  # learning rates of large and of small networks, from which they are interpolated
AT, FALLS = 10e6, 0.5  # a network of 10 million weights has the strongest, and four times the weights half of a rate
PASSES = ((5_000, 4), (20_000, 3))  # times that each example is seen, by how many examples there are at most
FEWEST_PASSES, FEWEST = 2, 150  # passes where there are more, and steps at least
CHECKS = 10  # validations of a training
SHOWN = ("units", "num_layers", "num_heads", "hidden_units", "dropout")  # though they may be defaults


def starter(task, network, own):
    """The tables with which a training of `task` begins with a network.

    Args:
        task: its name.
        network: the folder of a run, as `seqzoo train` and `seqzoo import` write it, or of an artefact's version, or
            the name of a model in a hub. The recipe keeps a name with its version, which is the same on every machine.
        own: the starter of the task for the same data, of which the loss and the score of the validation are taken.

    Returns:
        (settings, table by table; notes).

    Raises:
        ValueError: there is no such network, or the task cannot begin with it.
    """
    initial = find_initial(network, "--from")
    if not is_path(network):
        network = f"{initial.directory.parent.name}@{initial.directory.name}"
    _check(task, initial)
    there = plain(initial.recipe)
    settings = {name: there[name] for name in ("text", "model", *SLOTS) if there.get(name)}
    if task == initial.recipe.task or initial.recipe.search and TASKS[task].sides == initial.recipe.job.sides:
        settings |= {"search": there["search"]} if there.get("search") else {}
    if TASKS[task].untrained:
        settings["loss"] = own["loss"]
    settings = _readable({"name": task, "task": task} | settings)
    if "words" in own.get("text", {}):  # a rule of the data, and not of the vocabulary
        settings["text"] = settings.get("text", {}) | {"words": own["text"]["words"]}
    weights = initial.model.stat().st_size / 4
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
        f"its vocabulary; a learning rate of {rate:.1g} for that size"
    ]


def steps(examples, batch_size):
    """The length of a training: `{"steps", "validate_every", "warmup"}`, a tenth of the steps each of the latter."""
    passes = next((passes for most, passes in PASSES if examples <= most), FEWEST_PASSES)
    every = max(1, round(max(FEWEST, passes * examples / batch_size) / CHECKS))
    return {"steps": every * CHECKS, "validate_every": every, "warmup": every}


def _check(task, initial):
    """Refuse a network that the task cannot begin with."""
    job, there = TASKS[task], initial.recipe.job
    readers = {name for name, each in TASKS.items() if each.sides == ("source",) and each.kind != "running"}
    alike = readers if task in readers else {name for name, each in TASKS.items() if _writes_as(each, job)}
    if there.name not in alike:
        raise ValueError(
            f"--from: the network of {initial.directory} has learnt the task {there.name!r}, and {task} cannot begin "
            f"with it. Expected one of a task among {', '.join(sorted(alike))}, such as `seqzoo import` makes of "
            f"{'an encoder (BERT, MiniLM)' if task in readers else 'a network that writes (Marian, GPT-2)'}."
        )
    kind = initial.recipe.model.__struct_config__.tag
    if kind not in job.models:
        raise ValueError(
            f"--from: the network of {initial.directory} is of the kind {kind!r}, and {task} has models of the kinds "
            f"{', '.join(job.models)}."
        )


def _writes_as(one, other):
    return (one.sides, one.kind == "running") == (other.sides, other.kind == "running")


def _readable(settings):
    """Those that the task has a place for, that have an effect there, and that are not its defaults anyway."""
    places = allowed(settings)
    kept = {}
    for where in (name for name in ("text", "model", *SLOTS, "loss", "search") if name in settings and name in places):
        known = _class(where, places[where], settings[where])
        kept[where] = settings[where] if known is None else _select_settings(known, settings[where], where)
    whole = {name: settings[name] for name in ("name", "task")} | kept
    for path in sorted(idle(whole), reverse=True):
        whole = table.without(whole, path)
    return {name: value for name, value in whole.items() if name in kept and value}


def _class(where, classes, own):
    """The class of a table; None of a layer that is somebody's own."""
    named = table.names(classes)
    field = classes[0].__struct_config__.tag_field
    return named.get(own.get(field)) if field in own else classes[0]


def _select_settings(known, own, where):
    """What a table says that is neither unknown there nor a default; its choice, always."""
    fields, field = table.fields(known), known.__struct_config__.tag_field
    told = {field: own[field]} if field in own else {}
    kept = OF_VOCABULARIES if where == "text" else ()  # which training.init decides
    for name, value in own.items():
        if name in fields and name not in kept and (name in SHOWN or value != _default(known, name)):
            told[name] = value
    return told


def _default(known, name):
    value = table.default(known, name)
    return table.plain(value) if isinstance(value, table.Table) else value
