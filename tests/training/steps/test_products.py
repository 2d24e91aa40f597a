"""bfloat16 products and sums whose sums are float32 until they are rounded once."""

from contextlib import nullcontext
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import jaxprs_in_params

from zoo.training.steps import products
from zoo.training.steps.products import Compiled, sum_in_float32

RANDOM = np.random.default_rng(0)


def array(*shape):
    return jnp.asarray(RANDOM.normal(size=shape), jnp.bfloat16)


def operations(jaxpr):
    """Every operation of a program, those inside others, too."""
    for equation in jaxpr.eqns:
        yield equation
        for inner in jaxprs_in_params(equation.params):
            yield from operations(inner)


def kinds(function, *args):
    """`{(name, dtype of the first input, dtype of the result)}` of products and sums."""
    found = operations(jax.make_jaxpr(function)(*args).jaxpr)
    return {
        (each.primitive.name, str(each.invars[0].aval.dtype), str(each.outvars[0].aval.dtype))
        for each in found
        if each.primitive.name in ("dot_general", "reduce_sum")
    }


def test_a_product_is_rounded_once():
    """Of 4,096 terms: as near to the exact sum as bfloat16 can be."""
    x, w = array(8, 4096), array(4096, 5)
    exact = np.asarray(x, "float64") @ np.asarray(w, "float64")
    found = jax.jit(sum_in_float32(jnp.matmul))(x, w)
    assert found.dtype == jnp.bfloat16
    np.testing.assert_allclose(np.asarray(found, "float64"), exact, rtol=2**-8, atol=1e-4)


@pytest.mark.parametrize("shape", [(3, 5), (4, 3, 5), (2, 2, 3, 5), (1000, 2)])
def test_a_sum_of_rows_is_rounded_once(shape):
    x, axes = array(*shape), tuple(range(len(shape) - 1))
    found = jax.jit(sum_in_float32(lambda x: jax.lax.reduce_sum(x, axes)))(x)
    np.testing.assert_allclose(np.asarray(found, "float64"), np.asarray(x, "float64").sum(axes), rtol=2**-8, atol=1e-4)


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("shape", [(6, 8), (3, 4, 8), (64, 256)])
def test_what_is_not_finite_is_neither_lost_nor_spread(odd, shape):
    """Products, sums of rows and gradients have it where the exact ones have it, and nowhere else."""
    x, w = np.asarray(array(*shape), "float32"), np.asarray(array(shape[-1], 5), "float32")
    x[(1,) * len(shape)] = odd
    dy, rows = np.ones((*shape[:-1], 5), "float32"), tuple(range(len(shape) - 1))

    def step(x, w):
        product, gradient = jax.vjp(lambda w: x @ w, w)
        return product, jax.lax.reduce_sum(x, rows), *gradient(dy.astype(jnp.bfloat16))

    found = jax.jit(sum_in_float32(step))(*(jnp.asarray(each, jnp.bfloat16) for each in (x, w)))
    with np.errstate(invalid="ignore"):
        exact = x @ w, x.sum(rows), x.reshape(-1, shape[-1]).T @ dy.reshape(-1, 5)
    for one, other in zip(found, exact, strict=True):
        assert 0 < np.isfinite(other).sum() < other.size
        np.testing.assert_allclose(np.asarray(one, "float32"), other, rtol=2**-7, atol=0.05)


@jax.custom_vjp
def ruled(x, w):
    return jnp.tanh(x @ w)


ruled.defvjp(
    lambda x, w: (ruled(x, w), (ruled(x, w), x, w)),
    lambda kept, dy: ((dy * (1 - kept[0] ** 2)) @ kept[2].T, kept[1].T @ dy),
)


def test_products_inside_of_everything_and_their_gradients_are_found():
    args = array(6, 8), array(8, 8), array(8)
    gradient = jax.value_and_grad(loss_once, argnums=(0, 1, 2))
    before, after = kinds(gradient, *args), kinds(sum_in_float32(gradient), *args)
    assert ("dot_general", "bfloat16", "bfloat16") in before and ("reduce_sum", "bfloat16", "bfloat16") in before
    assert not {each for each in after if each[1:] == ("bfloat16", "bfloat16") and each[0] == "dot_general"}
    assert ("dot_general", "bfloat16", "float32") in after
    (value, found), (expected, others) = jax.jit(sum_in_float32(gradient))(*args), jax.jit(gradient)(*args)
    np.testing.assert_allclose(value, expected, rtol=2e-2)
    for one, other in zip(found, others, strict=True):
        assert one.shape == other.shape and one.dtype == other.dtype
        size = np.abs(np.asarray(other, "float32")).max()
        np.testing.assert_allclose(np.asarray(one, "float32"), np.asarray(other, "float32"), atol=0.05 * size)


def loss_once(x, w, b):
    """Products in a loop, in what is computed again, in a call and in a function with a rule for its derivative."""
    x = jnp.tanh(x @ w + b)
    x, _ = jax.lax.scan(lambda x, _: (jnp.tanh(x @ w), None), x, length=3)
    x = jax.jit(lambda x: ruled(x, w))(x)
    return jnp.mean(jnp.square(jax.checkpoint(lambda x: jnp.einsum("bi,ij,kj->bk", x, w, w))(x).astype("float32")))


EQUATIONS = """bqhd,bkhd->bhqk bhqk,bkhd->bqhd bhqk,qkd->bhqd bthd,hde->bthe becd,edf->becf bti,tio->bto bnd,nde->bne
bqd,bkd->bqk bqk,bkd->bqd bti,bio->bto bti,ihd->bthd bthd,hdo->bto bti,bto->io bi,ihd->bhd btd,bdt->bt""".split()


@pytest.mark.slow
@pytest.mark.parametrize("lengths", [(5, 7, 3, 6, 4), (32, 64, 16, 32, 8), (16, 7, 4, 16, 7)])
def test_products_of_layers_and_their_gradients_are_computed(lengths):
    """XLA refuses some of the widened products, and says so only when the program runs: here one of all equations."""

    def factors(equation):
        terms = equation.partition("->")[0].split(",")
        sizes = {axis: lengths[n % 5] for n, axis in enumerate(sorted(set("".join(terms))))}
        return [array(*(sizes[axis] for axis in term)) / 4 for term in terms]

    def loss(equation, *given):
        return jnp.sum(jnp.tanh(jnp.einsum(equation, *given).astype("float32")))

    def losses(given):
        return {each: jax.value_and_grad(partial(loss, each), (0, 1))(*given[each]) for each in EQUATIONS}

    def exact(equation, *given):
        """The loss and its gradients by the chain rule, in NumPy's float64."""
        (one, other), result = equation.partition("->")[0].split(","), equation.partition("->")[2]
        x, y = (np.asarray(each, "float64") for each in given)
        outputs = np.tanh(np.einsum(equation, x, y))
        moved = 1 - outputs**2
        return (
            outputs.sum(),
            np.einsum(f"{result},{other}->{one}", moved, y),
            np.einsum(f"{one},{result}->{other}", x, moved),
        )

    given = {equation: factors(equation) for equation in EQUATIONS}
    for equation, (value, gradients) in jax.jit(sum_in_float32(losses))(given).items():
        expected, *others = exact(equation, *given[equation])
        np.testing.assert_allclose(value, expected, rtol=0.02, atol=0.5, err_msg=equation)
        for one, other in zip(gradients, others, strict=True):
            np.testing.assert_allclose(
                np.asarray(one, "float64"), other, atol=0.05 * np.abs(other).max(), err_msg=equation
            )


def test_what_is_widened_is_not_rounded():
    """Logits of which a loss is taken in float32, and gradients of float32 weights that a layer has cast."""
    x, w = array(64, 512), jnp.asarray(RANDOM.normal(size=(512, 7)), "float32")

    def loss(w):
        product = x @ w.astype(jnp.bfloat16)
        return jnp.sum(product.astype("float32") * weight), (product, product.astype("float32"))

    weight = jnp.asarray(RANDOM.normal(size=(64, 7)), jnp.bfloat16).astype("float32")
    gradient, (rounded, logits) = jax.jit(sum_in_float32(jax.grad(loss, has_aux=True)))(w)
    exact = [np.asarray(each, "float64") for each in (x, w.astype(jnp.bfloat16), weight)]
    np.testing.assert_allclose(logits, exact[0] @ exact[1], rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(gradient, exact[0].T @ exact[2], rtol=1e-5, atol=1e-4)
    assert rounded.dtype == jnp.bfloat16
    np.testing.assert_array_equal(rounded, logits.astype(jnp.bfloat16))


@pytest.mark.parametrize("shape", [(6, 8), (2, 3, 8)])
def test_the_gradient_of_a_matrix_is_not_transposed(shape):
    """JAX gives `(dy^T x)^T`, which the optimizer would read by columns; with its factors swapped it is `x^T dy`."""
    x, w, dy = array(*shape), array(8, 5), array(*shape[:-1], 5)
    gradient = jax.grad(lambda w, x, dy: jnp.sum((x @ w * dy).astype("float32")))
    rewritten = sum_in_float32(gradient)
    names = [
        {each.primitive.name for each in operations(jax.make_jaxpr(f)(w, x, dy).jaxpr)} for f in (gradient, rewritten)
    ]
    assert "transpose" in names[0] and "transpose" not in names[1]
    exact = np.asarray(x, "float64").reshape(-1, 8).T @ np.asarray(dy, "float64").reshape(-1, 5)
    np.testing.assert_allclose(np.asarray(jax.jit(rewritten)(w, x, dy), "float64"), exact, rtol=2**-8, atol=1e-2)


@pytest.mark.parametrize("equation", ["abi,cai->cab", "abi,ic->cab", "abi,ic->bca", "abi,cdi->cdab", "abi,cdi->dcab"])
def test_products_transposed_in_any_way_are_the_same(equation):
    """By one permutation that swaps the factors, by others that do not, and with an axis that both factors share."""
    x = array(3, 4, 5)
    y = array(*({"ic": (5, 2), "cai": (2, 3, 5), "cdi": (2, 6, 5)}[equation.split(",")[1].split("->")[0]]))
    found = jax.jit(sum_in_float32(lambda x, y: jnp.einsum(equation, x, y)))(x, y)
    exact = np.einsum(equation, np.asarray(x, "float64"), np.asarray(y, "float64"))
    np.testing.assert_allclose(np.asarray(found, "float64"), exact, rtol=2**-8, atol=1e-2)


def test_what_may_first_be_computed_later_is_left_as_it_is():
    """XLA refuses products when they are computed: by then, a step has given its state away."""

    def waits(x, w):
        x = jax.lax.cond(x.sum() > 0, lambda x: x @ w, lambda x: x @ w.T, x)
        return jax.lax.while_loop(lambda x: jnp.abs(x).sum() > 1e6, lambda x: x @ w, x)

    args = array(6, 8), array(8, 8)
    assert kinds(sum_in_float32(waits), *args) == kinds(waits, *args)
    np.testing.assert_array_equal(jax.jit(sum_in_float32(waits))(*args), jax.jit(waits)(*args))


def test_float32_is_left_as_it_is():
    args = [each.astype("float32") for each in (array(6, 8), array(8, 8), array(8))]
    gradient = jax.value_and_grad(loss_once, argnums=(0, 1, 2))
    (value, found), (expected, others) = jax.jit(sum_in_float32(gradient))(*args), jax.jit(gradient)(*args)
    assert value == expected
    for one, other in zip(found, others, strict=True):
        np.testing.assert_array_equal(one, other)


def test_arguments_and_results_keep_their_structure():
    found = sum_in_float32(lambda state, batch: ({"w": state["w"] @ batch}, batch.sum()))(
        {"w": array(2, 3)}, array(3, 4)
    )
    assert found[0]["w"].shape == (2, 4) and found[1].shape == ()


@pytest.mark.parametrize("when", ["traced", "computed"])
def test_a_refused_step_is_computed_as_it_was_written(monkeypatch, when):
    """Each shape of batches for itself, with one warning; the state that the refused step was given is not lost."""

    def refuse(*_):
        raise RuntimeError("no such product")

    def refused(step):
        return refuse if when == "traced" else lambda state, batch: raised(step(state, batch))

    def raised(found):
        return jax.pure_callback(lambda *_: refuse(), jax.tree.map(lambda each: jax.typeof(each), found), found)

    monkeypatch.setattr(products, "sum_in_float32", refused)
    step = Compiled(lambda state, batch: ([state[0] + batch["x"].sum()], state[0]), True, donate_argnums=0)
    state = [jnp.zeros(())]
    for number, length in enumerate((2, 2, 3)):
        x = {"x": np.ones(length, "float32")}
        with pytest.warns(UserWarning, match="computed as it was written") if number != 1 else nullcontext():
            state, before = step(state, x)
        assert float(before) == 2 * number
    assert float(state[0]) == 7


def test_what_is_wrong_with_a_step_itself_is_said():
    def wrong(state, batch):
        raise ValueError("a layer's own")

    with pytest.raises(ValueError, match="a layer's own"):
        Compiled(wrong, True)([jnp.zeros(())], {"x": jnp.ones(2)})
