"""The cases of the contract battery for a class in its slot: how it is made, and each way in which it may be called."""

from dataclasses import dataclass, replace

from zoo.attention import MultiHeadAttention
from zoo.blocks import PreNorm
from zoo.check.laws import Case, length_mask, sequences, token_ids
from zoo.feedforward import FeedForward
from zoo.settings.occupants import SLOTS, arguments, occupants, own_tables

UNITS, HEADS, VOCABULARY = 6, 2, 13
# What a recipe fills, in small sizes; `context` is longer than any sequence of a case.
FILLED = {
    "units": UNITS,
    "num_heads": HEADS,
    "dropout": 0.1,
    "seed": 1,
    "hidden_units": 8,
    "activation": "relu",
    "context": 96,
    "num_layers": 2,
    "vocab_size": VOCABULARY,
}
PARTS = {
    "attention": lambda: MultiHeadAttention(UNITS, HEADS),
    "feedforward": lambda: FeedForward(UNITS, 8),
    "cross_attention": lambda: None,
    "blocks": lambda: [PreNorm(MultiHeadAttention(UNITS, HEADS), FeedForward(UNITS, 8)) for _ in range(2)],
}


@dataclass(frozen=True)
class Subject:
    """A class that is checked, in its slot, with settings of its own."""

    cls: type
    slot: str
    settings: dict

    def make(self, **others):
        """A new layer; `others` go before what a recipe would fill."""
        filled = {name: value for name, value in FILLED.items() if name in arguments(self.cls)}
        parts = {name: make() for name, make in PARTS.items() if name in arguments(self.cls)}
        return self.cls(**{**filled, **parts, **self.settings, **others})

    def traits(self):
        return SLOTS[self.slot].of(self.make())


def slot_of(cls):
    """The slot that a class is registered in, that a table of the zoo names, or that its traits belong to, or None."""
    for slot, protocol in SLOTS.items():
        named = [each.maker() for each in own_tables(slot) if each.source]
        if cls in (*occupants(slot).values(), *named) or isinstance(vars(cls).get("traits"), protocol):
            return slot
    return None


def cases(subject):
    """A `Case` for each way in which the slot and the traits have the layer called."""
    return [replace(case, make=subject.make) for case in CASES[subject.slot](subject.traits())]


def _case(name, arguments, apply=lambda layer, arguments: layer(**arguments)):
    return Case(name, None, arguments, apply)


def causally(layer, arguments):
    return layer(**arguments, causal=True)


def alone(rows, time, noise):
    return {"query": sequences(rows, time, 3, noise), "query_mask": length_mask(rows, time)}


def over_a_memory(rows, time, noise):
    return {
        "query": sequences(rows, time + 2, 3, noise, stream=0),
        "value": sequences(rows, time, 7, noise, stream=1),
        "query_mask": length_mask(rows, time + 2),
        "value_mask": length_mask(rows, time),
    }


def _masked(rows, time, noise):
    return {"x": sequences(rows, time, UNITS, noise), "mask": length_mask(rows, time)}


def _unmasked(rows, time, noise):
    return {"x": sequences(rows, time, UNITS, noise)}


def _ids(rows, time, noise):
    return {"token_ids": token_ids(rows, time, VOCABULARY, noise)}


def _masked_ids(rows, time, noise):
    return {**_ids(rows, time, noise), "mask": length_mask(rows, time)}


def _directions(traits, arguments):
    cases = [_case("in both directions", arguments)] if traits.both_ways else []
    return cases + ([_case("causal", arguments, causally)] if traits.causal else [])


def _attention(traits):
    over = [_case("over a memory", over_a_memory)] if traits.crosses else []
    return _directions(traits, alone) + over


def summarised(layer, arguments):
    return layer(**arguments, summary=True)


def _depth(traits):
    return _directions(traits, _masked) + ([_case("summary", _masked, summarised)] if traits.summarises else [])


def _ids_by_place(layer, arguments):
    return layer(*arguments.values())


def _with_mask(layer, arguments):
    token_ids, mask = arguments.values()
    return layer(token_ids, mask=mask)[0]  # and not the mask of its vectors, whose time is another one


CASES = {
    "attention": _attention,
    "feedforward": lambda traits: [_case("position by position", _masked if traits.uses_mask else _unmasked)],
    "block": lambda traits: _directions(traits, _masked),
    "depth": _depth,
    "positions": lambda traits: [_case("positions", _masked)],
    "embedding": lambda traits: [
        _case("ids", _masked_ids, _with_mask) if traits.gathers else _case("ids", _ids, _ids_by_place)
    ],
}
