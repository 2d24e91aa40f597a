"""Laws about other processes: a fresh one loads what this one saved, and another backend agrees.

Starting a process is dear, so models are gathered: `pack` many, `run_elsewhere` once, `check` each.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np

from zoo.check.laws import assert_close, flat_arguments, functional

ROOT = Path(__file__).resolve().parents[2]

LOAD = """
import pathlib, sys
import numpy, keras, zoo
from zoo.settings.occupants import import_modules

import_modules(sys.argv[3:])
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.keras")):
    model = keras.models.load_model(path, safe_mode=True)
    inputs = dict(numpy.load(path.with_suffix(".npz")))
    if sys.argv[2] == "compiled":
        import jax

        state = [[one.value for one in group] for group in (model.trainable_variables, model.non_trainable_variables)]
        outputs, _ = jax.jit(model.stateless_call)(*state, inputs)
    else:
        outputs = model(inputs)
    outputs = [keras.ops.convert_to_numpy(leaf) for leaf in keras.tree.flatten(outputs)]
    numpy.savez(path.with_suffix("." + keras.backend.backend()), *outputs)
"""


def pack(built, folder):
    """`name.keras` and, as `name.npz`, its inputs."""
    functional(built)[0].save(folder / f"{built.case.name}.keras")
    np.savez(folder / f"{built.case.name}.npz", **flat_arguments(built))


def run_elsewhere(folder, backend, code=LOAD, way="called", modules=()):
    """Run `code` on the folder in a fresh process, which knows the library, these modules and nothing else.

    `way` is "called" or, on JAX, "compiled": every model is one program, which takes half the time of its operations.
    """
    paths = [str(ROOT), *(sys.path if modules else ())]
    environment = {
        **os.environ,
        "KERAS_BACKEND": backend,
        "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in paths),
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",  # compiles faster
    }
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), way, *modules],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-5000:]


def check(built, folder, backend):
    answers = np.load(folder / f"{built.case.name}.{backend}.npz")
    assert_close([answers[name] for name in answers.files], built.outputs)
