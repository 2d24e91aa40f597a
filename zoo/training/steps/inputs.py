"""What a compiled step takes from a batch, and how it calls the model."""

TARGETS = ("labels", "weights")


def model_inputs(batch):
    """The part of a batch that the model sees; `labels` and `weights` are for the loss."""
    return {name: value for name, value in batch.items() if name not in TARGETS}


def shape_of(batch):
    """What a program of a batch is compiled for: the shape and the dtype of each of its arrays."""
    return tuple((name, tuple(value.shape), str(value.dtype)) for name, value in sorted(batch.items()))


def call_settings(loss):
    """How a training step calls the model: a loss may want decoder states and the output matrix instead of logits."""
    return {"training": True, "states": True} if getattr(loss, "of_states", False) else {"training": True}
