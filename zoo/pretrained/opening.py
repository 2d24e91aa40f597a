"""From a source to its model: the family is found, its configuration read, the model built of a recipe, and filled."""

import dataclasses
import importlib
import importlib.metadata
import math
import pkgutil
from typing import Any

from zoo.core.later import later
from zoo.pretrained import families as our_families, generation
from zoo.pretrained.network import Family, Network, families
from zoo.pretrained.reading import ODD
from zoo.pretrained.rules import fill
from zoo.recipes.recipe import make
from zoo.settings import occupants
from zoo.settings.training import Search

building = later("zoo.tasks.parts.building")
selection = later("zoo.training.selection")

WRITING = "translate", "transduce"  # tasks that write an output for a source
SLACK, ROOM, FEWEST = 64, 10**6, 100  # a block may be copied, positions computed, and all layers be one
GROUP = "seqzoo.families"  # of entry points, whose values are modules


@dataclasses.dataclass(frozen=True)
class Opened:
    """A source whose weights are in our model.

    Attributes:
        folds: what was done to its weights, in words.
        spare: `{name: why}` of the tensors that were not needed.
    """

    family: Family
    network: Network
    recipe: Any
    model: Any
    tokenizers: tuple
    folds: list
    spare: dict


def family_of(source):
    """The family that knows a source.

    Raises:
        ValueError: no family knows it.
    """
    for module in pkgutil.iter_modules(our_families.__path__):
        importlib.import_module(f"{our_families.__name__}.{module.name}")
    for point in importlib.metadata.entry_points(group=GROUP):
        importlib.import_module(point.module)
    if source.has("recipe.toml") and not source.has("config.json"):
        raise ValueError(f"{source.address} is a run or an artefact of seqzoo, which needs no import.")
    source.config  # noqa: B018  one that holds no settings is refused here
    for family in families():
        if family.knows(source):
            return family
    kind = source.json("config.json").get("model_type")
    names = ", ".join(sorted(each.name for each in families()))
    lacking = "names no model_type in its config.json" if source.has("config.json") else "holds no config.json"
    raise ValueError(
        f"{source.address} {f'is of the type {kind!r}' if kind else lacking}, which no family knows. "
        f"Known are {names}; docs/pretrained.md says how to write one."
    )


def open_source(source, tokenizers=True, imports=()):
    """The `Opened` of a source.

    Args:
        source: a `zoo.pretrained.source.Source`.
        tokenizers: whether its tokenizers are made as well.
        imports: modules that bring families or layers, from the working folder, too.

    Raises:
        ValueError: something of it cannot be carried; the message names all that is of the same kind.
    """
    occupants.import_modules(imports)
    family = family_of(source)
    network = _call_family(source, family, lambda: family.network(source))
    if any(source.languages) and not network.languages:
        raise ValueError(
            f"{source.address}: a network of the family {family.name} has no languages to choose from; received "
            f"{' and '.join(repr(each) for each in source.languages if each)}. Leave --source-language and "
            "--target-language out."
        )
    search = search_table(source, network)
    source.config.finish()
    of_sides = _call_family(source, family, network.tokenizers) if tokenizers else ()
    check_sizes(source, network)
    head = {"name": "imported", "system": network.recipe["model"]["kind"]}
    recipe = make({**head, **network.recipe, "text": text_table(network, of_sides), **search})
    labels = [len(network.labels)] if recipe.job.labelled else []
    sizes = [len(network.ids_of(side)) for side in recipe.job.sides] + labels
    model = building.build_model(recipe.job, recipe, *sizes)
    try:
        folds, spare = fill(
            selection.named_weights(model), source.tensors, network.rules, network.unneeded, network.constants
        )
    except ValueError as error:
        raise ValueError(f"{source.address}: {error}") from error
    return Opened(family, network, recipe, model, of_sides, folds, spare)


def _call_family(source, family, function):
    """What a function of a family returns; where it fails, an error says in words that a file has another form."""
    try:
        return function()
    except (ValueError, MemoryError, *ODD) as error:
        source.config.raise_problems()  # a value that was refused may be the reason
        if isinstance(error, ValueError):
            raise
        raise ValueError(
            f"{source.address}: one of its files has another form than those of the family {family.name}: {error!r}"
        ) from error


def check_sizes(source, network):
    """Refuse a network that is far larger than its weights, before memory is taken for it.

    Raises:
        ValueError: its configuration asks for many more numbers, or layers, than its files hold.
    """
    tables = {name: each if isinstance(each, dict) else {"layer": each} for name, each in network.recipe.items()}
    model, of = tables["model"], lambda name: tables.get(name, {})
    units, layers = model.get("units", 0), model.get("num_layers", 1) + model.get("decoder_layers", 0)
    shapes = [each.shape for each in source.tensors.values()]
    blocks = 1 if of("depth").get("layer") == "universal" else layers
    heads = model.get("num_heads", 1) * of("attention").get("head_units", 0)
    needed = blocks * units * (2 * model.get("hidden_units", 0) + heads)
    needed += len(network.ids) * of("embedding").get("width", units)
    learned = of("positions").get("layer") == "learned"
    needed += units * (of("positions").get("max_positions") or model.get("context", 0)) * learned
    stored = sum(map(math.prod, shapes))
    if needed > SLACK * stored + ROOM or layers > len(shapes) + FEWEST:
        raise ValueError(
            f"{source.address} asks for a network of {layers:,} layers and more than {needed:,} numbers, and its "
            f"weights are {len(shapes):,} tensors with {stored:,}. So they are not of one network."
        )


def text_table(network, tokenizers):
    """The table `text`; the longest text of a network counts the ids that stand around it, and a recipe does not."""
    text = {"vocab_size": len(network.ids_of("source"))} | network.recipe.get("text", {})
    if not tokenizers or "max_input_length" not in text:
        return text
    return text | {"max_input_length": max(1, text["max_input_length"] - tokenizers[0].around.size)}


def search_table(source, network):
    """The table `search` of a network that writes, which searches as its framework does; other searches are refused."""
    prompts = network.recipe["task"] == "continue"
    if not prompts and network.recipe["task"] not in WRITING or not source.has("config.json"):
        return {}
    settings = generation.settings_of(source) | network.generation
    search, problems = generation.search_of(settings, network.ids, prompts, network.barred)
    for each in problems:
        source.config.refuse(f"generation: {each}")
    places = network.recipe.get("positions")
    if not prompts and isinstance(places, dict) and "max_positions" in places:  # no output has more tokens
        longest = search.get("max_output_length", Search().max_output_length)
        search["max_output_length"] = min(longest, places["max_positions"])
    return {"search": search | network.recipe.get("search", {})}
