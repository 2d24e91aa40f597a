"""bfloat16 on JAX as processors compute it: products and sums that are float32 until they are rounded, once.

Keras asks for a bfloat16 result of a bfloat16 product. XLA for CPUs then turns both factors into float32 first and
multiplies these. If the result is asked for in float32 and rounded afterwards, it multiplies as the processor can
(AVX512_BF16, AMX), at twice the speed. A sum over the rows of a bfloat16 matrix, the gradient of a bias, is worse: it
takes fifty times as long as in float32. As a product with ones it takes a tenth of that. Nothing is less exact.
"""

import functools

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

WIDE = {"preferred_element_type": jnp.dtype("float32")}


def summed_in_float32(function):
    """The function of arrays with its bfloat16 products and sums, those of loops and gradients too, summed in float32.

    Shapes and dtypes stay as they are: each result is rounded to bfloat16. Everything else is computed as before. The
    new function is for `jax.jit`; it is not meant to be differentiated.
    """

    @functools.wraps(function)
    def rewritten(*args):
        program, shapes = jax.make_jaxpr(function, return_shape=True)(*args)
        found = _run(program, *jax.tree.leaves(args))
        return jax.tree.unflatten(jax.tree.structure(shapes), found)

    return rewritten


def _run(program, *args):
    """The outputs of a program, computed one operation after the other."""
    jaxpr = program.jaxpr
    values = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*program.consts, *args], strict=True))

    def read(atom):
        return atom.val if isinstance(atom, Literal) else values[atom]

    for equation in jaxpr.eqns:
        inputs = list(map(read, equation.invars))
        if _is_product(equation):
            found = equation.primitive.bind(*inputs, **equation.params | WIDE).astype(jnp.bfloat16)
        elif _is_sum_of_rows(equation):
            found = _sum_of_rows(*inputs)
        else:
            params = {name: _inside(value) for name, value in equation.params.items()}
            with equation.ctx.manager:
                found = equation.primitive.bind(*inputs, **equation.primitive.get_bind_params(params))
        found = found if equation.primitive.multiple_results else [found]
        values.update(zip(equation.outvars, found, strict=True))
    return list(map(read, jaxpr.outvars))


def _is_bfloat16(equation):
    return all(each.aval.dtype == jnp.bfloat16 for each in (*equation.invars, *equation.outvars))


def _is_product(equation):
    return equation.primitive.name == "dot_general" and _is_bfloat16(equation)


def _is_sum_of_rows(equation):
    """Whether it sums a bfloat16 array over all of its axes but the last."""
    if equation.primitive.name != "reduce_sum" or not _is_bfloat16(equation):
        return False
    axes = equation.invars[0].aval.ndim - 1
    return axes > 0 and tuple(equation.params["axes"]) == tuple(range(axes))


def _sum_of_rows(x):
    axes = tuple(range(x.ndim - 1))
    ones = jnp.ones(x.shape[:-1], x.dtype)
    return jax.lax.dot_general(ones, x, ((axes, axes), ((), ())), **WIDE).astype(x.dtype)


def _inside(value):
    """A parameter of an operation; a program, such as the body of a loop, is rewritten, and so are several of them."""
    if isinstance(value, tuple):
        return tuple(map(_inside, value)) if any(isinstance(each, ClosedJaxpr) for each in value) else value
    if isinstance(value, Jaxpr):
        return _inside(ClosedJaxpr(value, ())).jaxpr
    if not isinstance(value, ClosedJaxpr):
        return value
    return jax.make_jaxpr(functools.partial(_run, value))(*value.in_avals)
