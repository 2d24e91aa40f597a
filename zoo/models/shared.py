"""What the models share: checks of their parts and inputs, and what Keras asks of them (docs/inside-keras.md)."""

from collections.abc import Mapping

from keras import layers, ops
from keras.backend import standardize_dtype

from zoo.core.protocols import Depth, Embedding, Loss, output_units
from zoo.embeddings import TokenEmbedding

OTHERWISE = {"causal": "looks at what is still to be written", "both_ways": "looks back alone"}


def check_direction(model, stack, trait):
    """Check that a decoder is "causal", or that in an encoder a position may look "both_ways".

    Raises:
        ValueError: the stack does not declare this trait.
    """
    if not getattr(Depth.of(stack), trait):
        raise ValueError(
            f"{type(model).__name__} cannot have {type(stack).__name__} {stack.name!r} here, which {OTHERWISE[trait]}. "
            f"Expected a stack of blocks whose attentions declare {trait}=True (zoo.core.protocols.Attention); "
            "zoo.attention.MultiHeadAttention does."
        )


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


AXES = {"ids": "(batch, time)", "lengths": "(batch,)"}  # by the last word of a name


def named(model, inputs, *names, optional=None):
    """The tensors of these names in the dict with which a model is called; None in the place of one that is optional.

    Raises:
        ValueError: there is no dict, it lacks a name, a tensor has another number of axes, or ids were floats, which
            Keras has rounded for the model's mixed precision.
    """
    given = inputs if isinstance(inputs, Mapping) else {}
    names += () if given.get(optional) is None else (optional,)
    expected = {name: AXES[name.rpartition("_")[2]] for name in names}
    if any(given.get(name) is None or not _has_axes(given[name], axes) for name, axes in expected.items()):
        received = (
            ", ".join(f"{name} {None if each is None else each.shape}" for name, each in given.items())
            or type(inputs).__name__
        )
        raise ValueError(
            f"{type(model).__name__} is called with a dict of tensors by name: expected "
            f"{', '.join(f'{name} {axes}' for name, axes in expected.items())}. Received: {received}."
        )
    rounded = [name for name in names if standardize_dtype(given[name].dtype) in ("float16", "bfloat16")]
    if rounded:
        raise ValueError(
            f"{type(model).__name__} was given {', '.join(rounded)} as floats, which mixed precision has rounded to "
            f"{standardize_dtype(given[rounded[0]].dtype)}, so that ids are others. Give whole numbers, such as int32."
        )
    return [given[name] for name in names] + [None] * (optional is not None and optional not in names)


def _has_axes(tensor, axes):
    """Whether a tensor has so many axes, as far as that is known before it has values."""
    rank = len(tensor.shape) if isinstance(tensor.shape, tuple) else tensor.shape.rank
    return rank is None or rank == axes.count(",") + (not axes.endswith(",)"))


class InsideKeras:
    """A mixin, before the Keras class.

    A loss that declares `of_outputs` (`zoo.training.ChunkedCrossEntropy`, `zoo.training.DepthAdaptiveLoss`) is given
    whatever the model returns in training, a tuple or a dict; metrics then are those of the validation, because there
    are no single logits in training to take them of.
    """

    @property
    def returns_states(self):
        """Whether the model was compiled with a loss that makes its logits itself, a part of them at a time."""
        return Loss.of(getattr(self, "loss", None)).of_states

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        """As of Keras; see the class for a loss that declares `of_outputs`."""
        loss = getattr(self, "loss", None)
        if not Loss.of(loss).of_outputs:
            return super().compute_loss(x, y, y_pred, sample_weight, training)
        total = loss(y, y_pred, sample_weight=sample_weight)
        return total + sum(ops.sum(each) for each in self.losses)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        """As of Keras, where there are logits."""
        if isinstance(y_pred, dict | tuple | list):
            return self._loss_alone()
        return super().compute_metrics(x, y, y_pred, sample_weight)

    def get_metrics_result(self):
        """As of Keras, and before the first validation the loss alone, where that is all there is."""
        unseen = any(not getattr(metric, "built", True) for metric in self.metrics)
        return self._loss_alone() if unseen else super().get_metrics_result()

    def _loss_alone(self):
        return {metric.name: metric.result() for metric in self.metrics if metric.name == "loss"}

    def export(self, filepath, format="tf_saved_model", **kwargs):
        """Refused: Keras would write one call of the model, which for a model that writes texts is teacher forcing.

        Raises:
            ValueError: always; it names what to call instead.
        """
        raise ValueError(
            f"{type(self).__name__}.export(format={format!r}) is not what a model of the zoo is exported with: Keras "
            "would write the pass of training alone, without tokenizers and search, and without the check that every "
            "file answers alike. Expected: serving.export.export(model, tokenizers, out, settings), which writes "
            "SavedModel and ONNX (or `seqzoo export RUN`); docs/inside-keras.md shows it. For a single function of "
            "your own, take keras.export.ExportArchive, or tf.saved_model.save of a tf.function."
        )
