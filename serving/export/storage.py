"""Weights in 16 bits: half the bytes of `model.keras`, and still float32 for whoever loads it.

With `storage="float16"` every float32 weight is rounded to the nearest float16 value before anything is exported. The
rounded weights are float32 numbers that 16 bits hold exactly, so every form of the artefact computes with the same
numbers in float32, whether its file holds 16 or 32 bits of them. `serving.export.onnx.halves` does the same for graphs.
"""

import contextlib
import io
import os
import zipfile
from pathlib import Path

import h5py
import numpy as np

WEIGHTS = "model.weights.h5"  # in a .keras archive
SMALLEST = 2.0**-14  # the smallest float16 of full precision; what is smaller keeps fewer digits, or becomes zero
SHARE = 0.25  # of the non-zero values of a matrix: more than this may not be smaller than SMALLEST
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the first date of a zip archive, so that equal weights give equal bytes


def nearest(values):
    """`(values,)` float32 rounded to the nearest numbers that float16 has, as float32."""
    with np.errstate(over="ignore"):
        return values.astype("float16").astype("float32")


def is_exact(values):
    """Whether float16 holds every one of the float32 values exactly, bit for bit."""
    return values.tobytes() == nearest(values).tobytes()


def check(name, values):
    """Refuse a weight that float16 cannot hold well.

    Vectors may be as small as they like. They are added to activations or multiply them value by value, so an error of
    3e-8, the largest of a value below `SMALLEST`, is lost in float32; and the bias of the keys of attention, which no
    output depends on, is often that small.

    Raises:
        ValueError: a finite value would become infinite, or of a matrix more than `SHARE` of the values that are not
            zero would become zero or lose digits because they are smaller than `SMALLEST`.
    """
    mend = "Export with storage float32, or scale this weight."
    too_large = np.isfinite(values) & ~np.isfinite(nearest(values))
    if too_large.any():
        raise ValueError(
            f"The weight {name} cannot be stored in float16: expected values of at most 65,504, received "
            f"{np.abs(values[too_large]).max():.3g}. {mend}"
        )
    sizes = np.abs(values[values != 0])
    share = np.mean(sizes < SMALLEST) if sizes.size else 0.0
    if values.ndim > 1 and share > SHARE:
        raise ValueError(
            f"The weight {name} cannot be stored in float16: expected at most {SHARE:.0%} of its values to be "
            f"smaller than {SMALLEST:.1e}, where float16 loses digits, received {share:.0%}. {mend}"
        )


@contextlib.contextmanager
def rounded(model, storage):
    """A context in which the model's float32 weights are rounded to what `storage` holds; then they are as before.

    Args:
        model: a Keras model, which is built if it is not yet.
        storage: "float32", which changes nothing, or "float16".

    Raises:
        ValueError: float16 cannot hold a weight well; the message names it. No weight is changed then.
    """
    if storage == "float16" and not model.built:
        model.build()
    weights = [weight for weight in model.variables if weight.dtype == "float32"] if storage == "float16" else []
    before = [np.asarray(weight.numpy()) for weight in weights]
    for weight, values in zip(weights, before, strict=True):
        check(weight.path, values)
    try:
        for weight, values in zip(weights, before, strict=True):
            weight.assign(nearest(values))
        yield
    finally:
        for weight, values in zip(weights, before, strict=True):
            weight.assign(values)


def halve(path):
    """Rewrite a `.keras` archive with float16 arrays wherever they are exact, deflated.

    `keras.models.load_model` reads it as any other: a layer's variables are float32 and get the same values as before.
    The file is written beside and renamed, so it is the old one or the new one.
    """
    path, beside = Path(path), Path(f"{path}.partial")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            entry = zipfile.ZipInfo(name, EARLIEST)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o600 << 16
            new.writestr(entry, halved(content) if name == WEIGHTS else content)
    with open(beside, "rb") as written:
        os.fsync(written.fileno())
    os.replace(beside, path)


def halved(content):
    """The bytes of an HDF5 file with the same groups, attributes and arrays, the exact ones of float32 in float16."""
    written = io.BytesIO()
    with h5py.File(io.BytesIO(content), "r") as old, h5py.File(written, "w") as new:
        _copy(old, new)
    return written.getvalue()


def _copy(old, new):
    new.attrs.update(old.attrs)
    for name, item in old.items():
        if isinstance(item, h5py.Group):
            _copy(item, new.create_group(name))
            continue
        values = item[()]
        small = values.dtype == np.float32 and is_exact(values)
        made = new.create_dataset(name, data=values.astype("float16") if small else values)
        made.attrs.update(item.attrs)
