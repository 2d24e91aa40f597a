"""What every table of a layer has, how one is filled from what its class says, and what models need of their layers."""

import inspect
import pkgutil
from typing import Annotated, Any, ClassVar

import msgspec

from zoo.settings import declared
from zoo.settings.table import BelowOne, Doc, Positive, Table, meaning

# The constructor's arguments that a recipe, or the layer around, fills by itself; all others are settings of its own.
SHARED = "units num_heads dropout seed hidden_units activation context num_layers".split()
PARTS = "vocab_size attention feedforward first cross_attention blocks".split()
SLOTS = tuple("attention feedforward block depth positions embedding pooling".split())
# What a layer must declare, or must not, by what a model does; a model has the slots that are named.
WRITES = {
    "attention": {"causal": True, "steps": True, "aligns": False},
    "feedforward": {},
    "block": {"causal": True, "steps": True},
    "depth": {"causal": True, "steps": True, "exits": False},
    "positions": {"by_place": True},
    "embedding": {"writes": True},
}
TRANSLATES = WRITES | {
    "block": {"causal": True, "both_ways": True, "steps": True},
    "depth": {"causal": True, "steps": True},
}
READS = {
    "attention": {"both_ways": True, "aligns": False},
    "feedforward": {},
    "block": {"both_ways": True},
    "depth": {"both_ways": True, "exits": False},
    "positions": {},
    "embedding": {},
    "pooling": {},
}
TAGS = {slot: own for slot, own in READS.items() if slot != "pooling"} | {"embedding": {"gathers": False}}
RECURRENT = {"attention": {"aligns": True}}
RECURRENT_READS = {"embedding": {"gathers": False}}  # recurrence knows the order, so there are no positions
WHY_NOT = {  # of a need that a layer does not meet
    ("aligns", True): "a recurrent decoder asks for the mean of states under an alignment, which {} does not give",
    ("aligns", False): "{} is for the decoder of a recurrent model",
    ("both_ways", True): "{} looks back over what was written, and this model reads in both directions",
    ("by_place", True): "what {} makes of a position depends on others, and this model writes one after the other",
    ("causal", True): "{} sees the whole text at once, so it can read and not write",
    ("exits", False): "its exits belong to the decoder of a transformer",
    ("gathers", False): "{} gives one vector for many tokens, and this model needs one for each",
    ("steps", True): "{} has no steps, and this model writes one token after the other",
    ("writes", True): "{} has no output, and this model writes",
}


class Layer(Table, tag_field="layer"):
    """One layer that a slot may hold.

    Attributes:
        slot: the slot that it is for.
        source: its class, or a function that makes it; of the zoo's own as a path, "" where the model makes it.
        takes: settings of the model that reach it.
        parts: what the layer around gives it.
        passed: own settings that reach the constructor; the model reads the others.
        traits: what it declares, as far as it does not depend on settings.
        instead: own settings that replace one that it takes, as `{"max_time": "context"}`.
        replaces: slots that it leaves no place for.
        one_block: whether it applies one block again and again.
        hidden: arguments of the constructor that are no settings; those that its place decides are filled.
        writes: whether it is for models that write alone, or for the others alone; None for both.
    """

    slot: ClassVar[str] = ""
    source: ClassVar[Any] = ""
    takes: ClassVar[tuple[str, ...]] = ()
    parts: ClassVar[tuple[str, ...]] = ()
    passed: ClassVar[tuple[str, ...]] = ()
    traits: ClassVar[dict[str, Any]] = {}
    instead: ClassVar[dict[str, str]] = {}
    replaces: ClassVar[tuple[str, ...]] = ()
    one_block: ClassVar[bool] = False
    hidden: ClassVar[tuple[str, ...]] = ()
    writes: ClassVar[bool | None] = None

    @property
    def layer(self):
        """The name of the layer."""
        return self.tag

    @classmethod
    def may(cls, trait, wanted=True):
        """Whether it declares a trait, or its settings decide, or it is in no slot that has it."""
        return cls.traits.get(trait, wanted) == wanted

    @classmethod
    def unmet(cls, needs):
        """The first of some needs, `{trait: wanted}`, that it does not meet, as (trait, wanted); or None."""
        return next(((trait, wanted) for trait, wanted in needs.items() if not cls.may(trait, wanted)), None)

    def arguments(self, available):
        """What its constructor is given of its own settings; None where the model makes the layer by itself.

        `available` has what the model and the place of the layer give.
        """
        settings = {name: getattr(self, name) for name in self.passed}
        settings |= {mine: available[of] for mine, of in self.instead.items() if settings[mine] is None}
        return settings if self.source else None

    @classmethod
    def maker(cls):
        """The class, or the function that makes the layer; its module is imported."""
        return pkgutil.resolve_name(cls.source) if isinstance(cls.source, str) else cls.source


Blocks = Annotated[list[Positive] | None, Doc("numbers of the blocks that have it, from 1; without it all have it")]
# What may stand behind positions (`zoo.embeddings.NormalizedPositions`).
NormEpsilon = Annotated[BelowOne, Doc("what a norm behind the positions adds to the variance; 0: no norm")]
Projected = Annotated[bool, Doc("whether a dense layer to model.units follows them")]
# Settings of every layer of a slot, which the model reads.
OF_A_SLOT = {
    "attention": [("blocks", Blocks, None)],
    "feedforward": [("blocks", Blocks, None)],
    "positions": [("norm_epsilon", NormEpsilon, 0.0), ("projected", Projected, False)],
}


def layer(slot, name, source=""):
    """A decorator that makes the table of the zoo's layer whose class, or whose maker, is at a path in `zoo`.

    Names of settings, defaults, meanings and traits are those that the class says. What is decorated, a plain class,
    says the rest: bounds of values as annotations, attributes of `Layer`, `check`, and a sentence.
    """

    def put(table):
        declaration = declared.read_layer(f"zoo.{source}") if source else declared.Declared({}, {}, {})
        return make_table(table, slot, name, source and f"zoo.{source}", declaration)

    return put


def make_table(table, slot, name, source, declaration):
    """The `Layer` of a plain class with annotations, and of the `Declared` of the layer's own class."""
    annotations, attributes = {}, {}
    for each in reversed(table.__mro__[:-1]):
        annotations |= inspect.get_annotations(each)
        attributes |= {key: value for key, value in vars(each).items() if not key.startswith("__")}
    filled = (*SHARED, *PARTS, *attributes.get("hidden", ()))
    passed = {key: each for key, each in declaration.arguments.items() if key not in filled}
    arguments = (*declaration.arguments, *attributes.get("instead", {}).values())
    columns = []
    for key in dict.fromkeys((*passed, *annotations)):
        default, kind = passed.get(key, (msgspec.NODEFAULT, None))
        default = attributes.get(key, default)
        kind = annotations.get(key, kind or (Any if default is None else type(default)))
        if not meaning(kind):
            stands_for = attributes.get("instead", {}).get(key)
            without = f"; without it model.{stands_for}" if stands_for else ""
            kind = Annotated[kind, Doc(declaration.meanings.get(key, "") + without)]
        columns.append((key, kind, default))
    namespace = {
        **{key: value for key, value in attributes.items() if key not in annotations},
        "__doc__": inspect.cleandoc(table.__doc__ or ""),
        "slot": slot,
        "source": source,
        "takes": tuple(each for each in SHARED if each in (*attributes.get("takes", ()), *arguments)),
        "parts": tuple(each for each in PARTS if each in arguments),
        "passed": tuple(passed),
        "traits": declaration.traits | attributes.get("traits", {}),
    }
    options = {"tag": name, "tag_field": "layer", "frozen": True, "kw_only": True, "module": table.__module__}
    columns += [] if namespace["traits"].get("aligns") else OF_A_SLOT.get(slot, [])
    return msgspec.defstruct(table.__name__, columns, bases=(Layer,), namespace=namespace, **options)
