"""bfloat16 on JAX as processors compute it: products and sums that are float32 until they are rounded, once.

Keras asks for a bfloat16 result of a bfloat16 product. XLA for CPUs then turns both factors into float32 first and
multiplies these. If the result is asked for in float32 and rounded afterwards, it multiplies as the processor can
(AVX512_BF16, AMX), at twice the speed. A sum over the rows of a bfloat16 matrix, the gradient of a bias, is worse: it
takes fifty times as long as in float32. As a product with ones it takes a tenth of that. Where a result is turned into
float32 again, as logits and the gradients of weights are, it is not rounded at all. Nothing is less exact.

JAX gives the gradient of a matrix as a transposed product, `(dy^T x)^T`. XLA takes that for `x^T dy` if nothing is in
between; where the rounding is, it would read the product column by column, in each pass of the optimizer. So such a
product is written with its factors swapped.
"""

import functools

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

OF_A_MESH = ("shard_map",)  # a body whose axes have names: it is left as it is
WIDE = {"preferred_element_type": jnp.dtype("float32")}


def summed_in_float32(function):
    """The function of arrays with its bfloat16 products and sums, those of loops and gradients too, summed in float32.

    Shapes and dtypes stay as they are: each result is rounded to bfloat16, except for uses that widen it. Everything
    else is computed as before. The new function is for `jax.jit`; it is not meant to be differentiated.
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
    wide, swapped = {}, {}  # of products: the result before it is rounded, and the arguments for swapped factors

    def read(atom):
        return atom.val if isinstance(atom, Literal) else values[atom]

    for equation in jaxpr.eqns:
        inputs, out = list(map(read, equation.invars)), equation.outvars[0] if equation.outvars else None
        if _is_product(equation):
            wide[out], swapped[out] = _product(*inputs, **equation.params), _swapped(*inputs, **equation.params)
        elif _swaps_factors(equation, swapped):
            inputs, params = swapped[equation.invars[0]]
            wide[out] = _product(*inputs, **params)
        elif _is_sum_of_rows(equation):
            wide[out] = _sum_of_rows(*inputs)
        elif _widens(equation, wide):
            values[out] = wide[equation.invars[0]]
        else:
            inside = equation.primitive.name not in OF_A_MESH
            params = {name: _inside(value) if inside else value for name, value in equation.params.items()}
            with equation.ctx.manager:
                found = equation.primitive.bind(*inputs, **equation.primitive.get_bind_params(params))
            values.update(zip(equation.outvars, found if equation.primitive.multiple_results else [found], strict=True))
        if out in wide:
            values[out] = wide[out].astype(jnp.bfloat16)
    return list(map(read, jaxpr.outvars))


def _is_bfloat16(equation):
    return all(each.aval.dtype == jnp.bfloat16 for each in (*equation.invars, *equation.outvars))


def _is_product(equation):
    if equation.primitive.name != "dot_general" or not _is_bfloat16(equation):
        return False
    x, y = equation.invars
    return _is_computed(x.aval, y.aval, **equation.params)


def _is_computed(x, y, dimension_numbers, **params):
    """Whether XLA computes it in float32. It refuses, in some sizes, when the program runs, some with `x` transposed:

    `x` is `(batch, summed, free)`, and `y` is no such matrix or its transposed, with the same batch axes in front.
    """
    del params
    (of_x, of_y), (batch_x, batch_y) = dimension_numbers
    count = len(batch_x)
    front = list(range(count))
    turned = x.ndim == count + 2 and sorted(batch_x) == front and tuple(of_x) == (count,)
    matrices = sorted(batch_y) == front and tuple(batch_y) == tuple(batch_x) and y.ndim - len(of_y) - count < 2
    return not turned or matrices


def _product(x, y, **params):
    """In float32."""
    return jax.lax.dot_general_p.bind(x, y, **params | WIDE)


def _swapped(x, y, dimension_numbers, **params):
    """The arguments of `_product` for the product with its factors swapped."""
    (of_x, of_y), batch = dimension_numbers
    return (y, x), {**params, "dimension_numbers": ((of_y, of_x), batch)}


def _swaps_factors(equation, products):
    """Whether it transposes a product to the one with its factors swapped; these, by the product's name, are given."""
    if equation.primitive.name != "transpose" or equation.invars[0] not in products:
        return False
    (y, x), params = products[equation.invars[0]]
    ((_, of_x), (batch, _)), axes = params["dimension_numbers"], equation.params["permutation"]
    free = x.ndim - len(of_x)
    turned = (*range(free, len(axes)), *range(free))
    return not batch and tuple(axes) == turned and _is_computed(y, x, **params)


def _is_sum_of_rows(equation):
    """Whether it sums a bfloat16 array over all of its axes but the last."""
    if equation.primitive.name != "reduce_sum" or not _is_bfloat16(equation):
        return False
    axes = equation.invars[0].aval.ndim - 1
    return axes > 0 and tuple(equation.params["axes"]) == tuple(range(axes))


def _widens(equation, wide):
    """Whether it turns one of these results into float32."""
    return (
        equation.primitive.name == "convert_element_type"
        and equation.invars[0] in wide
        and equation.params["new_dtype"] == jnp.float32
    )


def _sum_of_rows(x):
    """In float32."""
    axes = tuple(range(x.ndim - 1))
    ones = jnp.ones(x.shape[:-1], x.dtype)
    return jax.lax.dot_general(ones, x, ((axes, axes), ((), ())), **WIDE)


def _inside(value):
    """A parameter of an operation; a program, such as the body of a loop, is rewritten, and so are several of them."""
    if isinstance(value, tuple):
        return tuple(map(_inside, value)) if any(isinstance(each, ClosedJaxpr) for each in value) else value
    if isinstance(value, Jaxpr):
        return _inside(ClosedJaxpr(value, ())).jaxpr
    if not isinstance(value, ClosedJaxpr):
        return value
    return jax.make_jaxpr(functools.partial(_run, value))(*value.in_avals)
