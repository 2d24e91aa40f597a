"""The embeddings of models that write: given as a layer, or made for so many ids."""

from keras import layers

from zoo.core.protocols import Embedding
from zoo.embeddings import TokenEmbedding


def embedding_of(model, given, units, writes=True):
    """The layer that is given, or a `TokenEmbedding` of as many ids as the number says.

    Args:
        model: whose embedding it is.
        given: a number of ids, or a layer with `vocab_size`.
        units: width of what the model's stacks read.
        writes: whether its output is used, too.

    Raises:
        ValueError: the layer is of other units, or lacks an output.
    """
    if not isinstance(given, layers.Layer):
        return TokenEmbedding(given, units, dtype=model.dtype_policy)
    if given.units != units or (writes and not Embedding.of(given).writes):
        raise ValueError(
            f"{type(model).__name__} needs an embedding of {units} units, as its stacks have"
            + (", with an output (Embedding(writes=True), zoo.core.protocols)" if writes else "")
            + f". Received: {type(given).__name__} {given.name!r} of {given.units} units; TokenEmbedding has an output."
        )
    return given
