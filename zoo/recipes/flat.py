"""Recipes as they were written before tables: 71 settings side by side, read as what they are called today."""

import re
import tomllib

from zoo.recipes.toml import toml
from zoo.settings import data, entrance, models, slots, table, text
from zoo.settings.training import DepthLoss, Search, TokenLoss, Training
from zoo.tasks import TASKS

MODELS = {  # what the model was called -> (task, kind)
    "seq2seq": ("translate", "recurrent"),
    "transformer": ("translate", "transformer"),
    "language_model": ("continue", "transformer"),
    "classifier": ("classify", "transformer"),
    "tagger": ("tag", "transformer"),
}
CORPORA = {each.__struct_config__.tag: each for each in data.Data.__subclasses__()}
RENAMED = {  # settings whose names are other ones today
    "judge": "training.monitor",
    "babi_task": "data.number",
    "source_vocab_size": "text.vocab_size",
    "source_pieces": "text.pieces",
    "source_normalization": "text.normalization",
    "target_vocab_size": "text.target.vocab_size",
    "target_pieces": "text.target.pieces",
    "target_normalization": "text.target.normalization",
    "shared_vocabulary": "text.shared",
    "subword_candidates": "text.noise.candidates",
    "subword_rare": "text.noise.rare",
    "subword_alpha": "text.noise.alpha",
    "token_dropout": "text.noise.dropout",
    "spelling_alone": "embedding.alone",
    "sentences": "embedding.shortest",
    "label_smoothing": "loss.label_smoothing",
    "loss_chunks": "loss.chunks",
    "beam": "search.beam",
    "alpha": "search.alpha",
    "max_output_length": "search.max_output_length",
}
IN_DEPTH = {  # settings of the depth that belong to the loss today, and one that has another name
    "judge": "loss.oracle",
    "oracle": "loss.oracle",
    "price": "loss.price",
    "width": "loss.width",
    "alpha": "loss.alpha",
    "memory": "depth.activations",
}
PLAIN = {  # where each setting stands that keeps its name
    **{name: "text" for each in (text.TwoSided, text.Labelled) for name in table.fields(each)},
    **{name: "data" for each in CORPORA.values() for name in table.fields(each)},
    **{name: "model" for each in (models.Recurrent, models.Transformer) for name in table.fields(each)},
    **{name: "training" for name in table.fields(Training)},
}
HOLDING = {  # the tables that have what there was before, some of it each
    "data": [each for each in CORPORA.values() if each not in (data.Files, data.RunningFiles)],
    "text": (text.TwoSided, text.Labelled),
    "model": (models.Recurrent, models.Transformer),
    "embedding": (entrance.Spelled,),
    "loss": (TokenLoss,),
    "training": (Training,),
    "search": (Search,),
}
KEPT = ("name", "system", "description", "extends", "imports")
ORDER = ("extends", "name", "task", "system", "description", "imports", "data", "text", "model")
TAGS = ("corpus", "kind", "layer")
SLOTS = ("attention", "feedforward", "block", "depth", "positions")


def is_flat(settings):
    """Whether settings are written as before: one that is known by its old place, no task and no table of today's."""
    old = {"data", "model", "spelling"} | RENAMED.keys() | PLAIN.keys()
    return (
        not _is_of_today(settings)
        and any(key in old and not isinstance(settings[key], dict) for key in settings)
        and not any(
            isinstance(settings.get(key), dict) for key in ("data", "text", "model", "loss", "training", "search")
        )
    )


def _is_of_today(settings):
    task = settings.get("task")
    return isinstance(task, str) and task in TASKS


def is_loose(settings):
    """Whether a file that extends another one says a setting without its table, or in the one that it had before."""
    depth = settings.get("depth")
    moved = isinstance(depth, dict) and depth.keys() & IN_DEPTH.keys()
    return bool(moved) or any(place(key) and not isinstance(value, dict) for key, value in settings.items())


def place(key):
    """("table", ..., "setting") of a setting's old name, or None where there was no such setting."""
    if key in RENAMED:
        return tuple(RENAMED[key].split("."))
    return (PLAIN[key], key) if key in PLAIN else None


def _is_usual(key, value):
    """Whether a setting has the default that it had before, and has today where there is a place for it."""
    where = place(key)
    if where is None:
        return key == "spelling" and value is False
    if key in ("source_language", "target_language"):
        return value == ""
    first, *rest = where
    holding = [each for each in HOLDING[first] if rest[0] in table.fields(each)]
    return any(table.default(each, ".".join(rest)) == value for each in holding)


def nested(settings, whole=True):
    """The tables that flat settings come to; the values are checked where they are read.

    Args:
        settings: the flat settings; those that stand in a table already stay there.
        whole: whether they are a whole recipe, whose model has a default. A whole recipe may spell out defaults also
            where they have no effect, as run folders did.

    Raises:
        ValueError: a setting that there never was, or one under both of its names.
    """
    result = {key: settings[key] for key in KEPT if key in settings}
    result |= {"task": settings["task"]} if _is_of_today(settings) else {}
    model = settings.get("model", "seq2seq" if whole else None)
    if isinstance(model, str):
        if model not in MODELS:
            raise ValueError(
                f"model must be one of {', '.join(MODELS)}; received {model!r}.{table.hint(model, MODELS)}"
            )
        task, kind = MODELS[model]
        result["model"] = {"kind": kind}
        if whole or model != kind:  # "transformer" is a kind today, of every task
            result["task"] = task
    if "judge" in settings and "monitor" in settings:
        raise ValueError("judge is the former name of monitor, and both are given. Keep monitor alone.")
    for key, value in settings.items():
        if key in (*KEPT, "task") or (key == "model" and isinstance(value, str)) or (whole and _is_usual(key, value)):
            continue
        if isinstance(value, dict) and key not in SLOTS:
            for name, each in value.items():
                _put(result, (key, name), each)
            continue
        if key == "data":
            _put(result, ("data", "corpus"), value)
        elif key in SLOTS:
            _slot(result, key, value)
        elif key == "spelling":
            _put(result, ("embedding", "layer"), "spelled" if value else "tokens")
        elif key == "sentences" and value:
            _put(result, ("embedding", "layer"), "sentences")
            _put(result, ("embedding", "shortest"), value)
        elif key == "sentences":
            continue
        elif (where := place(key)) is not None:
            _put(result, where, value)
        else:
            raise ValueError(f"unknown setting {key!r}.{table.hint(key, [*RENAMED, *PLAIN])}")
    return result


def _slot(result, slot, value):
    """A slot's table, without what belongs to the loss today."""
    if isinstance(value, str):
        if value and value != "none" or (slot == "attention" and value):
            _put(result, (slot, "layer"), value)
        return
    for name, each in value.items():
        if slot == "depth" and name in IN_DEPTH:
            target = IN_DEPTH[name]
            if name in ("judge", "memory") and {"judge": "oracle", "memory": "activations"}[name] in value:
                raise ValueError(f"depth.{name} is the former name of {target}, and both are given. Keep one of them.")
            _put(result, tuple(target.split(".")), each)
            if target.startswith("loss"):
                _put(result, ("loss", "kind"), DepthLoss.__struct_config__.tag)
        else:
            _put(result, (slot, name), each)


def _put(result, where, value):
    *tables, name = where
    for each in tables:
        result = result.setdefault(each, {})
    result[name] = value


def stored(settings, allowed):
    """The tables of a run folder's flat recipe, where every setting stands, also those without effect.

    A run was trained without what has no effect, so that is left out here instead of refused. `allowed` is
    `zoo.recipes.recipe.allowed`.
    """
    whole = nested({"max_input_length": 0} | settings)  # a run without it was trained on whole texts
    places = allowed(whole)
    kept = {key: value for key, value in whole.items() if not isinstance(value, dict) or key in places}
    for name, classes in places.items():
        if name in kept:
            kept[name] = table.readable(classes, kept[name])
    return kept


def rewritten(text):
    """The text of a flat recipe in tables; what stands above it as a comment stays there.

    Raises:
        ValueError: it is no flat recipe, or has a setting that there never was.
    """
    settings = tomllib.loads(text)
    if not (is_flat(settings) or is_loose(settings)):
        raise ValueError("the recipe is written in tables already, so there is nothing to rewrite.")
    lines = re.findall(r".*\n?", text)  # a line of TOML ends with a line feed alone
    comments = lines[: next((at for at, line in enumerate(lines) if line.strip()[:1] not in ("#", "")), len(lines))]
    tables = nested(settings, whole="extends" not in settings)
    return "".join(comments) + toml(_in_order(tables))


def _in_order(tables):
    """The tables in the order of a recipe, what chooses first in each."""
    places = (*ORDER, *slots.SLOTS, "loss", "training", "search")
    result = {key: tables[key] for key in places if key in tables}
    for key, each in result.items():
        if isinstance(each, dict):
            result[key] = {name: each[name] for name in (*TAGS, *each) if name in each}
    return result
