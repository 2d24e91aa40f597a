"""From the settings of a recipe to its model, not built yet; `build_model` seeds and builds it."""

import inspect
import random
from contextlib import contextmanager

from msgspec import structs

from zoo.attention import DotProductAttention, MultiHeadAttention
from zoo.core.dropout import shifted
from zoo.depth.stack import SEEDS_PER_BLOCK
from zoo.embeddings import NormalizedPositions, TokenEmbedding, positions_before
from zoo.models import DepthAdaptiveTransformer, Seq2Seq, Transformer
from zoo.recurrent import RecurrentEncoder, RecurrentReader, SelfAttentiveEncoder
from zoo.settings import layers

SEEDS_PER_STACK = 1_000  # more than any stack draws


def build_model(task, recipe, *sizes):
    """A built model of a task; the recipe's seed decides its weights and its dropout."""
    with _seed_python(recipe.training.seed):
        model = task.model(recipe, *sizes)
        model.build()
    return model


def make_layer(recipe, slot, block=None, plain=False, parts=None, **others):
    """The layer of a slot, made with the recipe's settings; `others` override the model's arguments of the same names.

    `block` is the number of the block it is for: where the slot's table has `blocks` without it, the block gets the
    slot's default layer, and so does every block if `plain`. `parts` are the layers that it contains.
    """
    table = getattr(recipe, slot)
    if plain or (block is not None and block not in (table.blocks or [block])):
        table = recipe.choice.slots[slot][0]()
    available = structs.asdict(recipe.model) | {"seed": recipe.training.seed, "block": block} | others
    arguments = table.arguments(available)
    if arguments is None:
        return None
    make = table.maker()
    shared = {name: available[name] for name in inspect.signature(make).parameters if name in available}
    return make(**shared | arguments | (parts or {}))


def make_stack(recipe, number=0, cross=False, plain=False, summary=False):
    """The stack that the slots describe.

    Args:
        recipe: the recipe, of a Transformer.
        number: the number of the stack in its model, which decides its seed.
        cross: whether its blocks also attend to an encoder's memory.
        plain: whether every block has the slot's default attention, as in an encoder if the chosen one only looks back.
        summary: whether the stack gives one vector for the whole text, where it can.
    """
    sizes, seed = recipe.model, shifted(recipe.training.seed, SEEDS_PER_STACK * (number + 1))
    halved = "first" in recipe.block.parts  # so that the number of parameters stays
    hidden_units = sizes.hidden_units // 2 if halved else sizes.hidden_units

    def make_block(index):
        base = shifted(seed, SEEDS_PER_BLOCK * index)
        own = {"block": index + 1, "hidden_units": hidden_units, "seed": base}
        parts = {
            "attention": make_layer(recipe, "attention", plain=plain, **own),
            "feedforward": make_layer(recipe, "feedforward", **own),
        }
        if halved:
            parts["first"] = make_layer(recipe, "feedforward", **own)
        if cross:
            parts["cross_attention"] = make_cross_attention(recipe)
        return make_layer(recipe, "block", parts=parts, seed=base)

    num_layers = (cross and sizes.decoder_layers) or sizes.num_layers
    # Encoder and decoder have the same seed for their offsets, so that these agree.
    arguments = {"num_layers": num_layers, "seed": seed, "offset_seed": recipe.training.seed, "summary": summary}
    plain_depth = not cross and not recipe.depth.may("exits", False)  # an encoder beside a decoder with exits
    parts = {}
    if "blocks" in recipe.depth.parts:
        parts["blocks"] = [make_block(index) for index in range(1 if recipe.depth.one_block else num_layers)]
    return make_layer(recipe, "depth", plain=plain_depth, parts=parts, **arguments)


def make_cross_attention(recipe):
    """The attention of a decoder's block over its source: multi-head, with heads as wide as the others."""
    attention, sizes = recipe.attention, recipe.model
    biased = attention.use_bias if isinstance(attention, layers.Relative) else True
    return MultiHeadAttention(sizes.units, sizes.num_heads, use_bias=biased, head_units=layers.head_units(attention))


def make_positions(recipe, behind):
    """The layer of the positions before a stack; None if the model chooses them itself."""
    layer, settings = make_layer(recipe, "positions"), recipe.positions
    if not (settings.norm_epsilon or settings.projected):
        return layer
    units = recipe.model.units if settings.projected else None
    return NormalizedPositions(layer or positions_before(behind), settings.norm_epsilon, units)


def make_embedding(recipe, vocab_size, behind=None):
    """The embedding, None for plain vectors; the task tells it what it has to know about the pieces.

    `behind` is the stack whose states its output reads; None where it has none.
    """
    seed = shifted(recipe.training.seed, SEEDS_PER_STACK - 1)
    return make_layer(recipe, "embedding", vocab_size=vocab_size, behind=behind, seed=seed)


def dropout_settings(recipe):
    """The settings of a model's dropout outside its stack."""
    return {"dropout": recipe.model.dropout, "seed": recipe.training.seed}


def make_writer(recipe, *sizes):
    """The model of a task that reads one text and writes another."""
    return (_make_seq2seq if recipe.model.kind == "recurrent" else _make_transformer)(recipe, *sizes)


def make_reader(make, recipe, vocab_size, num_labels, summary=True):
    """A model that labels: `make` is its class, and `summary` says whether it labels whole texts."""
    embedding, pooling = make_embedding(recipe, vocab_size), {}
    if recipe.model.kind == "recurrent":
        # `units` is the width of the embeddings and of each direction, as in a model that writes.
        embedding = embedding or TokenEmbedding(vocab_size, recipe.model.units)
        parts = RecurrentReader(make_recurrent_encoder(recipe)), None, embedding
    else:
        encoder = make_stack(recipe, summary=summary)
        parts = encoder, make_positions(recipe, encoder), embedding
        pooling = {"pooling": make_layer(recipe, "pooling")} if recipe.pooling else {}
    return make(vocab_size, num_labels, *parts, **pooling, **dropout_settings(recipe))


def make_recurrent_encoder(recipe):
    """The encoder of a recurrent model; its states attend to each other by dot products as wide as a direction."""
    sizes, seed = recipe.model, shifted(recipe.training.seed, SEEDS_PER_STACK)
    bidirectional = sizes.encoder != "unidirectional"
    encoder = RecurrentEncoder(sizes.units, sizes.cell, sizes.num_layers, bidirectional, sizes.dropout, seed)
    if sizes.encoder != "self_attentive":
        return encoder
    return SelfAttentiveEncoder(encoder, DotProductAttention(sizes.units, scale=sizes.units**-0.5))


def _make_seq2seq(recipe, *sizes):
    own = recipe.model
    attention = None if recipe.attention.layer == "none" else recipe.attention.layer
    shape = {name: getattr(own, name) for name in ("units", "cell", "num_layers", "state_activation")}
    encoder = None if own.encoder == "bidirectional" else make_recurrent_encoder(recipe)  # the former is Seq2Seq's own
    return Seq2Seq(*sizes, attention=attention, **shape, encoder=encoder, **dropout_settings(recipe))


def _make_transformer(recipe, *sizes):
    looks_back = not recipe.attention.may("both_ways")  # then the encoder has the usual attention
    stacks = make_stack(recipe, plain=looks_back), make_stack(recipe, number=1, cross=True)
    shared = {"shared": recipe.text.shared, "positions": make_positions(recipe, stacks[1])}
    target = make_embedding(recipe, sizes[1], stacks[1]) or sizes[1]
    sizes = (target if recipe.text.shared else make_embedding(recipe, sizes[0]) or sizes[0]), target
    if recipe.depth.layer == "depth_adaptive":
        return DepthAdaptiveTransformer(*sizes, *stacks, tied=recipe.depth.tied, **shared, **dropout_settings(recipe))
    return Transformer(*sizes, *stacks, **shared, **dropout_settings(recipe))


@contextmanager
def _seed_python(seed):
    """Seed Python's `random`, from which initializers without a seed take one; afterwards its state is as before."""
    state = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(state)
