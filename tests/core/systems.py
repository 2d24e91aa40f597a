"""As a program on JAX: ten steps of a small recipe of every system, and what each step came to.

    python -m tests.core.systems FOLDER DEVICES [SYSTEM ...]

With the variables of `zoo.core.devices` it is one of several processes. FOLDER/SYSTEM-PROCESS.npz has the losses, and
the weights after the first and the tenth step; dropout is on.
"""

import os
import sys
from pathlib import Path

import keras
import numpy as np

from tests.recipes.small import recipe, write_corpus
from zoo import runs
from zoo.core import devices
from zoo.training import named_weights

# Adam divides a gradient by its own size, rounding included: at a low rate a step shows no more than the sums.
STEPS = {"steps": 10, "validate_every": 10, "checkpoint_every": 10, "average": 1, "log_every": 1, "batch_size": 8}
STEPS |= {"learning_rate": 2e-4}
WIDE = ["model.units=8", "model.dropout=0.2"]
STACK = [*WIDE, "model.hidden_units=16", "model.num_layers=2"]
LSH = ["attention.layer=lsh", "attention.num_buckets=4", "attention.chunk_length=4", "attention.rounds=2"]
MEMORY = ["feedforward.layer=product_key", "feedforward.blocks=[2]", "feedforward.num_keys=6", "feedforward.k=3"]
SYSTEMS = {
    "gru": ("seq2seq", [*WIDE, "attention.layer=additive"]),
    "lstm": ("seq2seq", [*WIDE, "model.cell=lstm", "model.encoder=self_attentive", "attention.layer=dot"]),
    **{block: ("transformer", [*STACK, f"block.layer={block}"]) for block in ("post_norm", "pre_norm", "macaron")},
    "tensorized": ("language_model", [*STACK, "attention.layer=multi_linear", "attention.rank=3"]),
    "adaptive span": ("language_model", [*STACK, "attention.layer=adaptive_span", "attention.max_span=4"]),
    "product key": ("language_model", [*STACK, *MEMORY, "feedforward.query_dim=4"]),
    "reformer": ("language_model", [*STACK, *LSH, "depth.layer=reversible", "model.context=8"]),
    "universal": ("classifier", [*STACK, "depth.layer=universal", "depth.halting=accumulated"]),
    "depth-adaptive": ("transformer", [*STACK, "depth.layer=depth_adaptive", "loss.kind=depth_adaptive"]),
    "star": ("classifier", [*WIDE, "model.num_layers=2", "depth.layer=star"]),
}


class Look(keras.callbacks.Callback):
    """The loss of each step, and the weights after the first and the tenth."""

    def __init__(self):
        super().__init__()
        self.found = {"losses": []}

    def on_train_batch_end(self, batch, logs=None):
        self.found["losses"].append(float(logs["loss"]))
        step = len(self.found["losses"])
        if step in (1, STEPS["steps"]):
            self.model.jax_state_sync()
            for path, weight in named_weights(self.model).items():
                self.found[f"{step}/{path}"] = devices.whole(weight.value)


def small(system):
    kind, changes = SYSTEMS[system]
    return recipe(kind, *changes, training=STEPS | ({"row_learning_rate": 2e-4} if system == "product key" else {}))


def main(folder, count, names):
    group = devices.settings()
    number = group[2] if group else 0
    for name in names:
        one, look = small(name), Look()
        data = write_corpus(one, folder / f"data-{number}")
        keras.distribution.set_distribution(None)
        runs.train(one, folder / f"{name}-{count}", data, False, [look], len, count)
        np.savez(folder / f"{name}-{number}.npz", **look.found)
        if group:
            _connected()


def _connected():
    """The processes are joined already; the next training is not to join them again."""
    import jax

    jax.distributed.initialize = lambda **settings: None


if __name__ == "__main__":
    os.environ.setdefault("KERAS_BACKEND", "jax")
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] or list(SYSTEMS))
