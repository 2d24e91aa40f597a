"""The dict with which a model is called."""

from collections.abc import Mapping

from keras.backend import standardize_dtype

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
