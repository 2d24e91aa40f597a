"""Whether the steps of a training can run on devices that this machine does not have, and how much they compute (JAX).

`jax.export` turns a step into a portable module (StableHLO) for each platform. It refuses operations that have no form
there, and custom calls without a promise of stability. It proves that a step lowers; it says nothing about speed.
"""

import re
from collections import Counter
from math import prod

from zoo.core.later import later
from zoo.training.steps.memory import inner_jaxprs

export = later("jax.export")

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
# Custom calls that a module may hold: {name: why every platform's compiler has it}. No step of the zoo needs any.
ALLOWED = {}
MOVES = {  # operations that compute nothing: they move, name or make numbers
    "broadcast_in_dim", "reshape", "transpose", "squeeze", "slice", "dynamic_slice", "dynamic_update_slice", "gather",
    "concatenate", "pad", "rev", "iota", "copy", "convert_element_type", "bitcast_convert_type", "stop_gradient",
    "split", "expand_dims",
}  # fmt: skip


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
