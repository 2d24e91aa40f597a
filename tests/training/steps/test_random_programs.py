"""Programs drawn at random are computed alike with their bfloat16 products summed in float32 and as they were written.

A program is a list of steps, each of which turns an array into one of the same shape: products of all kinds, what
stands around them in layers, solvers, loops, conditions, calls. Some are refused by XLA and computed as written.
"""

import warnings
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zoo.training.steps.products import Compiled

SIZES = (1, 2, 3, 5, 8, 16, 32)
KEEP = jnp.bfloat16


def normed(x):
    """Every row of length sqrt(n), so that a program of any length stays where bfloat16 has its digits."""
    wide = x.astype("float32")
    return (wide * jax.lax.rsqrt(jnp.mean(jnp.square(wide), axis=-1, keepdims=True) + 0.1)).astype(x.dtype)


def square(x, w):
    """A matrix of the last axis of `x` that can be inverted, in float32."""
    w = w.astype("float32")
    return w @ w.T / len(w) + 2 * jnp.eye(len(w))


# Each takes x (batch, time, heads, units), w (units, units), u (time, time), v (heads, units, heads, units).
LINEAR = [
    lambda x, w, u, v: x @ w,
    lambda x, w, u, v: x @ w.T,
    lambda x, w, u, v: jnp.einsum("bthd,de->bthe", x, w),
    lambda x, w, u, v: jnp.einsum("ed,bthd->bthe", w, x),
    lambda x, w, u, v: jnp.einsum("ts,bshd->bthd", u, x),
    lambda x, w, u, v: jnp.einsum("bshd,st->bthd", x, u),
    lambda x, w, u, v: jnp.einsum("bthd,hdge->btge", x, v),
    lambda x, w, u, v: jnp.tensordot(x, v, 2),
    lambda x, w, u, v: jnp.moveaxis(jnp.matmul(w.T, jnp.moveaxis(x, -1, -2)), -1, -2),
    lambda x, w, u, v: jnp.moveaxis(jnp.matmul(jnp.transpose(u), jnp.moveaxis(x, 1, 2)), 2, 1),
    lambda x, w, u, v: (
        jnp.swapaxes(jnp.swapaxes(x, 0, 1).reshape(x.shape[1], -1).T @ u, 0, 1)
        .reshape(x.shape[1], x.shape[0], *x.shape[2:])
        .swapaxes(0, 1)
    ),
]
MIXING = [
    lambda x, w, u, v: jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", x, x)), x),
    lambda x, w, u, v: jnp.einsum("bqk,bkhd->bqhd", jnp.tanh(jnp.einsum("bqhd,bkhd->bqk", x, x) / 8), x),
    lambda x, w, u, v: jnp.einsum("bde,bthd->bthe", jnp.tanh(jnp.einsum("bthd,bthe->bde", x, x) / 8), x),
    lambda x, w, u, v: x + jnp.sum(x, axis=(0, 1, 2)) / 8,
    lambda x, w, u, v: x * jax.nn.sigmoid(jnp.einsum("bthd,bthd->bth", x, x)[..., None] / 8),
    lambda x, w, u, v: jax.nn.gelu(x) + jax.nn.relu(x) - jax.nn.silu(x),
    lambda x, w, u, v: jnp.cumsum(x, axis=1) / 4,
    lambda x, w, u, v: jnp.linalg.solve(square(x, w), x[..., None].astype("float32"))[..., 0].astype(x.dtype),
    lambda x, w, u, v: x @ jnp.linalg.inv(square(x, w)).astype(x.dtype),
    lambda x, w, u, v: x @ jax.scipy.linalg.cholesky(square(x, w)).astype(x.dtype),
    lambda x, w, u, v: x @ jnp.linalg.qr(square(x, w))[1].astype(x.dtype),
    lambda x, w, u, v: jnp.take(w, jnp.arange(x.shape[1]) % len(w), axis=0)[None, :, None] + x,
    lambda x, w, u, v: x.at[:, 0].add(x[:, -1] @ w),
]


@jax.custom_vjp
def ruled(x, w):
    return jnp.tanh(x @ w)


def ruled_backwards(kept, dy):
    x, w, y = kept
    dy = dy * (1 - y * y)
    return dy @ w.T, jnp.einsum("bthd,bthe->de", x, dy)


ruled.defvjp(lambda x, w: (ruled(x, w), (x, w, ruled(x, w))), ruled_backwards)


def drawn(random, depth=2):
    """A function of `(x, w, u, v)`."""
    kind = random.integers(0, 9) if depth else 0
    if kind < 3:
        one = (LINEAR + MIXING)[random.integers(len(LINEAR) + len(MIXING))]
        return lambda x, *given: normed(one(x, *given))
    inner, other = drawn(random, depth - 1), drawn(random, depth - 1)
    return {
        3: lambda x, *given: inner(other(x, *given), *given),
        4: lambda x, *given: jax.lax.scan(lambda x, _: (inner(x, *given), None), x, length=3)[0],
        5: lambda x, *given: jax.lax.cond(jnp.sum(x) > 0, inner, other, x, *given),
        6: lambda x, *given: jax.jit(inner)(x, *given) + x,
        7: lambda x, *given: jax.checkpoint(inner)(x, *given),
        8: lambda x, *given: normed(ruled(inner(x, *given), given[0])),
    }[int(kind)]


def case(seed):
    """(a loss, its arguments): bfloat16 but for `w`, which a layer would cast."""
    random = np.random.default_rng(seed)
    parts = [drawn(random) for _ in range(random.integers(1, 4))]
    batch, time, heads, units = (int(random.choice(SIZES)) for _ in range(4))

    def array(*shape):
        return jnp.asarray(random.normal(size=shape) / np.sqrt(shape[0]), KEEP)

    weights = array(units, units), array(time, time), array(heads, units, heads, units)

    def loss(x, w, u, v):
        for part in parts:
            x = part(x, w.astype(x.dtype), u, v)
        return jnp.mean(jnp.square(x.astype("float32") - 0.5))

    return loss, (array(batch, time, heads, units), weights[0].astype("float32"), *weights[1:])


def stepped(loss, state, batch):
    """A step of descent of a donated state: what is compared is the gradient."""
    value, gradients = jax.value_and_grad(lambda *state: loss(batch["x"], *state), range(len(state)))(*state)
    return gradients, value


def check(seed):
    loss, (x, *state) = case(seed)
    step = partial(stepped, loss)
    wide, plain = Compiled(step, True, donate_argnums=0), Compiled(step, False)
    exact = [each.astype("float32") for each in (x, *state)]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        wide([jnp.copy(each) for each in state], {"x": x})
        found = wide([jnp.copy(each) for each in state], {"x": x})  # the second call of a shape keeps no copies
    found = jax.tree.map(np.asarray, found)
    expected = plain(state, {"x": x})
    truth = plain(exact[1:], {"x": exact[0]})
    for one, other, true in zip(*map(jax.tree.leaves, (found, expected, truth)), strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        one, other, true = (np.asarray(each, "float64") for each in (one, other, true))
        size = np.linalg.norm(true) + 1e-3
        assert np.linalg.norm(one - true) <= 3 * np.linalg.norm(other - true) + 0.02 * size, seed
    return [str(each.message) for each in told if "XLA refuses" in str(each.message)]


@pytest.mark.slow(but=1)
@pytest.mark.parametrize("seed", [11, 27, 29])
def test_a_program_is_computed_as_it_was_written(seed):
    check(seed)


@pytest.mark.release
@pytest.mark.parametrize("start", range(0, 80, 20))
def test_programs_are_computed_as_they_were_written(start):
    for seed in range(start, start + 20):
        check(seed)
