"""Where the settings of a recipe have an effect; what has none is refused and never dropped in silence.

Most settings stand in a table that has them only where they are read. What is here depends on other tables.
"""

from zoo.settings import table
from zoo.settings.layers import head_units
from zoo.settings.slots import SLOTS, Layer
from zoo.settings.training import NEEDS_LEARNED_EXIT

IN_BLOCKS = ("attention", "feedforward")  # slots that `blocks` may restrict to some blocks
TAKEN = ("num_heads", "hidden_units", "activation", "context")  # settings of a model that reach layers, which say so


class CrossAttention(Layer):
    """Of a Transformer's decoder, whatever its slots hold."""

    takes = ("units", "num_heads")
    head_units: int | None = None


def number_of_blocks(recipe):
    """How many blocks a stack has; a universal one applies its only one again and again."""
    return 1 if recipe.depth.one_block else deepest(recipe)


def deepest(recipe):
    """The number of layers of the encoder or of the decoder, whichever has more."""
    return max(recipe.model.num_layers, recipe.model.decoder_layers)


def writes_from(recipe):
    """Whether the model has an encoder and a decoder."""
    return len(recipe.job.sides) == 2


def placed(recipe):
    """`(slot, the Layer's table)` of every layer that the model has; of slot None the cross-attention."""
    found = []
    if writes_from(recipe) and recipe.model.kind == "transformer":
        found = [(None, CrossAttention(head_units=head_units(recipe.attention)))]
    gone = recipe.depth.replaces if recipe.depth else ()
    for slot in SLOTS:
        own = getattr(recipe, slot)
        if own is None or slot in gone:
            continue
        found.append((slot, own))
        if slot in IN_BLOCKS and recipe.depth and _leaves_room(recipe, own):
            found.append((slot, usual_layer(recipe, slot)))
    return found


def _leaves_room(recipe, own):
    """Whether some block has the slot's default layer beside the one that the table names."""
    of_the_encoder = writes_from(recipe) and not own.may("both_ways")
    if own.blocks is None:
        return of_the_encoder
    count = number_of_blocks(recipe)
    return of_the_encoder or len({block for block in own.blocks if block <= count}) < count


def useless(recipe):
    """`{"table.setting": why, in a sentence}` of the settings that differ from their default and have no effect."""
    found = {}
    for where, why in _reasons(recipe):
        first, _, name = where.partition(".")
        own = getattr(recipe, first)
        if own is None or (name and name not in own.__struct_fields__):
            continue
        value, usual = (
            (getattr(own, name), table.default(type(own), name)) if name else (own, usual_layer(recipe, first))
        )
        if value != usual:
            value = value if name else _said(own)
            found[where] = f"{where}={value!r} has no effect: {why}. Leave it out."
    return found


def usual_layer(recipe, slot):
    """The layer of a slot of which the recipe says nothing."""
    return recipe.choice.slots[slot][0]()


def _said(own):
    """A layer as a recipe says it: its name, or a table where it has settings."""
    return own.tag if own == type(own)() else table.plain(own)


def _reasons(recipe):
    """`(setting, why)` of what has no effect, whether it is given or not."""
    if recipe.depth is not None:
        yield from _of_layers(recipe)
    if recipe.feedforward is None or recipe.feedforward.layer != "product_key":
        yield "training.row_learning_rate", 'it is for feedforward = "product_key"'
    if recipe.training.monitor == "wer" and not writes_from(recipe):
        yield "training.monitor", "it counts wrong outputs of a search, and this task does not search"
    if writes_from(recipe) and recipe.model.tag == "recurrent" and recipe.attention.layer == "none":
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


def _of_layers(recipe):
    there = placed(recipe)
    if not writes_from(recipe):
        yield (
            "model.decoder_layers",
            "only a model that reads one text and writes another has a decoder beside an encoder",
        )
    for name in TAKEN:
        if name == "context" and recipe.data.windows:
            continue
        if not any(name in own.takes and not _replaced(own, name) for _, own in there):
            said = ", ".join(f"{slot} = {getattr(recipe, slot).layer!r}" for slot in SLOTS if getattr(recipe, slot))
            yield f"model.{name}", f"none of the layers of this model takes it ({said})"
    for gone in recipe.depth.replaces:
        why = f"depth = {recipe.depth.layer!r} has blocks of its own, which leave no place for it"
        yield (gone if gone in SLOTS else f"model.{gone}"), why


def _replaced(own, name):
    """Whether a setting of the layer's own stands for one of the model."""
    return any(of == name and getattr(own, mine) is not None for mine, of in own.instead.items())
