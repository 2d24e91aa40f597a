"""Which entries of a batch are the model's inputs, and how a compiled step calls the model."""

from zoo.core.protocols import Loss

TARGETS = ("labels", "weights")


def model_inputs(batch):
    """The entries of a batch that are inputs of the model; `labels` and `weights` are for the loss."""
    return {name: value for name, value in batch.items() if name not in TARGETS}


def shape_of(batch):
    """The name, shape and dtype of each array of a batch. A program is compiled for each such combination."""
    return tuple((name, tuple(value.shape), str(value.dtype)) for name, value in sorted(batch.items()))


def call_settings(loss):
    """Keyword arguments of the model in a training step; `states` asks for states and output matrix, not logits."""
    return {"training": True, "states": True} if Loss.of(loss).of_states else {"training": True}
