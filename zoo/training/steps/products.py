"""bfloat16 on JAX as processors compute it: products and sums that are float32 until they are rounded, once.

Keras asks for a bfloat16 result of a bfloat16 product. XLA for CPUs then turns both factors into float32 first and
multiplies these. If the result is asked for in float32 and rounded afterwards, it multiplies as the processor can
(AVX512_BF16, AMX), at twice the speed. A sum over the rows of a bfloat16 matrix, the gradient of a bias, is worse: it
takes fifty times as long as in float32. As a product with ones it takes a tenth of that. Where a result is turned into
float32 again, as logits and the gradients of weights are, it is not rounded at all. Nothing is less exact.

JAX gives the gradient of a matrix as a transposed product, `(dy^T x)^T`. XLA takes that for `x^T dy` if nothing is in
between; where the rounding is, it would read the product column by column, in each pass of the optimizer. So such a
product is written with its factors swapped.

XLA refuses some of these products when they are computed; then `Compiled` takes the step as it was written.
"""

import functools
import warnings

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from zoo.training.steps.shared import shape_of

# Operations whose inner program is rewritten, with the parameter that holds it. The programs of all others are left as
# they are: a solver, a body whose axes have names, and what may be computed for the first time in a later step, when
# nothing can be tried again, such as a branch of a condition or the body of a loop of unknown length.
PROGRAMS = {"scan": "jaxpr", "jit": "jaxpr", "pjit": "jaxpr", "checkpoint": "jaxpr", "remat2": "jaxpr"}
WITH_RULES = ("custom_jvp_call", "custom_vjp_call")  # programs with rules for derivatives, not needed any more
WIDE = {"preferred_element_type": jnp.dtype("float32")}


class Compiled:
    """A step whose products are summed in float32; for batches whose products XLA refuses, the step as it was written.

    Args:
        step: a function of a state, if it is donated, and of a dict of arrays, the batch, which comes last.
        wide: whether products are summed in float32 at all.
        options: of `jax.jit`. The first call with batches of a shape donates copies, so that nothing is lost.
    """

    def __init__(self, step, wide, **options):
        self.original, self._donates = jax.jit(step, **options), "donate_argnums" in options
        self._wide = jax.jit(sum_in_float32(self.original), **options) if wide else None
        self._programs = {}  # by the shapes of batches

    def __call__(self, *args):
        shapes = shape_of(args[-1])
        if self._wide is None or shapes in self._programs:
            return self._programs.get(shapes, self.original)(*args)
        state = jax.tree.map(jnp.copy, args[:-1]) if self._donates else args[:-1]
        try:
            outputs = jax.block_until_ready(self._wide(*state, args[-1]))
            self._programs[shapes] = self._wide
        except Exception as error:
            outputs = self.original(*args)  # which raises what is wrong with the step itself
            self._programs[shapes] = self.original
            warnings.warn(
                "XLA refuses a bfloat16 product of this step that is summed in float32. The step is computed as it was "
                f"written, which is slower, for batches of {shapes}. XLA said: {str(error)[:200]}",
                stacklevel=2,
            )
        return outputs

    @property
    def num_programs(self):
        return sum(each._cache_size() for each in (self.original, self._wide) if each)


def sum_in_float32(function):
    """The function of arrays with its bfloat16 products and sums, those of loops and gradients too, summed in float32.

    Shapes and dtypes stay as they are: each result is rounded to bfloat16, except for uses that widen it. Everything
    else is computed as before. The new function is for `jax.jit`; it is not meant to be differentiated.

    Args:
        function: one of `jax.jit` is not traced again if it was before.
    """
    jitted = function if isinstance(function, jax.stages.Wrapped) else jax.jit(function)

    @functools.wraps(function)
    def rewritten(*args):
        traced = jitted.trace(*args)
        outputs = _evaluate(traced.jaxpr, *jax.tree.leaves(args))
        return jax.tree.unflatten(jax.tree.structure(traced.out_info), outputs)

    return rewritten


def _evaluate(program, *args):
    """The outputs of a program, computed one operation after the other."""
    jaxpr = program.jaxpr
    values = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*program.consts, *args], strict=True))
    wide, swapped = {}, {}  # of products: the result before it is rounded, and the arguments for swapped factors

    def value_of(atom):
        return atom.val if isinstance(atom, Literal) else values[atom]

    for equation in jaxpr.eqns:
        inputs, out = list(map(value_of, equation.invars)), equation.outvars[0] if equation.outvars else None
        if _is_product(equation):
            wide[out], swapped[out] = _multiply(*inputs, **equation.params), _swap_factors(*inputs, **equation.params)
        elif _is_swapped_product(equation, swapped):
            inputs, params = swapped[equation.invars[0]]
            wide[out] = _multiply(*inputs, **params)
        elif _is_sum_of_rows(equation):
            wide[out] = _sum_rows(*inputs)
        elif _widens(equation, wide):
            values[out] = wide[equation.invars[0]]
        elif equation.primitive.name in WITH_RULES:
            values.update(zip(equation.outvars, _evaluate(equation.params["call_jaxpr"], *inputs), strict=True))
        else:
            with equation.ctx.manager:
                params = equation.primitive.get_bind_params(_rewrite_parameters(equation))
                results = equation.primitive.bind(*inputs, **params)
            values.update(
                zip(equation.outvars, results if equation.primitive.multiple_results else [results], strict=True)
            )
        if out in wide:
            values[out] = wide[out].astype(jnp.bfloat16)
    return list(map(value_of, jaxpr.outvars))


def _is_bfloat16(equation):
    return all(each.aval.dtype == jnp.bfloat16 for each in (*equation.invars, *equation.outvars))


def _is_product(equation):
    if equation.primitive.name != "dot_general" or not _is_bfloat16(equation):
        return False
    x, y = equation.invars
    return _is_supported(x.aval, y.aval, **equation.params)


def _is_supported(x, y, dimension_numbers, **params):
    """Whether XLA can compute a product in float32.

    In some sizes it refuses, when the program runs, products with a transposed `x`: `x` is `(batch, summed, free)`, and
    `y` is neither such a matrix nor its transpose, with the same batch axes in front.
    """
    del params
    (of_x, of_y), (batch_x, batch_y) = dimension_numbers
    count = len(batch_x)
    front = list(range(count))
    transposed = x.ndim == count + 2 and sorted(batch_x) == front and tuple(of_x) == (count,)
    matrices = sorted(batch_y) == front and tuple(batch_y) == tuple(batch_x) and y.ndim - len(of_y) - count < 2
    return not transposed or matrices


def _multiply(x, y, **params):
    """The product in float32."""
    return jax.lax.dot_general_p.bind(x, y, **params | WIDE)


def _swap_factors(x, y, dimension_numbers, **params):
    """`(factors, parameters)` of `_multiply` for the product with its factors swapped."""
    (of_x, of_y), batch = dimension_numbers
    return (y, x), {**params, "dimension_numbers": ((of_y, of_x), batch)}


def _is_swapped_product(equation, products):
    """Whether it transposes one of `products` (see `_evaluate`) to the product with its factors swapped."""
    if equation.primitive.name != "transpose" or equation.invars[0] not in products:
        return False
    (y, x), params = products[equation.invars[0]]
    ((_, of_x), (batch, _)), axes = params["dimension_numbers"], equation.params["permutation"]
    free = x.ndim - len(of_x)
    swapped = (*range(free, len(axes)), *range(free))
    return not batch and tuple(axes) == swapped and _is_supported(y, x, **params)


def _is_sum_of_rows(equation):
    """Whether it sums a bfloat16 array over all of its axes but the last."""
    if equation.primitive.name != "reduce_sum" or not _is_bfloat16(equation):
        return False
    axes = equation.invars[0].aval.ndim - 1
    return axes > 0 and tuple(equation.params["axes"]) == tuple(range(axes))


def _widens(equation, wide):
    """Whether it turns one of the results in `wide` into float32."""
    return (
        equation.primitive.name == "convert_element_type"
        and equation.invars[0] in wide
        and equation.params["new_dtype"] == jnp.float32
    )


def _sum_rows(x):
    """The sum over all axes but the last, in float32."""
    axes = tuple(range(x.ndim - 1))
    ones = jnp.ones(x.shape[:-1], x.dtype)
    return jax.lax.dot_general(ones, x, ((axes, axes), ((), ())), **WIDE)


def _rewrite_parameters(equation):
    """The parameters of an operation, with its inner program rewritten if it is one of `PROGRAMS`."""
    name = PROGRAMS.get(equation.primitive.name)
    program = equation.params.get(name)
    if isinstance(program, Jaxpr):
        return equation.params | {name: _rewrite(ClosedJaxpr(program, ())).jaxpr}
    return equation.params | {name: _rewrite(program)} if isinstance(program, ClosedJaxpr) else equation.params


def _rewrite(program):
    """The rewritten program; the old one where the shapes or types of its arguments or results would change."""
    rewritten = jax.make_jaxpr(functools.partial(_evaluate, program))(*program.in_avals)
    same = (rewritten.in_avals, rewritten.out_avals) == (program.in_avals, program.out_avals)
    return rewritten if same else program
