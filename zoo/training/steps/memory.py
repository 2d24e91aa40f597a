"""An estimate of the memory of a training step, made before the step is compiled.

The weights and the state of the optimizer are counted. For activations and gradients, the operations of the traced step
are visited in order: the result of an operation occupies its bytes until the last operation that reads it, and the
estimate is the largest sum of all results at one time. XLA uses less where it fuses operations, and more where it runs
several at once. The memory of the compilation, and what the process held before, are not included.
"""

from dataclasses import dataclass

CALLS = ("closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "checkpoint", "jit", "pjit", "remat2")
BODIES = ("body", "then_branch", "else_branch", "f")  # attributes of a TensorFlow operation that are functions


@dataclass(frozen=True)
class Operation:
    """One operation of a traced step.

    Args:
        reads: the keys of the results that it reads.
        makes: {key: bytes} of its own results.
        inside: the most bytes that the operations inside it hold at one time, as in the body of a loop.
    """

    reads: tuple
    makes: dict
    inside: int = 0


def peak_bytes(operations):
    """The largest number of bytes that the results of a list of `Operation`s occupy at one time."""
    operations = list(operations)
    last = {key: place for place, operation in enumerate(operations) for key in (*operation.makes, *operation.reads)}
    releases, now, most = {}, 0, 0
    for place, operation in enumerate(operations):
        now += sum(operation.makes.values())
        most = max(most, now + operation.inside)
        for key, size in operation.makes.items():
            releases[last[key]] = releases.get(last[key], 0) + size
        now -= releases.pop(place, 0)
    return most


def measure_variables(model, optimizer):
    """{"weights", "optimizer"} in bytes: the memory of every step that does not depend on the batch."""
    return {
        "weights": sum(map(size_of, model.variables)),
        "optimizer": sum(map(size_of, optimizer.variables)),
    }


def size_of(array):
    """The bytes of an object with a shape and a dtype. An unknown length counts as one."""
    count = 1
    for length in array.shape:
        count *= length or 1
    name = str(getattr(array.dtype, "name", array.dtype))
    bits = "".join(letter for letter in name if letter.isdigit())
    return count * max(int(bits or 8) // 8, 1)


def jaxpr_operations(jaxpr):
    """The `Operation`s of a jaxpr, including those of the functions that it calls."""
    operations = []
    _append_operations(jaxpr, {}, (), operations)
    return operations


def _append_operations(jaxpr, names, scope, operations):
    """Append the operations of a jaxpr to `operations`; returns the keys of its results, with None for literals."""

    def key(variable):
        literal = hasattr(variable, "val")
        return None if literal else names.setdefault(id(variable), (*scope, id(variable)))

    for number, equation in enumerate(jaxpr.eqns):
        inner, reads = list(inner_jaxprs(equation.params.values())), tuple(map(key, equation.invars))
        if equation.primitive.name in CALLS and len(inner) == 1:
            arguments = dict(zip(map(id, inner[0].invars), reads, strict=False))
            results = _append_operations(inner[0], arguments, (*scope, number), operations)
            names.update(zip(map(id, equation.outvars), results, strict=False))
            continue
        makes = {key(variable): size_of(variable.aval) for variable in equation.outvars}
        inside = max((peak_bytes(jaxpr_operations(each)) for each in inner), default=0)
        operations.append(Operation(tuple(read for read in reads if read), makes, inside))
    return [key(variable) for variable in jaxpr.outvars]


def inner_jaxprs(values):
    """The jaxprs among the parameters of an equation."""
    for value in values:
        if isinstance(value, tuple | list):
            yield from inner_jaxprs(value)
        elif hasattr(value, "eqns"):
            yield value
        elif hasattr(value, "jaxpr"):
            yield value.jaxpr


def graph_operations(graph, trips=1):
    """The `Operation`s of a TensorFlow graph.

    Args:
        graph: a `tf.Graph`.
        trips: how often the body of a loop runs. Each run appends to the lists of the loop.
    """
    operations = []
    for operation in graph.get_operations():
        makes = {tensor.name: _tensor_bytes(tensor) for tensor in operation.outputs}
        lists = [tensor.name for tensor in operation.outputs if tensor.dtype.name == "variant"]
        inside, attributes = 0, operation.node_def.attr
        for body in (attributes[name].func.name for name in BODIES if name in attributes):
            function = graph._get_function(body) if body else None
            if function is not None:
                inside = max(inside, peak_bytes(graph_operations(function.graph, trips)))
                pushes = (each for each in function.graph.get_operations() if each.type == "TensorListPushBack")
                if lists:
                    makes[lists[-1]] = trips * sum(_tensor_bytes(push.inputs[1]) for push in pushes)
        operations.append(Operation(tuple(tensor.name for tensor in operation.inputs), makes, inside))
    return operations


def _tensor_bytes(tensor):
    """The bytes of a tensor of numbers. Lists are counted by what is appended to them, variables as weights: 0 here."""
    is_numeric = tensor.shape.rank is not None and tensor.dtype.name not in ("resource", "variant", "string")
    return size_of(tensor) if is_numeric else 0
