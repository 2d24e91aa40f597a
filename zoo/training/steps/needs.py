"""What a training step needs, told before it is compiled: its memory, its operations, and whether it lowers elsewhere.

Memory: the weights and the state of the optimizer are counted. For activations and gradients, the operations of the
traced step are visited in order: the result of an operation occupies its bytes until the last operation that reads it,
and the estimate is the largest sum of all results at one time. XLA uses less where it fuses operations, and more where
it runs several at once. The memory of the compilation, and what the process held before, are not included.

Elsewhere (JAX): `jax.export` turns a step into a portable module (StableHLO) for each platform, also for devices that
this machine does not have. It refuses operations that have no form there, and custom calls without a promise of
stability. It proves that a step lowers; it says nothing about speed.
"""

import re
from collections import Counter
from dataclasses import dataclass
from math import prod

from zoo.core.later import later

export = later("jax.export")

CALLS = ("closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "checkpoint", "jit", "pjit", "remat2")
BODIES = ("body", "then_branch", "else_branch", "f")  # attributes of a TensorFlow operation that are functions
PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
# Custom calls that a module may hold: {name: why every platform's compiler has it}. No step of the zoo needs any.
ALLOWED = {}
MOVES = {  # operations that compute nothing: they move, name or make numbers
    "broadcast_in_dim", "reshape", "transpose", "squeeze", "slice", "dynamic_slice", "dynamic_update_slice", "gather",
    "concatenate", "pad", "rev", "iota", "copy", "convert_element_type", "bitcast_convert_type", "stop_gradient",
    "split", "expand_dims",
}  # fmt: skip


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
    name = str(getattr(array.dtype, "name", array.dtype))
    bits = "".join(letter for letter in name if letter.isdigit())
    return prod(length or 1 for length in array.shape) * max(int(bits or 8) // 8, 1)


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


def export_steps(steps, batch, platforms=PLATFORMS):
    """Export the two steps of a training, for the shapes of a batch, as modules for platforms.

    Args:
        steps: what `zoo.training.make_steps` made on JAX.
        batch: a dict of arrays; their shapes are what counts.
        platforms: JAX's names of them.

    Returns:
        `{"training": jax.export.Exported, "validation": ..}`.

    Raises:
        ValueError: an operation has no form on a platform, or a module holds a custom call that is not in `ALLOWED`.
    """
    modules = {}
    for name, (program, arguments) in steps.programs(batch).items():
        try:
            modules[name] = export.export(program, platforms=list(platforms))(*arguments)
        except (NotImplementedError, ValueError) as error:
            raise ValueError(f"the {name} step cannot be lowered for {', '.join(platforms)}: {error}") from error
        if others := custom_calls(modules[name].mlir_module()) - ALLOWED.keys():
            raise ValueError(
                f"the {name} step calls {', '.join(sorted(others))}, which a compiler elsewhere may not have; expected "
                f"{', '.join(ALLOWED) or 'no custom call'}."
            )
    return modules


def custom_calls(module):
    """The names of the custom calls of a module's text."""
    return set(re.findall(r"stablehlo\.custom_call @([\w.$]+)", module)) | set(
        re.findall(r'call_target_name = "([^"]+)"', module)
    )


def count_operations(jaxpr, trips=1):
    """The floating-point operations of a jaxpr: `Counter({"float32": matrix products in float32, .., "other": ..})`.

    A product of (m, k) and (k, n) is 2 m k n operations; it is counted by the type of what it reads. Everything else is
    one for each number that it makes, or, if it is a reduction, that it reads. Of alternatives the largest counts.

    Args:
        jaxpr: of a traced function.
        trips: how often a loop is assumed to run whose length is decided while it runs.
    """
    counts = Counter()
    for equation in jaxpr.eqns:
        name, inner = equation.primitive.name, list(inner_jaxprs(equation.params.values()))
        if name == "dot_general":
            counts[str(equation.invars[0].aval.dtype)] += _count_product(equation)
        elif name == "conv_general_dilated":
            counts[str(equation.invars[0].aval.dtype)] += _count_convolution(equation)
        elif name == "cond":
            counts += max((count_operations(each, trips) for each in inner), key=Counter.total, default=Counter())
        elif inner:
            times = equation.params["length"] if name == "scan" else trips if name == "while" else 1
            for each in inner:
                counts += Counter({key: times * count for key, count in count_operations(each, trips).items()})
        elif name not in MOVES:
            arrays = equation.invars if name.startswith(("reduce_", "cum", "arg")) else equation.outvars
            counts["other"] += max((prod(each.aval.shape) for each in arrays), default=0)
    return counts


def _count_product(equation):
    (contracted, _), _ = equation.params["dimension_numbers"]
    shape = equation.invars[0].aval.shape
    return 2 * prod(equation.outvars[0].aval.shape) * prod(shape[axis] for axis in contracted)


def _count_convolution(equation):
    """Each number of the result is a sum over the window and over the channels that it reads."""
    kernel = equation.invars[1].aval.shape
    outputs = kernel[equation.params["dimension_numbers"].rhs_spec[0]]
    return 2 * prod(equation.outvars[0].aval.shape) * prod(kernel) // outputs
