"""Weights in 16 or 8 bits: a half or a third of the bytes of `model.keras` and of the graphs, which compute in float32.

With `storage="float16"` every float32 weight is rounded to the nearest float16 value before anything is exported. With
`storage="int8"` a matrix is rounded further, to `n 2^e` with a whole number `n` of -127 to 127 and one `e` for each of
its columns, or for each of its rows where that is nearer; vectors are float16. The rounded weights are float32 numbers
that these bits hold exactly, so every form of the artefact computes with the same numbers in float32, whatever its file
holds of them.

A graph has narrower initializers, and nodes that make float32 of them. ONNX Runtime computes these nodes once, when a
session is made, also in the bodies of loops, so a graph runs as fast as before and gives the same results bit for bit.
An initializer that a format cannot hold exactly stays as it is.
"""

import contextlib
import copy
import functools
import shutil
import tempfile
import zipfile
from pathlib import Path

import h5py
import numpy as np
from onnx import TensorProto, helper

from serving.export.onnx.graphs import cast, replace_nodes, walk
from serving.export.onnx.weights import INSIDE
from zoo.core.storage import write_atomically

WEIGHTS = "model.weights.h5"  # in a .keras archive
SMALLEST = 2.0**-14  # the smallest float16 of full precision; what is smaller keeps fewer digits, or becomes zero
SHARE = 0.25  # of the non-zero values of a matrix: more than this may not be smaller than SMALLEST
MOST = 127  # the largest whole number of 8 bits with a sign, without the one that has no opposite
LEAST_EXPONENT = -24  # of 2^e: the smallest number that float16 has
STEPS = "/steps"  # ends the name of the powers of two of a graph, which stay as they are
LEAST = 512  # bytes of float32 in a graph; the nodes take more room than they save for smaller ones
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the first date of a zip archive, so that equal weights give equal bytes


def round_nearest(values, storage="float16"):
    """The values rounded to the nearest numbers that `storage` has, as float32 of the same shape."""
    if storage == "int8" and values.ndim > 1 and values.size and np.isfinite(values).all():
        candidates = [whole * step for whole, step in (_round_to_steps(values, axis) for axis in (values.ndim - 1, 0))]
        return min(candidates, key=lambda each: np.square(each - values).sum())
    with np.errstate(over="ignore"):
        return values.astype("float16").astype("float32")


def split_steps(values):
    """`(n, 2^e)` whose product is exactly the float32 values, or None if there are none or a value is not finite.

    `n` is int8 of the shape of `values`; `2^e` is float32, with one value for each index of one axis, and has the size
    1 along the others.
    """
    if not np.isfinite(values).all():
        return None
    for axis in reversed(range(values.ndim)):
        whole, step = _round_to_steps(values, axis)
        if (whole * step).tobytes() == values.tobytes():
            return whole.astype(np.int8), step
    return None


def _round_to_steps(values, axis):
    """Whole numbers, as float32, and their steps `2^e` by the index of an axis: the finest with which 127 suffices."""
    others = tuple(each for each in range(values.ndim) if each != axis)
    largest = np.abs(values).max(axis=others, keepdims=True)
    exponent = np.ceil(np.log2(np.maximum(largest, 2.0**-40) / MOST))
    step = np.exp2(np.maximum(exponent, LEAST_EXPONENT)).astype(np.float32)
    return np.round(values / step) + np.float32(0), step  # no negative zero, which int8 lacks


def is_exact(values):
    """Whether float16 holds every one of the float32 values exactly, bit for bit."""
    return values.tobytes() == round_nearest(values).tobytes()


def check(name, values, storage="float16"):
    """Refuse a weight that float16 cannot hold well; then 8 bits and a power of two cannot, either.

    Vectors may be as small as they like. They are added to activations or multiply them value by value, so an error of
    3e-8, the largest of a value below `SMALLEST`, is lost in float32; and the bias of the keys of attention, which no
    output depends on, is often that small.

    Raises:
        ValueError: a finite value would become infinite, or of a matrix more than `SHARE` of the values that are not
            zero would become zero or lose digits because they are smaller than `SMALLEST`.
    """
    mend = "Export with storage float32, or scale this weight."
    too_large = np.isfinite(values) & ~np.isfinite(round_nearest(values))
    if too_large.any():
        raise ValueError(
            f"The weight {name} cannot be stored in {storage}: expected values of at most 65,504, received "
            f"{np.abs(values[too_large]).max():.3g}. {mend}"
        )
    sizes = np.abs(values[values != 0])
    share = np.mean(sizes < SMALLEST) if sizes.size else 0.0
    if values.ndim > 1 and share > SHARE:
        raise ValueError(
            f"The weight {name} cannot be stored in {storage}: expected at most {SHARE:.0%} of its values to be "
            f"smaller than {SMALLEST:.1e}, where float16 loses digits, received {share:.0%}. {mend}"
        )


@contextlib.contextmanager
def round_weights(model, storage):
    """A context in which the model's float32 weights are rounded to what `storage` holds; then they are as before.

    Args:
        model: a Keras model, which is built if it is not yet.
        storage: "float32", which changes nothing, "float16" or "int8".

    Raises:
        ValueError: float16 cannot hold a weight well; the message names it. No weight is changed then.
    """
    if storage == "float32":
        yield
        return
    if not model.built:
        model.build()
    weights = [weight for weight in model.variables if weight.dtype == "float32"]
    before = [np.asarray(weight.numpy()) for weight in weights]
    for weight, values in zip(weights, before, strict=True):
        check(weight.path, values, storage)
    try:
        for weight, values in zip(weights, before, strict=True):
            weight.assign(round_nearest(values, storage))
        yield
    finally:
        for weight, values in zip(weights, before, strict=True):
            weight.assign(values)


def rewrite(path, packed=False):
    """Rewrite a `.keras` archive with float16 arrays wherever they are exact, deflated.

    `keras.models.load_model` reads it as any other: a layer's variables are float32 and get the same values as before.
    The file is written beside and renamed, so it is the old one or the new one.

    Args:
        path: of the archive.
        packed: keep the arrays as they are, and let HDF5 pack them: a ninth less of float32, of a large network. Nobody
            has to unpack them: HDF5 does so when it reads an array.
    """
    write_atomically(path, functools.partial(_write, Path(path), packed))


def _write(path, packed, file):
    """Write the archive to a file. Its weights go through files, so that one array at a time is in memory."""
    files = [tempfile.TemporaryFile(dir=path.parent) for _ in range(2)]
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(file, "w") as new, files[0] as original, files[1] as result:
        for name in old.namelist():
            entry = zipfile.ZipInfo(name, EARLIEST)
            entry.compress_type = zipfile.ZIP_STORED if packed else zipfile.ZIP_DEFLATED
            entry.external_attr = 0o600 << 16
            entry.file_size = old.getinfo(name).file_size  # at most; says whether 2 GB are enough
            with old.open(name) as source, new.open(entry, "w") as target:
                if name == WEIGHTS:
                    shutil.copyfileobj(source, original)
                    write_arrays(original, result, packed)
                    result.seek(0)
                    source = result
                shutil.copyfileobj(source, target)


def write_arrays(content, written, packed=False):
    """Write an HDF5 file with the same groups, attributes and arrays, the exact ones of float32 in float16.

    Args:
        content, written: the files, open.
        packed: instead, every array stays as it is, and HDF5 packs it.
    """
    with h5py.File(content, "r") as old, h5py.File(written, "w") as new:
        _copy(old, new, packed)


def _copy(old, new, packed):
    new.attrs.update(old.attrs)
    for name, item in old.items():
        if isinstance(item, h5py.Group):
            _copy(item, new.create_group(name), packed)
            continue
        values = item[()]
        small = not packed and values.dtype == np.float32 and is_exact(values)
        filters = {"shuffle": True, "compression": "gzip", "compression_opts": 1} if packed and values.ndim else {}
        dataset = new.create_dataset(name, data=values.astype("float16") if small else values, **filters)
        dataset.attrs.update(item.attrs)


def narrow(model, storage, weights=INSIDE):
    """A version of an ONNX `ModelProto`, as a new model, with float32 initializers in fewer bits where they are exact.

    Each gets another name, and a node in the same graph, be it the body of a loop, gets the old one, which the other
    nodes read: a Cast of float16, or the product of a Cast of int8 and of powers of two.

    Args:
        model: the model, which is not changed.
        storage: "float16"; or "int8", which is int8 where eight bits and a power of two for each index of one axis
            suffice (`split_steps`), and else float16.
        weights: where the arrays of the model are, and those of the new one will be.
    """
    model = copy.deepcopy(model)
    for graph in walk(model.graph):
        outputs = {value.name for value in graph.output}
        tensors = [tensor for tensor in graph.initializer if tensor.name not in outputs]
        nodes = [node for tensor in tensors for node in _narrow_tensor(graph, tensor, storage, weights)]
        if nodes:
            replace_nodes(graph, [*nodes, *graph.node])
    weights.check(model)
    return model


def _narrow_tensor(graph, tensor, storage, weights):
    """The nodes that compute what the initializer was; none if it is still what it was."""
    if tensor.data_type != TensorProto.FLOAT or tensor.name.endswith(STEPS):
        return []
    name, values = tensor.name, weights.array(tensor)
    if values.nbytes < LEAST:
        return []
    parts = split_steps(values) if storage == "int8" and values.ndim > 1 else None
    if parts:
        numbers = weights.tensor(parts[0], f"{name}/int8")
        steps = weights.tensor(parts[1], name + STEPS)
        tensor.CopyFrom(numbers)
        graph.initializer.append(steps)
        node = cast(numbers.name, f"{numbers.name}/float32", TensorProto.FLOAT)
        return [node, helper.make_node("Mul", [node.output[0], steps.name], [name], f"{name}/Mul")]
    if is_exact(values):
        tensor.CopyFrom(weights.tensor(values.astype(np.float16), f"{name}/float16"))
        return [cast(tensor.name, name, TensorProto.FLOAT)]
    return []
