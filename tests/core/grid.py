"""As a program on JAX with four devices of the processor: a recipe on 2 x 2 of them, on one, and on others in turn.

It prints a line of JSON of what it found.
"""

import json
import sys
from pathlib import Path

import keras
import numpy as np

from tests.recipes.small import recipe, write_corpus
from zoo import runs
from zoo.training import named_weights

SIZES = ["model.units=8", "model.hidden_units=16", "model.num_layers=2", "model.dropout=0.2"]
MEMORY = ["feedforward.layer=product_key", "feedforward.blocks=[2]", "feedforward.num_keys=6", "feedforward.k=3"]
MEMORY += ["feedforward.query_dim=4"]
# Adam divides a gradient by its own size, rounding included: at a low rate the first step shows no more than the sums.
STEPS = {"checkpoint_every": 5, "validate_every": 10, "average": 1, "log_every": 1, "batch_size": 8}
STEPS |= {"learning_rate": 2e-4, "row_learning_rate": 2e-4}


class Look(keras.callbacks.Callback):
    """The loss of each step, the weights after the first and the tenth, and the part of each that a device holds."""

    def __init__(self):
        super().__init__()
        self.losses, self.weights, self.parts = [], {}, {}

    def on_train_batch_end(self, batch, logs=None):
        self.losses.append(float(logs["loss"]))
        if len(self.losses) in (1, 10):
            self.model.jax_state_sync()
            named = named_weights(self.model)
            self.weights[len(self.losses)] = {path: np.array(weight.value) for path, weight in named.items()}
            slots = {f"optimizer/{each.path}": each for each in self.model.optimizer.variables}
            self.parts = {path: self.part(weight.value) for path, weight in (named | slots).items()}

    def part(self, value):
        return [list(value.shape), list(value.addressable_shards[0].data.shape)]


def trained(folder, data, steps=10, devices=None, parts=1, resume=False):
    """The `Look` of a training."""
    keras.distribution.set_distribution(None)
    own = [f"training.steps={steps}", f"training.model_parallel={parts}", *SIZES, *MEMORY]
    one, look = recipe("language_model", *own, training=STEPS), Look()
    runs.train(one, folder, write_corpus(one, data), resume, [look], len, devices)
    return look


def model_of(folder):
    keras.distribution.set_distribution(None)
    return keras.models.load_model(folder / "model.keras", compile=False)


def largest(one, other):
    """The largest difference of two dicts of arrays."""
    assert one.keys() == other.keys()
    return max(float(np.abs(value.astype("float64") - other[key]).max()) for key, value in one.items())


def stored(folder):
    with np.load(folder / "checkpoint" / "state.npz") as file:
        return {name: file[name] for name in file.files if name.startswith(("model/", "optimizer/"))}


def refused(folder, data, **settings):
    one = recipe("language_model", *SIZES, *MEMORY, training=STEPS | settings)
    keras.distribution.set_distribution(None)
    try:
        runs.train(one, folder, write_corpus(one, data), devices=4, log=len)
    except ValueError as error:
        return str(error)


def main(root):
    data = root / "data"
    grid = trained(root / "grid", data, devices=4, parts=2)  # first, for it makes the devices
    one = trained(root / "one", data)
    whole, split = stored(root / "one"), stored(root / "grid")
    models = [{w.path: np.array(w.value) for w in model_of(root / name).weights} for name in ("one", "grid")]
    found = {
        "losses": [grid.losses, one.losses],
        "weights": {step: largest(grid.weights[step], one.weights[step]) for step in (1, 10)},
        "parts": grid.parts,
        "checkpoint": largest(whole, split),
        "shapes": [sorted(map(str, (value.shape for value in each.values()))) for each in (whole, split)],
        "model": max(float(np.abs(a - b).max()) for a, b in zip(*(each.values() for each in models), strict=True)),
    }
    alone = trained(root / "grid", data, 14, resume=True)
    four = trained(root / "one", data, 14, devices=4, parts=4, resume=True)
    found |= {"resumed": [alone.losses, four.losses], "end": largest(stored(root / "one"), stored(root / "grid"))}
    found["refused"] = [
        refused(root / "x", data, model_parallel=4, layout={"*/feed_forward/hidden/kernel": 2}),
        refused(root / "x", data, model_parallel=4, layout={"*/product_key_memory/keys": 0}),
        refused(root / "x", data, model_parallel=2, layout={"*/feed_forwards/hidden/kernel": 1}),
    ]
    found["nothing"] = not (root / "x").exists()
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
