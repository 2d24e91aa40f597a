"""What the slots of a recipe may hold, and the settings of each layer: data alone, which imports no framework.

`zoo.recipes.slots` makes the layers. A test compares the settings here with what the constructors take, so that the two
cannot come apart.
"""

import dataclasses

from zoo.recipes.kinds import (
    BETWEEN,
    BUCKETS,
    COUNT,
    EVEN,
    FLAG,
    NOT_NEGATIVE,
    ODD,
    POSITIVE,
    Setting,
    at_least,
    one_of,
)

LAYERED = ("transformer", "language_model", "classifier", "tagger")
ATTENTION = ("multi_head", "lsh", "multi_linear")
CAUSAL_ATTENTION = (*ATTENTION, "adaptive_span")  # of a transformer's decoder; its encoder then has the default
DEPTH = ("stack", "reversible", "universal")
NOTHING = ("none",)
SLOTS = {  # what a slot of a model may hold; the first where the recipe does not say
    "attention": {
        "seq2seq": ("additive", "dot", "none"),
        "transformer": CAUSAL_ATTENTION,
        "language_model": CAUSAL_ATTENTION,
        "classifier": ATTENTION,
        "tagger": ATTENTION,
    },
    "feedforward": {"seq2seq": NOTHING} | dict.fromkeys(LAYERED, ("dense", "chunked", "product_key")),
    "depth": {
        "seq2seq": NOTHING,
        "transformer": (*DEPTH, "depth_adaptive"),
        "language_model": DEPTH,
        "classifier": (*DEPTH, "star"),
        "tagger": (*DEPTH, "star"),
    },
    "positions": {
        "seq2seq": NOTHING,
        "transformer": ("sinusoidal", "learned", "axial"),
        "language_model": ("sinusoidal", "learned", "axial"),
        "classifier": ("sinusoidal", "convolutional", "concatenated"),
        "tagger": ("sinusoidal", "convolutional", "concatenated"),
    },
}
BLOCKS = ("post_norm", "pre_norm", "macaron")
IN_BLOCKS = ("attention", "feedforward")  # slots that "blocks" may restrict to some blocks
WHY_NOT = {  # why a model has no such layer, where the list of those that it has does not explain itself
    "adaptive_span": "adaptive spans look back over what was written, and this model reads in both directions",
    "depth_adaptive": "its exits belong to the decoder of a transformer",
    "star": "a star sees the whole text at once, so it can read and not write",
}


@dataclasses.dataclass(frozen=True)
class Layer:
    """One layer that a slot may hold.

    Attributes:
        takes: settings of the recipe that reach it.
        own: settings of its own, in the slot's table.
        instead: own settings that replace one that it takes, as `{"max_time": "context"}`.
        replaces: slots that it leaves no place for.
    """

    takes: tuple[str, ...] = ()
    own: dict[str, Setting] = dataclasses.field(default_factory=dict)
    instead: dict[str, str] = dataclasses.field(default_factory=dict)
    replaces: tuple[str, ...] = ()


_HALTING = {"halting": ("accumulated", "interpolated")}
_LEARNED = {"exit": ("sequence", "multinomial", "geometric")}  # the rules of exit that training teaches
_OVER_TOKENS = {"exit": ("multinomial", "geometric")}
LAYERS = {
    "attention": {
        "additive": Layer(("units",)),
        "dot": Layer(("units",)),
        "none": Layer(),
        "multi_head": Layer(("units", "num_heads", "dropout", "seed"), {"use_bias": Setting(True, FLAG)}),
        "lsh": Layer(
            ("units", "num_heads", "seed"),
            {
                "num_buckets": Setting(16, BUCKETS),
                "chunk_length": Setting(64, POSITIVE),
                "rounds": Setting(2, POSITIVE),
                "use_bias": Setting(False, FLAG),
                "resample": Setting(False, FLAG),
            },
        ),
        "adaptive_span": Layer(
            ("units", "num_heads"),
            {
                "max_span": Setting(1024, POSITIVE),
                "ramp": Setting(32, at_least(2)),
                "penalty": Setting(2e-6, NOT_NEGATIVE),
                "dynamic": Setting(False, FLAG),
                "window": Setting(None, POSITIVE),
                "initial_span": Setting(0, COUNT, only={"dynamic": (False,)}),
            },
        ),
        "multi_linear": Layer(
            ("units", "context"),
            {
                "rank": Setting(32, POSITIVE),
                "max_time": Setting(None, POSITIVE),
                "num_cores": Setting(2, POSITIVE),
                "mode": Setting("split_concat", one_of("split_concat", "reconstruct")),
            },
            instead={"max_time": "context"},
        ),
    },
    "feedforward": {
        "none": Layer(),
        "dense": Layer(("units", "hidden_units", "activation", "dropout", "seed")),
        "chunked": Layer(("units", "hidden_units", "activation"), {"chunks": Setting(2, POSITIVE)}),
        "product_key": Layer(
            ("units", "num_heads", "seed"),
            {
                "num_keys": Setting(512, POSITIVE),
                "k": Setting(32, POSITIVE),
                "query_dim": Setting(256, EVEN),
                "query_norm": Setting("batch", one_of("batch", "layer")),
            },
        ),
    },
    "depth": {
        "none": Layer(("num_layers",)),
        "stack": Layer(("num_layers",)),
        "reversible": Layer(
            ("num_layers",), {"activations": Setting("reversible", one_of("plain", "checkpoint", "reversible"))}
        ),
        "universal": Layer(
            ("num_layers",),
            {
                "halting": Setting("none", one_of("none", "accumulated", "interpolated")),
                "threshold": Setting(0.99, BETWEEN, only=_HALTING),
                "ponder": Setting(0.01, NOT_NEGATIVE, only=_HALTING),
                "max_offset": Setting(0, COUNT),
            },
        ),
        "star": Layer(
            ("num_layers", "units", "num_heads", "dropout", "seed", "model"),
            {"connections": Setting("star", one_of("star", "ring", "radical"))},
            replaces=("attention", "feedforward", "block"),
        ),
        "depth_adaptive": Layer(
            ("num_layers", "seed"),
            {
                "exit": Setting("geometric", one_of("last", "sequence", "multinomial", "geometric", "confidence")),
                "paths": Setting(0, COUNT),
                "tied": Setting(True, FLAG),
                "oracle": Setting("likelihood", one_of("likelihood", "correctness"), only=_LEARNED),
                "price": Setting(0.1, NOT_NEGATIVE, only=_LEARNED),
                "width": Setting(0.0, NOT_NEGATIVE, only=_OVER_TOKENS),
                "alpha": Setting(0.1, NOT_NEGATIVE, only=_LEARNED),
            },
        ),
    },
    "positions": {
        "none": Layer(),
        "sinusoidal": Layer(),
        "learned": Layer(
            ("context",), {"max_positions": Setting(None, POSITIVE)}, instead={"max_positions": "context"}
        ),
        "axial": Layer(("context",), {"columns": Setting(64, POSITIVE)}),
        "convolutional": Layer((), {"width": Setting(3, ODD)}),
        "concatenated": Layer((), {"max_positions": Setting(128, POSITIVE), "columns": Setting(32, POSITIVE)}),
    },
}


CROSS_ATTENTION = Layer(("units", "num_heads"))  # of a transformer's decoder, whatever its slots hold


def default(slot, model):
    """The name of the layer that a slot of a model holds unless the recipe says otherwise."""
    return SLOTS[slot][model][0]


def own_settings(slot, model, layer):
    """The names that a recipe's table may hold beside "layer"."""
    names = list(LAYERS[slot][layer].own)
    return names + ["blocks"] if slot in IN_BLOCKS and model in LAYERED else names


def number_of_blocks(settings):
    """How many blocks a stack of these settings has; a universal one applies its only one again and again."""
    return 1 if settings["depth"]["layer"] == "universal" else settings["num_layers"]


def placed(settings):
    """`(slot, Layer, table)` of every layer that a model of these settings has.

    Args:
        settings: a mapping of every setting of a recipe, whose slots are tables.
    """
    model, depth = settings["model"], settings["depth"]["layer"]
    gone = LAYERS["depth"][depth].replaces
    found = [(None, CROSS_ATTENTION, {})] if model == "transformer" else []
    for slot in SLOTS:
        table = settings[slot]
        if slot in gone:
            continue
        found.append((slot, LAYERS[slot][table["layer"]], table))
        if slot in IN_BLOCKS and _leaves_room(settings, table):
            found.append((slot, LAYERS[slot][default(slot, model)], {}))
    return found


def _leaves_room(settings, table):
    """Whether some block has the slot's default layer beside the one that the table names."""
    blocks = range(1, number_of_blocks(settings) + 1)
    of_the_encoder = table["layer"] == "adaptive_span" and settings["model"] == "transformer"
    return of_the_encoder or not set(blocks) <= set(table.get("blocks", blocks))
