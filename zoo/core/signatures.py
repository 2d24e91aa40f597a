"""Typed tables of what enters and leaves a model: names, dtypes and shapes are API, so they are written down."""

from dataclasses import dataclass

DTYPES = ("bool", "int32", "int64", "float32", "string")


@dataclass(frozen=True)
class TensorSpec:
    """One tensor: `name`, `dtype` and `shape`, where a string in `shape` names a dynamic axis.

    Example: `TensorSpec("token_ids", "int32", ("batch", "time"))`.
    """

    name: str
    dtype: str
    shape: tuple

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
        return {"name": self.name, "dtype": self.dtype, "shape": list(self.shape)}


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

        def fixed(specs):
            return tuple(
                TensorSpec(spec.name, spec.dtype, tuple(sizes.get(axis, axis) for axis in spec.shape)) for spec in specs
            )

        return Signature(self.name, fixed(self.inputs), fixed(self.outputs))

    def to_dict(self):
        return {
            "name": self.name,
            "inputs": [spec.to_dict() for spec in self.inputs],
            "outputs": [spec.to_dict() for spec in self.outputs],
        }
