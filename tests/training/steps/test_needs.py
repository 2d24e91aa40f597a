"""What a step needs: counts of operations by hand, and modules for platforms elsewhere, or what is in the way."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from zoo.training.steps.needs import PLATFORMS, count_operations, custom_calls, export_steps


class Steps:
    """Both steps are one function."""

    def __init__(self, function):
        self.program = jax.jit(function)

    def programs(self, batch):
        return {"training": (self.program, (batch,)), "validation": (self.program, (batch,))}


BATCH = {"x": np.arange(12, dtype="float32").reshape(3, 4)}


def test_a_module_is_for_every_platform_and_computes_the_same():
    found = export_steps(Steps(lambda batch: jax.lax.top_k(jnp.tanh(batch["x"]), 2)[0]), BATCH)
    assert found.keys() == {"training", "validation"}
    assert found["training"].platforms == PLATFORMS
    np.testing.assert_allclose(found["training"].call(BATCH), np.tanh(BATCH["x"])[:, :1:-1], rtol=1e-6)


def test_a_call_back_into_python_is_refused():
    def ask(batch):
        return jax.pure_callback(np.tanh, jax.ShapeDtypeStruct((3, 4), "float32"), batch["x"])

    with pytest.raises(ValueError, match="the training step cannot be lowered for cpu, cuda, rocm, tpu"):
        export_steps(Steps(ask), BATCH)


def test_a_call_that_is_promised_but_not_everywhere_is_refused():
    with pytest.raises(ValueError, match="the training step calls lapack_|cannot be lowered"):
        export_steps(Steps(lambda batch: jnp.linalg.qr(batch["x"].T)[0]), BATCH, ["cpu"])


def test_custom_calls_are_read_from_a_module():
    text = 'stablehlo.custom_call @Sharding(%1) stablehlo.custom_call @a.b$c(%2) {call_target_name = "other"}'
    assert custom_calls(text) == {"Sharding", "a.b$c", "other"}


def counted(function, *shapes, trips=1, dtype="float32"):
    arguments = [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]
    return count_operations(jax.make_jaxpr(function)(*arguments).jaxpr, trips)


def test_products_are_counted_by_their_type():
    assert counted(jnp.matmul, (3, 5), (5, 7)) == {"float32": 2 * 3 * 5 * 7}
    assert counted(jnp.matmul, (2, 3, 5), (2, 5, 7), dtype="bfloat16") == {"bfloat16": 2 * 2 * 3 * 5 * 7}
    assert counted(lambda x, y: jnp.einsum("bqhd,bkhd->bhqk", x, y), (2, 3, 4, 5), (2, 6, 4, 5)) == {
        "float32": 2 * 2 * 4 * 3 * 6 * 5
    }


def test_the_rest_is_one_for_each_number():
    assert counted(lambda x: x + x * x, (3, 5)) == {"other": 2 * 15}
    assert counted(lambda x: jnp.sum(x, axis=0), (3, 5)) == {"other": 15}
    assert counted(lambda x: x.T.reshape(5, 3)[:2], (3, 5)) == {}  # nothing is computed


def test_a_convolution():
    found = counted(lambda x, w: lax.conv(x, w, (1, 1), "VALID"), (2, 3, 8, 8), (4, 3, 3, 3))
    assert found == {"float32": 2 * (2 * 4 * 6 * 6) * (3 * 3 * 3)}


def product(x, _):
    return x @ x, None


def test_loops_count_as_often_as_they_run():
    assert counted(lambda x: lax.scan(product, x, None, length=6)[0], (4, 4))["float32"] == 6 * 2 * 4**3

    def while_small(x):
        return lax.while_loop(lambda x: jnp.sum(x) < 9, lambda x: x @ x, x)

    assert counted(while_small, (4, 4))["float32"] == 2 * 4**3
    assert counted(while_small, (4, 4), trips=5)["float32"] == 5 * 2 * 4**3


def test_of_alternatives_the_dearest():
    def either(x):
        return lax.cond(x[0, 0] > 0, lambda x: x @ x @ x, lambda x: x @ x, x)

    assert counted(either, (4, 4))["float32"] == 2 * 2 * 4**3


@pytest.mark.parametrize("wrap", [jax.jit, jax.checkpoint, jax.vmap])
def test_functions_within_functions(wrap):
    assert counted(wrap(lambda x: x @ x), (2, 4, 4))["float32"] == 2 * 2 * 4**3


def test_a_gradient_of_a_layer_takes_twice_its_products():
    def loss(w, x):
        return jnp.sum(jnp.tanh(x @ w))

    assert counted(jax.grad(loss, argnums=(0, 1)), (5, 7), (3, 5))["float32"] == 3 * 2 * 3 * 5 * 7
