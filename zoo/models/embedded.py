"""The embeddings of models that write: given as a layer, or made for so many ids."""

from keras import layers

from zoo.core.protocols import Embedding, output_units
from zoo.embeddings import TokenEmbedding


def embedding_of(model, given, stack, writes=True):
    """The layer that is given, or a `TokenEmbedding` of as many ids as the number says.

    Args:
        model: whose embedding it is.
        given: a number of ids, or a layer with `vocab_size`.
        stack: which reads what it gives.
        writes: whether its output reads what the stack gives.

    Raises:
        ValueError: the layer is of other units, or lacks an output.
    """
    units, read = stack.units, output_units(stack)
    if not isinstance(given, layers.Layer):
        own = {"tied": False, "output_units": read} if writes and read != units else {}
        return TokenEmbedding(given, units, **own, dtype=model.dtype_policy)
    writing = Embedding.of(given).writes and (given.output_units or given.units) == read
    if given.units != units or (writes and not writing):
        raise ValueError(
            f"{type(model).__name__} needs an embedding of {units} units, as its stack has"
            + (f", with an output of {read} (Embedding(writes=True), zoo.core.protocols)" if writes else "")
            + f". Received: {type(given).__name__} {given.name!r} of {given.units} units; TokenEmbedding has an output."
        )
    return given
