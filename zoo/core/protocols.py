"""What the occupant of each slot must do, and what it may say of itself.

A layer says what it can do in `traits`, a class attribute (or a property, where it depends on the settings):

    class MyAttention(keras.layers.Layer):
        traits = Attention(causal=True, steps=True)

Whoever needs to know asks the protocol: `Attention.of(layer).causal`. A layer that says nothing has the defaults, which
promise little; so Keras' own layers may stand in any slot that asks for no more. Names, meanings and defaults are here
alone: no other file asks a layer by `getattr` what it can do. The methods of a protocol are named in its docstring.
"""

from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable


@dataclass(frozen=True)
class Traits:
    """What every protocol has: how it is asked for."""

    METHODS: ClassVar[dict[str, tuple[str, ...]]] = {}  # the methods that a layer with this trait must have

    @classmethod
    def of(cls, thing):
        """The traits that `thing` (a layer, a loss, a weight) declares, or the defaults.

        Raises:
            ValueError: it declares those of another slot.
        """
        declared = _read_traits(thing)
        if declared is None:
            return cls()
        if not isinstance(declared, cls):
            raise ValueError(
                f"{type(thing).__name__} stands where a layer of the kind {cls.__name__} is expected. Received: a "
                f"layer that declares traits = {declared!r}. Put it into its own slot, or declare "
                f"zoo.core.protocols.{cls.__name__}."
            )
        return declared

    def methods(self):
        """The names of the methods that belong to what is declared."""
        return tuple(name for trait, names in self.METHODS.items() if vars(self)[trait] for name in names)


def _read_traits(thing):
    """An error inside a property is raised and is no None."""
    return getattr(thing, "traits", None) if getattr(type(thing), "traits", None) is None else thing.traits


def find_declaring(model, *protocols):
    """The layers of a Keras model, however deep inside, that declare traits of one of these protocols."""
    return [layer for layer in model._flatten_layers() if isinstance(_read_traits(layer), protocols)]


@dataclass(frozen=True)
class Attending(Traits):
    """What an attention, a block around it and a stack of blocks all say: which way they look, and in what steps.

    Attributes:
        causal: with `causal=True` position j sees positions up to j alone; language models and decoders need it.
        both_ways: with `causal=False` a position sees later ones, too; encoders and classifiers need it.
        steps: it writes one position after the other, over a cache of what came before (`zoo.attention.cache`).
        approximate: its pass over a whole sequence approximates those steps, as hashing does, and does not equal them.
        weighs: it tells how a step weighs a memory: by `memory_weights`, or in the list `weights` that `step` is given.
        recurs: its cache is no pool of entries but the state of a recurrence, `(batch, beams, width)`.
    """

    causal: bool = False
    both_ways: bool = True
    steps: bool = False
    approximate: bool = False
    weighs: bool = False
    recurs: bool = False


@dataclass(frozen=True)
class Attention(Attending):
    """How do positions exchange information?

    `call(query, value=None, *, query_mask=None, value_mask=None, causal=False, cache=None, training=None)` ->
    `(batch, time, units)`, or `(output, cache)` where a cache is given; `units`, the width of what comes out.

    With `steps`:

    * `project(value)`: `{"keys", "values"}`, each `(batch, heads, entries, width)`, of `(batch, entries, units)`,
    * `empty_cache(batch, entries)`: the same of nothing,
    * `step(x, cache, seen=None, write_index=None)` -> `(output, cache)`: one new position a beam,
      `x (batch, beams, units)`, over the cache and the new entries; `seen (batch, beams, entries)` with them,
    * with `crosses` `attend(query, cache, mask)`: over what `project` made of a memory; mask `(batch, 1, entries)`,
    * with `recurs` `project` gives the states behind all positions, and `empty_cache(batch, beams)` those before any.

    Attributes:
        crosses: it takes a `value` other than the query, as attention over an encoder's outputs does.
        skips: `append_to_cache(x, cache, seen=None, write_index=None)` notes positions that nobody asks for an output.
        newest: its cache holds the newest entries alone, so a prompt has to end where the cache does.
        aligns: it is for a recurrent decoder: `attend` averages the values as they are, and gives the weights.
        trims: `trim(multiple=1, slack=0)` cuts what no head looks at, and `width` is what is left of it.
        longest: the most positions of a sequence; None is no bound.
    """

    crosses: bool = False
    skips: bool = False
    newest: bool = False
    aligns: bool = False
    trims: bool = False
    longest: int | None = None

    METHODS: ClassVar = {
        "steps": ("project", "empty_cache", "step"),
        "skips": ("append_to_cache",),
        "aligns": ("project", "attend"),
        "trims": ("trim",),
        "weighs": ("memory_weights",),
    }

    def methods(self):
        return (*super().methods(), *(("attend",) if self.steps and self.crosses else ()))


@dataclass(frozen=True)
class FeedForward(Traits):
    """How is one position transformed?

    `call(x, training=None)` -> `(batch, time, units)`; `units`, the width of what comes out.

    Attributes:
        uses_mask: `call` takes `mask (batch, time)`, too, because padding matters to it, as to a batch norm.
        hidden_units: the inner width, for the formula that counts operations (`zoo.depth.flops`); None has none.
    """

    uses_mask: bool = False
    hidden_units: int | None = None


@dataclass(frozen=True)
class Block(Attending):
    """How are sub-layers wired around the residual stream?

    `call(x, mask=None, memory=None, memory_mask=None, causal=False, training=None)` -> the stream `x`; `units`. What
    derives from `zoo.blocks.residual.Block` has all of it.

    With `steps`: `remember(memory)`, `prefill(x)` -> `(x, cache)`, `empty_cache(batch, entries)`, and
    `step(x, cache, seen, write_index, cross, cross_mask)` -> `(x, cache)`.

    Attributes:
        needs_final_norm: no norm stands behind what it adds; a stack of such blocks ends in one, and can be reversed.
        norm, epsilon: of that norm: "layer" or "rms", and what it adds to the variance.
        skips, newest: as of its attention; `skip(x, cache, seen, write_index)` gives the cache alone.
    """

    needs_final_norm: bool = False
    norm: str = "layer"
    epsilon: float = 1e-5
    skips: bool = False
    newest: bool = False

    METHODS: ClassVar = {"steps": ("remember", "prefill", "empty_cache", "step"), "skips": ("skip",)}


@dataclass(frozen=True)
class Depth(Attending):
    """How often is a block applied?

    `call(x, mask=None, memory=None, memory_mask=None, causal=False, training=None)` -> `(batch, time, units)`; `units`.
    What derives from `zoo.depth.Stack` has all of it.

    With `steps`: `remember(memory)`, `prefill(x)`, `start(batch, beams=1, max_length=None, prompt=None)`,
    `step(x, state, cross=None, cross_mask=None)` and `reorder(state, parents)`.

    Attributes:
        places_itself: it adds positions, so that a model does not.
        summarises: `call(..., summary=True)` gives one vector of each sequence, which a classifier then takes.
        exits: it has a rule of exit, `exit`, and passes of its own (`zoo.depth.DepthAdaptiveStack`).
        output_units: the width of what comes out, where it is not `units`, that of what goes in.
    """

    places_itself: bool = False
    summarises: bool = False
    exits: bool = False
    output_units: int | None = None

    METHODS: ClassVar = {"steps": ("remember", "prefill", "start", "step", "reorder")}


def output_units(stack):
    """The width of what comes out of a stack."""
    return Depth.of(stack).output_units or stack.units


@dataclass(frozen=True)
class Positions(Traits):
    """Where in the sequence is a vector?

    `call(x, mask=None)` -> the same shape. One that is `by_place` may take `places (batch | 1, time)`, too, where the
    vectors stand, in the place of 0, 1, ...: a step of a model that writes is then computed from the new vector alone
    (`zoo.embeddings.Entrance`).

    Attributes:
        by_place: what becomes of a vector depends on it and on its place alone; models that write need it, because
            other positions may look ahead.
        longest: the most positions of a sequence; None is no bound.
        units: the width of what comes out; None is that of what goes in.
    """

    by_place: bool = False
    longest: int | None = None
    units: int | None = None


@dataclass(frozen=True)
class Embedding(Traits):
    """From token ids to vectors.

    `call(token_ids, training=None)` -> `(batch, time, units)`; `units`.

    Attributes:
        gathers: it gives fewer vectors than there are tokens; `call` takes `mask (batch, time)` and returns the mask of
            the vectors behind them.
        spells: it is told how each piece is spelled, `set_features(...)` (`zoo.text.spelling_features`, for its
            `buckets`).
        reads_sentences: it is told which ids end a sentence, `mark(ends)` (`zoo.text.sentence_ends`).
        writes: it has an output, too, as a model that writes needs: `logits(x, columns=None)`, `output_columns(ids)`
            and `readout(x)`, as `zoo.embeddings.TokenEmbedding` has them, `vocab_size` and `output_units`.
    """

    gathers: bool = False
    spells: bool = False
    reads_sentences: bool = False
    writes: bool = False

    METHODS: ClassVar = {
        "spells": ("set_features",),
        "reads_sentences": ("mark",),
        "writes": ("logits", "output_columns", "readout"),
    }


@dataclass(frozen=True)
class ExitRule(Traits):
    """After which block does a token leave a stack? What derives from `zoo.depth.exits.Exit` has the methods.

    Attributes:
        over: what is learned and of what: "tokens", a whole "sequence", or None where nothing is.
        reads_logits: it looks at the logits of each depth.
    """

    over: str | None = "tokens"
    reads_logits: bool = False


@dataclass(frozen=True)
class Loss(Traits):
    """`loss(labels, outputs, sample_weight=weights)` -> scalar.

    Attributes:
        of_outputs: it reads what the model returns in training as it is, and not logits alone.
        of_states: in training the model is called with `states=True`, and gives its states and the output matrix.
    """

    of_outputs: bool = False
    of_states: bool = False


@dataclass(frozen=True)
class Weight(Traits):
    """A `keras.Variable`.

    Attributes:
        row_updates: a large table of which a step reads few rows: `zoo.training.RowAdam` updates those alone.
    """

    row_updates: bool = False


@runtime_checkable
class CompiledSteps(Protocol):
    """What `zoo.training.make_steps` returns: one program for an update and one for a validation, on one backend."""

    def train(self, batch):
        """One update; returns the loss, a scalar on the device."""

    def evaluate(self, batch):
        """`zoo.training.losses.token_sums` on the device, without dropout."""

    def learning_rate(self):
        """The rate of the next update, a float."""

    def sync(self):
        """Bring the variables of model and optimizer up to date; call it before reading them."""

    def reload(self):
        """Take over the values of the variables; call it after assigning to them."""

    def expected_memory(self, batch):
        """An estimate of the memory of a step, as a dict of bytes by purpose."""

    def program_key(self, batch):
        """Equal for batches that share one training program."""

    @property
    def num_programs(self):
        """How many training programs have been compiled."""
