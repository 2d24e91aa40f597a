"""Compiles `saved_model.c` against the TensorFlow that is installed, and speaks with it."""

import shutil
import struct
import subprocess
from pathlib import Path

import numpy as np

SOURCE = Path(__file__).parent / "saved_model.c"
COMPILER = next(filter(None, map(shutil.which, ("gcc", "cc", "clang"))), None)


def compiled(folder):
    """The path of the program, which is written to `folder`."""
    import tensorflow as tf

    home, program = Path(tf.__file__).parent, Path(folder) / "saved_model"
    libraries = [f"-l:{path.name}" for path in sorted(home.glob("libtensorflow_*.so.2"))]
    command = [COMPILER, "-O1", "-Wall", "-Werror", "-I", home / "include", SOURCE, "-o", program]
    done = subprocess.run([*command, "-L", home, *libraries, f"-Wl,-rpath,{home}"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


def text_libraries():
    """The shared libraries of TensorFlow Text, each with some of its operators."""
    import tensorflow_text

    return sorted(Path(tensorflow_text.__file__).parent.glob("python/ops/_*.so"))


def signatures(folder):
    """`{signature: ({input: tensor name}, {output: tensor name})}` of a SavedModel."""
    from tensorflow.core.protobuf import saved_model_pb2

    proto = saved_model_pb2.SavedModel.FromString((Path(folder) / "saved_model.pb").read_bytes())
    return {
        name: tuple({key: info.name for key, info in side.items()} for side in (table.inputs, table.outputs))
        for name, table in proto.meta_graphs[0].signature_def.items()
        if table.outputs and not name.startswith("__")
    }


def ask(program, folder, requests, work):
    """The outputs of each request, dicts of arrays.

    Args:
        program: of `compiled`.
        folder: a SavedModel.
        requests: `(signature, {input: array})`.
        work: a folder for two files.
    """
    tables = signatures(folder)
    written = [struct.pack("<i", len(requests))]
    for name, inputs in requests:
        names, outputs = tables[name]
        written.append(struct.pack("<i", len(inputs)))
        written += [part for key, value in inputs.items() for part in (_name(names[key]), _packed(value))]
        written.append(struct.pack("<i", len(outputs)))
        written += [_name(outputs[key]) for key in outputs]
    (work / "requests").write_bytes(b"".join(written))
    command = [program, folder, work / "requests", work / "answers", *text_libraries()]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    with open(work / "answers", "rb") as file:
        found = [{key: _read(file) for key in tables[name][1]} for name, _ in requests]
        assert not file.read()
    return found


def _name(name):
    return struct.pack("<i", len(name)) + name.encode()


def _packed(value):
    import tensorflow as tf

    value = np.asarray(value)
    texts = [each if isinstance(each, bytes) else str(each).encode() for each in value.ravel()]
    strings = value.dtype.kind in "OSU"
    dtype = tf.string if strings else tf.as_dtype(value.dtype)
    data = b"".join(struct.pack("<q", len(each)) + each for each in texts) if strings else value.tobytes()
    head = struct.pack("<ii", dtype.as_datatype_enum, value.ndim) + struct.pack(f"<{value.ndim}q", *value.shape)
    return head + struct.pack("<q", 0 if strings else len(data)) + data


def _read(file):
    import tensorflow as tf

    number, rank = struct.unpack("<ii", file.read(8))
    shape = struct.unpack(f"<{rank}q", file.read(8 * rank))
    (size,) = struct.unpack("<q", file.read(8))
    dtype = tf.as_dtype(number)
    if dtype != tf.string:
        return np.frombuffer(file.read(size), dtype.as_numpy_dtype).reshape(shape)
    count = int(np.prod(shape, dtype=int))
    texts = [file.read(struct.unpack("<q", file.read(8))[0]) for _ in range(count)]
    return np.array(texts, dtype=object).reshape(shape)
