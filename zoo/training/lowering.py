"""Whether the compiled steps of a training can run on devices that this machine does not have (JAX).

`jax.export` turns a step into a portable module (StableHLO) for each platform. It refuses operations that have no form
there, and custom calls without a promise of stability. It proves that a step lowers; it says nothing about speed.
"""

import re

from zoo.core.later import later

export = later("jax.export")

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")
# Custom calls that a module may hold: {name: why every platform's compiler has it}. No step of the zoo needs any.
ALLOWED = {}


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
