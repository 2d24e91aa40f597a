"""What cannot stand together in one recipe, as a table; a recipe is refused by it before anything is read.

`MIXES` holds what two tables do to each other, `FITS` what the numbers of one layer must be to those of the model. What
has no effect is refused, too, and never dropped in silence: most settings stand in a table that has them only where
they are read, and `useless_settings` finds those that depend on other tables.
"""

import dataclasses
from collections.abc import Callable

from zoo.settings import entrance, layers, occupants, table
from zoo.settings.layers import head_units
from zoo.settings.slots import SLOTS, Layer
from zoo.settings.training import NEEDS_LEARNED_EXIT

IN_BLOCKS = ("attention", "feedforward")  # slots that `blocks` may restrict to some blocks
SHARED = ("num_heads", "hidden_units", "activation", "context")  # settings of a model that layers may take


class CrossAttention(Layer):
    """Of a Transformer's decoder, whatever its slots hold."""

    takes = ("units", "num_heads")
    head_units: int | None = None


def number_of_blocks(recipe):
    """How many blocks a stack has; a universal one applies its only one again and again."""
    return 1 if recipe.depth.one_block else most_layers(recipe)


def most_layers(recipe):
    """The number of layers of the encoder or of the decoder, whichever has more."""
    return max(recipe.model.num_layers, recipe.model.decoder_layers)


def is_encoder_decoder(recipe):
    """Whether the model has an encoder and a decoder."""
    return len(recipe.job.sides) == 2


def layers_of(recipe):
    """`(slot, the Layer's table)` of every layer that the model has; the cross-attention has the slot None."""
    pairs = []
    if is_encoder_decoder(recipe) and recipe.model.kind == "transformer":
        pairs = [(None, CrossAttention(head_units=head_units(recipe.attention)))]
    replaced = recipe.depth.replaces if recipe.depth else ()
    for slot in SLOTS:
        layer = getattr(recipe, slot)
        if layer is None or slot in replaced:
            continue
        pairs.append((slot, layer))
        if slot in IN_BLOCKS and recipe.depth and _has_default_beside(recipe, layer):
            pairs.append((slot, usual_layer(recipe, slot)))
    return pairs


def _has_default_beside(recipe, own):
    """Whether some block has the slot's default layer beside the one that the table names."""
    of_the_encoder = is_encoder_decoder(recipe) and not own.may("both_ways")
    if own.blocks is None:
        return of_the_encoder
    count = number_of_blocks(recipe)
    return of_the_encoder or len({block for block in own.blocks if block <= count}) < count


def useless_settings(recipe):
    """`{"table.setting": a sentence that says why}` of the settings that differ from their default without effect."""
    reasons = {}
    for where, why in _reasons(recipe):
        first, _, name = where.partition(".")
        own = getattr(recipe, first)
        if own is None or (name and name not in own.__struct_fields__):
            continue
        value, usual = (
            (getattr(own, name), table.default(type(own), name)) if name else (own, usual_layer(recipe, first))
        )
        if value != usual:
            # A layer is written as in a recipe: its name, or a table where it has settings.
            value = value if name else own.tag if own == type(own)() else table.plain(own)
            reasons[where] = f"{where}={value!r} has no effect: {why}. Leave it out."
    return reasons


def usual_layer(recipe, slot):
    """The layer of a slot that the recipe does not set."""
    return recipe.choice.slots[slot][0]()


def _reasons(recipe):
    """`(setting, why)` of all settings that would have no effect, whether the recipe has them or not."""
    if recipe.depth is not None:
        yield from _layer_reasons(recipe)
    if recipe.feedforward is None or recipe.feedforward.layer != "product_key":
        yield "training.row_learning_rate", 'it is for feedforward = "product_key"'
    if recipe.training.monitor == "wer" and not is_encoder_decoder(recipe):
        yield "training.monitor", "it counts wrong outputs of a search, and this task does not search"
    if recipe.training.monitor == "entity_f1" and recipe.task != "tag":
        yield "training.monitor", "it scores the entities that tags spell, and this task does not tag"
    numbers = recipe.loss.tag in ("cosine", "squared_error")
    ranks = recipe.task == "embed" and recipe.loss.tag != "ranking"
    if recipe.training.monitor in (["accuracy"] * numbers + ["spearman"] * (not ranks)):
        yield "training.monitor", "numbers have no accuracy, and labels, tokens and partners no rank correlation"
    if is_encoder_decoder(recipe) and recipe.model.tag == "recurrent" and recipe.attention.layer == "none":
        if recipe.model.encoder == "self_attentive":
            why = "without attention the decoder takes only the final states, which do not attend to each other"
            yield "model.encoder", why
    if recipe.data.windows:
        for name in ("num_buckets", "max_length"):
            yield f"training.{name}", "a running text is cut into windows of model.context tokens"
    if recipe.depth is not None and recipe.depth.layer == "depth_adaptive":
        for name, exits in NEEDS_LEARNED_EXIT.items():
            if recipe.depth.exit not in exits:
                wanted = " or ".join(repr(each) for each in exits)
                yield f"loss.{name}", f"it is read where depth.exit is {wanted}; received {recipe.depth.exit!r}"


def _layer_reasons(recipe):
    pairs = layers_of(recipe)
    if not is_encoder_decoder(recipe):
        yield (
            "model.decoder_layers",
            "only a model that reads one text and writes another has a decoder beside an encoder",
        )
    for name in SHARED:
        if name == "context" and recipe.data.windows:
            continue
        if not any(name in own.takes and not _is_replaced(own, name) for _, own in pairs):
            slots = ", ".join(f"{slot} = {getattr(recipe, slot).layer!r}" for slot in SLOTS if getattr(recipe, slot))
            yield f"model.{name}", f"none of the layers of this model takes it ({slots})"
    for name in recipe.depth.replaces:
        why = f"depth = {recipe.depth.layer!r} has blocks of its own, which leave no place for it"
        yield (name if name in SLOTS else f"model.{name}"), why


def _is_replaced(own, name):
    """Whether the layer has a setting of its own instead of the model's."""
    return any(of == name and getattr(own, mine) is not None for mine, of in own.instead.items())


RECOMPUTED = ("reversible", "checkpoint")  # the activations of a reversible stack whose blocks run twice


@dataclasses.dataclass(frozen=True)
class Mix:
    """A mix of tables that is refused: `holds(recipe)` finds it, `why` explains it, `instead` says what to choose."""

    holds: Callable
    why: str
    instead: str


def _halves_an_odd_width(recipe):
    has_width = any("hidden_units" in layer.takes for _, layer in layers_of(recipe))
    return isinstance(recipe.block, layers.Macaron) and has_width and recipe.model.hidden_units % 2 == 1


def _batch_norms_run_twice(recipe):
    runs_twice = isinstance(recipe.depth, layers.Reversible) and recipe.depth.activations in RECOMPUTED
    return runs_twice and isinstance(recipe.feedforward, layers.ProductKey) and recipe.feedforward.query_norm == "batch"


def _reads_no_output(recipe):
    """Whether the embedding has an output that no depth of the decoder reads, for each has a matrix of its own."""
    own = recipe.embedding
    has_output = isinstance(own, entrance.WrittenTokens) and (own.output == "own" or own.output_bias)
    return has_output and isinstance(recipe.depth, layers.DepthAdaptive) and not recipe.depth.tied


SKIPPING = [f'"{each.__struct_config__.tag}"' for each in occupants.own_tables("attention") if each.traits.get("skips")]
MIXES = (
    Mix(
        lambda recipe: isinstance(recipe.depth, layers.Reversible) and isinstance(recipe.block, layers.PostNorm),
        'depth = "reversible" cannot undo the norm that a post_norm block lays on its stream',
        'block = "pre_norm" or "macaron", or depth = "stack"',
    ),
    Mix(
        _batch_norms_run_twice,
        "a reversible stack runs its blocks twice in a training step, and a product_key memory with batch norms would "
        "count each batch twice in its statistics",
        'feedforward.query_norm = "layer", or depth.activations = "plain"',
    ),
    Mix(
        lambda recipe: isinstance(recipe.depth, layers.DepthAdaptive) and not recipe.attention.may("skips"),
        "a token that leaves a depth_adaptive decoder passes by the blocks above it, where its keys and values are "
        "needed without a look at others",
        f'attention = {", ".join(SKIPPING[:-1])} or {SKIPPING[-1]}, or depth = "stack"',
    ),
    Mix(
        lambda recipe: isinstance(recipe.depth, layers.DepthAdaptive) != (recipe.loss.tag == "depth_adaptive"),
        "the loss of a depth_adaptive decoder counts all its depths, and no other model has them",
        'loss.kind = "depth_adaptive" with depth = "depth_adaptive", or neither',
    ),
    Mix(
        lambda recipe: recipe.loss.tag == "ranking" and (recipe.training.parts > 1 or recipe.training.batch_size == 1),
        "the loss of partners compares each text of a batch with all others, which parts would keep apart",
        "training.parts = 1, and a training.batch_size of at least 2",
    ),
    Mix(
        _halves_an_odd_width,
        "a macaron block halves hidden_units between its two feed-forward layers, so they must be even",
        "an even hidden_units",
    ),
    Mix(
        _reads_no_output,
        "a depth_adaptive decoder that is not tied has an output matrix of its own at every depth",
        "depth.tied = true, or neither embedding.output nor embedding.output_bias",
    ),
)


def _heads_divide(recipe, own):
    units = own.head_units if isinstance(own, CrossAttention) else layers.head_units(own)
    return units or recipe.model.units % recipe.model.num_heads == 0


def _longest_input(recipe):
    """How many positions a model sees in training at most; 0 where the recipe does not say."""
    if recipe.data.windows:
        return recipe.model.context
    if recipe.data.corpus == "duplication" and recipe.text.pieces == "char":
        return -(-(2 * recipe.data.longest + 2) // 4) * 4  # batches are as wide as the next multiple of 4
    return 0


def _reaches(name):
    def fits(recipe, own):
        return ((getattr(own, name) if name else None) or recipe.model.context) >= _longest_input(recipe)

    return fits


FITS = (  # (layer, condition that must hold, what is expected); None stands for every layer that has heads
    (None, _heads_divide, "units that num_heads divides evenly, or head_units"),
    (layers.MultiLinear, _reaches("max_time"), "max_time (or context) no shorter than the texts"),
    (entrance.Learned, _reaches("max_positions"), "max_positions (or context) no fewer than the texts are long"),
    (
        entrance.Tokens,
        lambda recipe, own: own.width in (0, recipe.model.units) or recipe.positions.projected,
        "positions.projected = true where its width is another than that of the model",
    ),
    (entrance.Axial, _reaches(None), "a context no shorter than the texts"),
    (
        entrance.Axial,
        lambda recipe, own: recipe.model.units > own.row_units if own.row_units else recipe.model.units % 2 == 0,
        "even units, half for rows, half for columns, or row_units below them",
    ),
    (
        layers.Local,
        lambda recipe, own: max(own.hashed.blocks, default=0) <= number_of_blocks(recipe),
        "hashed.blocks that are numbers of its blocks",
    ),
)
NO_HEADS_TO_DIVIDE = (layers.ProductKey,)  # its heads are queries, and share no width


def wrong_mix(recipe):
    """A sentence about what cannot stand together in a recipe, or None."""
    if recipe.depth is None:
        return None
    for slot in IN_BLOCKS:
        if message := _wrong_blocks(recipe, slot):
            return message
    for _, own in layers_of(recipe):
        for of, fits, expected in FITS:
            applies = isinstance(own, of) if of else "num_heads" in own.takes and type(own) not in NO_HEADS_TO_DIVIDE
            if applies and not fits(recipe, own):
                return f"{own.tag or 'multi_head'} needs {expected}; received {_sizes(recipe, own)}."
    for mix in MIXES:
        if mix.holds(recipe):
            return f"{mix.why}. Expected {mix.instead}; received {_describe_choices(recipe)}."
    return None


def _wrong_blocks(recipe, slot):
    blocks, count = getattr(recipe, slot).blocks, number_of_blocks(recipe)
    if blocks is None or (blocks and max(blocks) <= count):
        return None
    setting = "num_layers" if recipe.model.num_layers == count else "decoder_layers"
    last = f"{count}, for a universal stack has one block" if recipe.depth.one_block else f"{setting}={count}"
    return f"{slot}.blocks must list numbers from 1 to {last}; received {blocks!r}."


def _sizes(recipe, own):
    shared = [f"{name}={getattr(recipe.model, name)}" for name in ("units", "num_heads", "context")]
    return ", ".join(shared + [f"{name}={value!r}" for name, value in table.plain(own).items() if name != "layer"])


def _describe_choices(recipe):
    choices = [f"{slot}={getattr(recipe, slot).layer!r}" for slot in ("attention", "feedforward", "depth")]
    choices += [
        f"block={recipe.block.layer!r}",
        f"hidden_units={recipe.model.hidden_units}",
        f"loss={recipe.loss.tag!r}",
    ]
    return ", ".join(choices)
