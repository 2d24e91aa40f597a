"""What accelerators can do at most, from their makers' data sheets."""

from dataclasses import dataclass

TERA, GIB = 1e12, 2**30


@dataclass(frozen=True)
class Accelerator:
    """One device.

    Attributes:
        title: its name.
        platform: JAX's name of the kind of device, for which programs are lowered.
        memory: bytes.
        peak: `{dtype: floating-point operations a second}` of dense matrix products of arrays of that type, as JAX
            computes them by default: float32 in tf32 on NVIDIA's devices, and in one pass of bfloat16 on TPUs.
        source: where the numbers are from.
    """

    title: str
    platform: str
    memory: int
    peak: dict
    source: str


def _peaks(float32, halves):
    return {"float32": float32 * TERA, "bfloat16": halves * TERA, "float16": halves * TERA}


ACCELERATORS = {
    "h100": Accelerator("NVIDIA H100 SXM", "cuda", 80 * GIB, _peaks(494.7, 989.4), "NVIDIA H100 data sheet, dense"),
    "a100": Accelerator("NVIDIA A100 SXM", "cuda", 80 * GIB, _peaks(156, 312), "NVIDIA A100 80 GB data sheet, dense"),
    "l4": Accelerator("NVIDIA L4", "cuda", 24 * GIB, _peaks(60.5, 121), "NVIDIA L4 data sheet, dense: half of sparse"),
    "tpu-v5e": Accelerator("TPU v5e", "tpu", 16 * GIB, _peaks(197, 197), "Google Cloud, TPU v5e, one chip"),
}
