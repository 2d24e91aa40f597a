"""What cannot stand together in one recipe, as a table; a recipe is refused by it before anything is read.

`MIXES` holds what two slots do to each other, `FITS` what the numbers of one layer must be to each other.
"""

import dataclasses
from collections.abc import Callable

from zoo.recipes.layers import LAYERS, number_of_blocks, placed

RECOMPUTED = ("reversible", "checkpoint")  # what a reversible stack remembers, where its blocks run twice
LEARNED_EXITS = ("sequence", "multinomial", "geometric")


@dataclasses.dataclass(frozen=True)
class Mix:
    """A mix of layers that is refused: `holds(settings)` finds it, `why` explains it, `instead` mends it."""

    holds: Callable[[dict], bool]
    why: str
    instead: str


def _layer(settings, slot):
    return settings[slot]["layer"]


def _own(settings, slot, name):
    """A layer's own setting, or its default."""
    table = settings[slot]
    return table.get(name, LAYERS[slot][table["layer"]].own[name].default)


def _recomputes(settings):
    return _layer(settings, "depth") == "reversible" and _own(settings, "depth", "activations") in RECOMPUTED


def _batch_norm(settings):
    return _layer(settings, "feedforward") == "product_key" and _own(settings, "feedforward", "query_norm") == "batch"


def _cannot_pass_by(settings):
    known = _layer(settings, "attention") in ("multi_head", "adaptive_span")
    return _layer(settings, "depth") == "depth_adaptive" and not known


def _halves_an_odd_width(settings):
    taken = any("hidden_units" in layer.takes for _, layer, _ in placed(settings))
    return settings["block"] == "macaron" and taken and settings["hidden_units"] % 2 == 1


MIXES = (
    Mix(
        lambda settings: _layer(settings, "depth") == "reversible" and settings["block"] == "post_norm",
        'depth = "reversible" cannot undo the norm that a post_norm block lays on its stream',
        'block = "pre_norm" or "macaron", or depth = "stack"',
    ),
    Mix(
        lambda settings: _recomputes(settings) and _batch_norm(settings),
        "a reversible stack runs its blocks twice in a training step, and a product_key memory with batch norms would "
        "count each batch twice in its statistics",
        'feedforward.query_norm = "layer", or depth.activations = "plain"',
    ),
    Mix(
        _cannot_pass_by,
        "a token that leaves a depth_adaptive decoder passes by the blocks above it, where its keys and values are "
        "needed without a look at others",
        'attention = "multi_head" or "adaptive_span", or depth = "stack"',
    ),
    Mix(
        lambda settings: _layer(settings, "depth") == "depth_adaptive" and settings["loss_chunks"] > 1,
        "a depth_adaptive decoder needs the logits of all its depths at once",
        "loss_chunks = 1",
    ),
    Mix(
        lambda settings: (
            _layer(settings, "depth") == "depth_adaptive"
            and _own(settings, "depth", "paths") > 0
            and _own(settings, "depth", "exit") in LEARNED_EXITS
        ),
        "a rule of exit learns from the losses of all depths, and training by paths has those of the paths alone",
        'depth.paths = 0, or depth.exit = "last"',
    ),
    Mix(
        _halves_an_odd_width,
        "a macaron block halves hidden_units between its two feed-forward layers, so they must be even",
        "an even hidden_units",
    ),
)


def _heads_divide(settings, slot, table):
    return settings["units"] % settings["num_heads"] == 0


def _span_fits(settings, slot, table):
    return max(_own(settings, slot, "window") or 1, _own(settings, slot, "initial_span")) <= _own(
        settings, slot, "max_span"
    )


def _keys_suffice(settings, slot, table):
    return _own(settings, slot, "k") <= _own(settings, slot, "num_keys") ** 2


def _longest(settings):
    """How many positions a model sees in training at most, as far as the recipe tells; 0 where it does not."""
    if settings["data"] == "text":
        return settings["context"]
    if settings["data"] == "duplication" and settings["source_pieces"] == "char":
        return -(-(2 * settings["longest"] + 2) // 4) * 4  # batches are as wide as the next multiple of 4
    return 0


def _reaches(name):
    def fits(settings, slot, table):
        return (table.get(name) or settings["context"]) >= _longest(settings)

    return fits


FITS = (  # (slot, layer, whether it is refused unless, what is expected); of slot None: each layer that has heads
    (None, None, _heads_divide, "units that num_heads divides evenly"),
    ("attention", "adaptive_span", _span_fits, "a window and an initial_span of at most max_span"),
    ("feedforward", "product_key", _keys_suffice, "k of at most num_keys^2"),
    ("attention", "multi_linear", _reaches("max_time"), "max_time (or context) no shorter than the texts"),
    ("positions", "learned", _reaches("max_positions"), "max_positions (or context) no fewer than the texts are long"),
    ("positions", "axial", _reaches(None), "a context no shorter than the texts"),
    (
        "positions",
        "axial",
        lambda settings, *_: settings["units"] % 2 == 0,
        "even units, half for rows, half for columns",
    ),
)
NO_HEADS_TO_DIVIDE = ("product_key",)  # its heads are queries, and share no width


def wrong_table(slot, settings):
    """What is wrong with the table of one slot, in words, or None."""
    table = settings[slot]
    layer = LAYERS[slot][table["layer"]]
    for name, value in table.items():
        setting = layer.own.get(name)
        if setting is None:
            continue
        if not setting.kind.accepts(value):
            return f"{slot}.{name} must be {setting.kind.words}; received {value!r}."
        for other, allowed in setting.only.items():
            if value != setting.default and _own(settings, slot, other) not in allowed:
                choices = " or ".join(repr(each) for each in allowed)
                return (
                    f"{slot}.{name}={value!r} has no effect: it is read where {slot}.{other} is {choices}; received "
                    f"{slot}.{other}={_own(settings, slot, other)!r}. Leave it out."
                )
    blocks, count = table.get("blocks", [1]), number_of_blocks(settings)
    if not isinstance(blocks, list) or not blocks or not all(type(one) is int and 1 <= one <= count for one in blocks):
        last = (
            f"num_layers={count}"
            if count == settings["num_layers"]
            else f"{count}, for a universal stack has one block"
        )
        return f"{slot}.blocks must list numbers from 1 to {last}; received {blocks!r}."
    return None


def wrong_mix(settings):
    """What cannot stand together in these settings, in words, or None."""
    for slot, layer, table in placed(settings):
        name = table.get("layer", "multi_head")
        for place, of, fits, expected in FITS:
            concerned = (place, of) == (slot, name) if place else _has_heads(layer, name)
            if concerned and not fits(settings, slot, table):
                return f"{name} needs {expected}; received {_sizes(settings, table)}."
    for mix in MIXES:
        if mix.holds(settings):
            return f"{mix.why}. Expected {mix.instead}; received {_received(settings)}."
    return None


def _has_heads(layer, name):
    return "num_heads" in layer.takes and name not in NO_HEADS_TO_DIVIDE


def _sizes(settings, table):
    shared = [f"{name}={settings[name]}" for name in ("units", "num_heads", "context")]
    return ", ".join(shared + [f"{name}={value!r}" for name, value in table.items() if name != "layer"])


def _received(settings):
    names = ("attention", "feedforward", "depth", "block", "hidden_units", "loss_chunks")
    return ", ".join(f"{name}={settings[name]!r}" for name in names)
