"""The embeddings of models that write: a layer of the user's, or one for a number of ids."""

from keras import layers

from zoo.core.protocols import Embedding, output_units
from zoo.embeddings import TokenEmbedding


def make_embedding(model, ids_or_layer, stack, writes=True):
    """The layer in `ids_or_layer`, or a `TokenEmbedding` of that number of ids.

    Args:
        model: the model that needs the embedding.
        ids_or_layer: a number of ids, or a layer with `vocab_size`.
        stack: the stack behind the embedding.
        writes: whether the embedding is also the output, which reads the stack's states.

    Raises:
        ValueError: the layer has other units, or lacks an output.
    """
    units, output_width = stack.units, output_units(stack)
    if not isinstance(ids_or_layer, layers.Layer):
        output = {"tied": False, "output_units": output_width} if writes and output_width != units else {}
        return TokenEmbedding(ids_or_layer, units, **output, dtype=model.dtype_policy)
    layer = ids_or_layer
    has_output = Embedding.of(layer).writes and (layer.output_units or layer.units) == output_width
    if layer.units != units or (writes and not has_output):
        raise ValueError(
            f"{type(model).__name__} needs an embedding of {units} units, as its stack has"
            + (f", with an output of {output_width} (Embedding(writes=True), zoo.core.protocols)" if writes else "")
            + f". Received: {type(layer).__name__} {layer.name!r} of {layer.units} units; TokenEmbedding has an output."
        )
    return layer
