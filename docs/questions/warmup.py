"""Post-LN and warm-up: the gradient of each block's weights before the first update, by the place of the norm."""

import numpy as np
import shared

SEEDS, BLOCKS, UNITS, TIME, BATCH, WORDS = 6, 12, 64, 16, 16, 40
WIRINGS = ("post_norm", "pre_norm")


def measure():
    return {"seeds": SEEDS, "blocks": BLOCKS, "norms": {wiring: norms(wiring) for wiring in WIRINGS}}


def norms(wiring):
    """||dL/dW_2|| of each block, for random labels; a row a seed."""
    import jax
    import keras

    from zoo.depth import make_stack
    from zoo.models import Tagger

    def make(seed):
        keras.utils.set_random_seed(seed)
        stack = make_stack(BLOCKS, units=UNITS, num_heads=4, hidden_units=4 * UNITS, block=wiring, dropout=0.0)
        model = Tagger(WORDS, WORDS, stack, dropout=0.0)
        model.build()
        return model

    model = make(0)
    places = [block.feedforward.output_projection.kernel.path for block in model.encoder.blocks]

    def loss(weights, fixed, ids, labels):
        logits, _ = model.stateless_call(weights, fixed, {"token_ids": ids, "lengths": lengths}, training=True)
        chosen = jax.nn.log_softmax(logits)[np.arange(BATCH)[:, None], np.arange(TIME), labels]
        return -chosen.mean()

    gradients, lengths, rows = jax.jit(jax.grad(loss)), np.full(BATCH, TIME, "int32"), []
    for seed in range(SEEDS):
        fresh, draw = make(seed), np.random.default_rng(seed)
        ids, labels = draw.integers(0, WORDS, (2, BATCH, TIME)).astype("int32")
        weights = [variable.value for variable in fresh.trainable_variables]
        found = gradients(weights, [variable.value for variable in fresh.non_trainable_variables], ids, labels)
        named = {variable.path: value for variable, value in zip(model.trainable_variables, found, strict=True)}
        rows.append([round(float(np.linalg.norm(named[place])), 6) for place in places])
    return rows


def draw(found):
    figure, axes = shared.axes_of("Gradient of each block before the first update")
    names = {"post_norm": "post-LN", "pre_norm": "pre-LN"}
    for (wiring, rows), color in zip(found["norms"].items(), (shared.RED, shared.BLUE), strict=True):
        shared.line(axes, np.arange(1, found["blocks"] + 1), rows, names[wiring], color, marker="o")
    axes.set(xlabel="block, from the input up", ylabel="‖gradient of W₂‖", ylim=(0, None))
    axes.set_xticks(range(2, found["blocks"] + 1, 2))
    axes.legend()
    return figure


def says(found):
    mean = {wiring: np.mean(rows, axis=0) for wiring, rows in found["norms"].items()}
    return [
        f"{mean['post_norm'][-1] / mean['pre_norm'][-1]:.1f}",
        f"{mean['post_norm'][-1] / mean['post_norm'][0]:.1f}",
    ]
