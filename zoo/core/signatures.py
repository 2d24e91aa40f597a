"""Typed tables of what enters and leaves a model: names, dtypes and shapes are API, so they are written down."""

from dataclasses import dataclass, replace

DTYPES = ("bool", "int32", "int64", "float32", "string")


@dataclass(frozen=True)
class TensorSpec:
    """One tensor: `name`, `dtype` and `shape`, where a string in `shape` names a dynamic axis.

    An input with a `default`, the values of one row, need not be given.

    Example: `TensorSpec("token_ids", "int32", ("batch", "time"))`.
    """

    name: str
    dtype: str
    shape: tuple
    default: object = None

    def __post_init__(self):
        if self.dtype not in DTYPES:
            raise ValueError(
                f"TensorSpec {self.name!r} has an unknown dtype: expected one of {DTYPES}, received {self.dtype!r}."
            )

    @property
    def static_shape(self):
        """The shape with `None` for every named axis, as TensorFlow writes it."""
        return tuple(axis if isinstance(axis, int) else None for axis in self.shape)

    def to_dict(self):
        fields = {"name": self.name, "dtype": self.dtype, "shape": list(self.shape)}
        return fields if self.default is None else fields | {"default": self.default}

    def fix(self, **sizes):
        """The same tensor with the named axes at these sizes."""
        return replace(self, shape=tuple(sizes.get(axis, axis) for axis in self.shape))


@dataclass(frozen=True)
class Signature:
    """A named function of a model: its inputs and outputs in order. No name is used on both sides (ONNX forbids it)."""

    name: str
    inputs: tuple
    outputs: tuple

    def __post_init__(self):
        names = [spec.name for spec in (*self.inputs, *self.outputs)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(
                f"Signature {self.name!r} uses names twice: {twice}. Give every input and output its own name."
            )

    def fix(self, **sizes):
        """The same signature with the named axes at these sizes: `signature.fix(beams=4)`."""

        inputs, outputs = (tuple(spec.fix(**sizes) for spec in side) for side in (self.inputs, self.outputs))
        return Signature(self.name, inputs, outputs)

    @property
    def required(self):
        """The inputs that must be given."""
        return tuple(spec for spec in self.inputs if spec.default is None)

    def to_dict(self):
        return {
            "name": self.name,
            "inputs": [spec.to_dict() for spec in self.inputs],
            "outputs": [spec.to_dict() for spec in self.outputs],
        }
