"""What a request asks of a signature, and the checks that all signatures share."""

from dataclasses import dataclass

from serving.server.faults import invalid
from serving.server.tensors import describe, quote


@dataclass(frozen=True, eq=False)
class Ask:
    """Rows of one request.

    Args:
        signature: who answers them.
        key: rows of different requests share a batch if this is equal.
        rows: what is computed, one for each row.
        costs: the tokens of each row.
        width: what the signature needs to know to put the answer together.
        long: whether rows may take so long that nobody is to wait for them who asks less.
        written: the most tokens that are written, if they are long.
    """

    signature: object
    key: tuple
    rows: list
    costs: list
    width: object = None
    long: bool = False
    written: int = 0


def spec(name, datatype, *shape):
    """An input or an output as the protocol describes it; -1 is an axis of any size."""
    return {"name": name, "datatype": datatype, "shape": list(shape)}


def order_tensors(tensors, specs):
    """The tensors in the order of `specs`.

    Raises:
        Fault: one is missing, unknown or given twice.
    """
    expected, received = [each["name"] for each in specs], [tensor.name for tensor in tensors]
    for problem, names in (
        ("misses", [name for name in expected if name not in received]),
        ("does not know", [name for name in received if name not in expected]),
        ("has more than once", [name for name in expected if received.count(name) > 1]),
    ):
        if names:
            raise invalid(
                f"the request {problem} the input {', '.join(map(quote, dict.fromkeys(names)))}; this signature takes "
                f"{', '.join(expected)}."
            )
    by_name = {tensor.name: tensor for tensor in tensors}
    return [by_name[name] for name in expected]


def check_outputs(names, specs):
    """Check that a signature has outputs of these names.

    Raises:
        Fault: it lacks one.
    """
    known = [each["name"] for each in specs]
    missing = [name for name in names if name not in known]
    if missing:
        raise invalid(f"there is no output {', '.join(map(quote, missing))}; this signature has {', '.join(known)}.")


class Parameters:
    """The parameters of a request, taken one by one; those that nobody takes are unknown.

    A number may come as a string, because parameters of gRPC have no type for fractions.
    """

    def __init__(self, values):
        self.values = dict(values or {})

    def take(self, name, kind):
        """The value of a parameter as a bool, int, float or str, or of a list a tuple of its strings or of the lines of
        a string; None if it is not given.

        Raises:
            Fault: it has another type.
        """
        value = self.values.pop(name, None)
        if kind is list and isinstance(value, str):
            return tuple(value.split("\n"))
        if kind is list and isinstance(value, list) and all(isinstance(each, str) for each in value):
            return tuple(value)
        if value is None or kind is not list and type(value) is kind:
            return value
        if isinstance(value, str) or kind is float and type(value) is int:
            try:
                return {"true": True, "false": False}[value.lower()] if kind is bool else kind(value)
            except (KeyError, ValueError, OverflowError):
                pass
        words = {bool: "true or false", int: "a whole number", float: "a number", list: "a string or a list of strings"}
        words = words.get(kind, "a string")
        raise invalid(f"the parameter {name} must be {words}; received {describe(value)}.")

    def check_empty(self, known):
        """Check that every parameter was taken; `known` are the names that the model takes.

        Raises:
            Fault: one was not.
        """
        if self.values:
            raise invalid(
                f"this model does not know the parameter {', '.join(map(quote, self.values))}; it takes "
                f"{', '.join(known) or 'none'}."
            )
