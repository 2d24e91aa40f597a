"""Steps become modules for platforms that are not here, or are refused with what is in the way."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from zoo.training.steps.needs import PLATFORMS, custom_calls, export_steps


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
