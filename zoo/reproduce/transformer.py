"""Post-LN and pre-LN: gradients by depth and norms by layer of untrained stacks, training without a warm-up, causality.

The theory of Xiong et al. is asked in its own setting: one head, W_Q = W_K = 0, all matrices d x d and drawn from
N(0, 1/d), random labels. The training is on sequences of 12 random symbols (12 of them), whose label at each position
is the symbol at the mirrored one: a `Tagger` of 6 blocks of 64 units, Adam (0.9, 0.98) at 0.003, batches of 32.
"""

from functools import partial

import keras
import numpy as np
from keras import ops

from zoo.depth import make_stack
from zoo.models import LanguageModel, Tagger
from zoo.reproduce import findings, trials
from zoo.reproduce.findings import bin_means, claim, plus_minus, slope
from zoo.reproduce.trials import Trainer, gradients
from zoo.training import ConstantRate

FULL = {"depths": (2, 4, 8, 16), "theory_seeds": 4, "updates": 250, "seeds": 5, "layers": 6}
QUICK = {"depths": (1, 2), "theory_seeds": 2, "updates": 4, "seeds": 2, "layers": 1}
RATE, LEARNT, LAST = 3e-3, 0.1, 20  # a run has learnt if the mean loss of its last 20 updates is below 0.1
SYMBOLS, TIME, BATCH, UNITS = 12, 12, 32, 64
SETTINGS = {  # name: block, whether the rate warms up, for as many updates again
    "pre-LN, no warm-up": ("pre_norm", False),
    "post-LN, no warm-up": ("post_norm", False),
    "post-LN, warm-up": ("post_norm", True),
}


def make_batch(_, step):
    """The same for all seeds."""
    ids = np.random.default_rng(step).integers(trials.FIRST, trials.FIRST + SYMBOLS, (BATCH, TIME)).astype("int32")
    return trials.make_tag_batch(ids, ids[:, ::-1].copy())


def make_tagger(block, layers):
    stack = make_stack(layers, units=UNITS, num_heads=4, hidden_units=4 * UNITS, block=block, dropout=0.0)
    return Tagger(trials.FIRST + SYMBOLS, trials.FIRST + SYMBOLS, stack, dropout=0.0)


def train_curves(block, warmup, updates, layers, seeds):
    """(the loss of every update, a row a seed; the hashes). One compiled step serves all seeds."""
    optimizer = keras.optimizers.Adam(ConstantRate(RATE, updates if warmup else 0), beta_2=0.98, epsilon=1e-9)
    trainer = Trainer(partial(make_tagger, block, layers), optimizer)
    runs = trainer.train_each(range(seeds), make_batch, 2 * updates if warmup else updates)
    rows, hashes = zip(*((losses, trainer.hash()) for losses in runs), strict=True)
    return np.array(rows), hashes


def make_theorem_stack(layers, block, random, units=UNITS):
    """A stack whose matrices are those of theorem 1, and a matrix of logits."""
    stack = make_stack(layers, units, 1, units, block, dropout=0.0)
    stack.build((None, None, units))
    for weight in stack.trainable_variables:
        if len(weight.shape) == 2:
            blind = "/query/" in weight.path or "/key/" in weight.path
            weight.assign(0.0 * weight if blind else random.normal(0, units**-0.5, weight.shape))
    return stack, random.normal(0, units**-0.5, (units, units)).astype("float32")


def last_gradient(layers, block, seed):
    """`||dL/dW_2||` of the last block, for random labels, by random inputs `(1, 12, d)`."""
    random = np.random.default_rng(seed)
    stack, matrix = make_theorem_stack(layers, block, random)
    x = random.normal(size=(1, TIME, UNITS)).astype("float32")
    labels = random.integers(0, UNITS, (1, TIME))

    def loss(states):
        logits = ops.matmul(states, ops.convert_to_tensor(matrix))
        return ops.mean(keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True))

    kernel = stack.blocks[-1].feedforward.output_projection.kernel
    return round(float(np.linalg.norm(gradients(stack, x, loss)[kernel.path])), 6)


def measure_norms(layers, seed):
    """`E||x_l||^2 / d` of a pre-LN stack after each block, then that of a post-LN block before its last norm."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(4, TIME, UNITS)).astype("float32")
    stream, pre = ops.convert_to_tensor(x), []
    for block in make_theorem_stack(layers, "pre_norm", random)[0].blocks:
        stream = block(stream)
        pre.append(mean_square(stream))
    block = make_theorem_stack(1, "post_norm", random)[0].blocks[0]
    inner = block.norms[0](x + block.attention(block.norms[0](x)))
    return [*pre, mean_square(inner + block.feedforward(inner))]


def mean_square(x):
    return round(float((ops.convert_to_numpy(x) ** 2).sum(-1).mean() / UNITS), 4)


def measure_leak():
    """The largest changes of the logits before a changed token, and of those from it on."""
    keras.utils.set_random_seed(0)
    model = LanguageModel(20, make_stack(2, 16, 2, 32, "post_norm", dropout=0.0), dropout=0.0)
    model.build()
    ids = np.random.default_rng(0).integers(0, 20, (1, 12)).astype("int32")
    changed = ids.copy()
    changed[0, 7] = (changed[0, 7] + 1) % 20
    change = np.abs(np.asarray(model({"token_ids": ids})) - np.asarray(model({"token_ids": changed}))).max((0, 2))
    return {"before": float(change[:7].max()), "after": float(change[7:].max())}


def measure(log, depths, theory_seeds, updates, seeds, layers):
    facts = {"depths": list(depths), "theory_seeds": list(range(theory_seeds)), "leak": measure_leak(), "weights": {}}
    facts |= {"seeds": list(range(seeds)), "updates": updates, "layers": layers, "gradients": {}, "last": {}}
    for block in ("pre_norm", "post_norm"):
        rows = [[last_gradient(depth, block, seed) for depth in depths] for seed in facts["theory_seeds"]]
        facts["gradients"][block] = rows
        log(f"gradients of {block}: {np.round(np.mean(rows, 0), 3).tolist()}")
    facts["norms"] = [measure_norms(max(depths), seed) for seed in facts["theory_seeds"]]
    facts["curves"] = {}
    for name, (block, warmup) in SETTINGS.items():
        rows, facts["weights"][name] = train_curves(block, warmup, updates, layers, seeds)
        facts["last"][name] = rows[:, -LAST:].mean(axis=1).round(4).tolist()
        facts["curves"][name] = [bin_means(row, len(row) // 10 or 1) for row in rows]
        log(f"{name}: last losses {facts['last'][name]}")
    return facts


def claims(facts):
    slopes = {block: [slope(facts["depths"], row) for row in rows] for block, rows in facts["gradients"].items()}
    pre, post = np.mean(slopes["pre_norm"]), np.mean(slopes["post_norm"])
    norms, depth = np.mean(facts["norms"], 0), np.arange(1, len(facts["norms"][0]))
    inside = (norms[:-1] >= 0.95 * (1 + depth / 2)) & (norms[:-1] <= 1.05 * (1 + 3 * depth / 2))
    learnt = {name: int(np.sum(np.array(rows) < LEARNT)) for name, rows in facts["last"].items()}
    total, names = len(facts["seeds"]), list(SETTINGS)
    highest = max(facts["last"][names[2]])
    return [
        claim(
            "The gradient of the last feed-forward matrix is O(d sqrt(ln d)) in post-LN whatever the depth L, and "
            "O(d sqrt(ln d / L)) in pre-LN (Xiong et al. 2020, theorem 1): slopes 0 and -1/2 against log L.",
            f"From {facts['depths'][0]} to {facts['depths'][-1]} layers the slope is "
            f"{plus_minus(slopes['post_norm'], '{:.2f}')} in post-LN and {plus_minus(slopes['pre_norm'], '{:.2f}')} "
            "in pre-LN.",
            abs(post) < 0.2 and -0.65 < pre < -0.35,
            facts["theory_seeds"],
        ),
        claim(
            "E‖x‖² before the last norm of a post-LN layer is 3d/2, and after pre-LN layer l between (1 + l/2) d and "
            "(1 + 3l/2) d (Xiong et al. 2020, lemma 2).",
            f"Post-LN has {norms[-1]:.2f} d. Pre-LN has {norms[0]:.2f} d after the first layer and {norms[-2]:.2f} d "
            f"after layer {depth[-1]}; {int(inside.sum())} of {len(inside)} layers are within the bounds, but for 5 %.",
            bool(inside.all()) and abs(norms[-1] - 1.5) < 0.15,
            facts["theory_seeds"],
        ),
        claim(
            "Pre-LN learns without a warm-up, and post-LN does not: about 34 BLEU against 8.45 (Xiong et al. 2020, "
            "section 3.2 and figure 2).",
            f"With {facts['layers']} blocks at a rate of {RATE} pre-LN has learnt in {learnt[names[0]]} of {total} "
            f"trainings after {facts['updates']} updates, and post-LN in {learnt[names[1]]}.",
            learnt[names[0]] == total and learnt[names[1]] == 0,
            facts["seeds"],
        ),
        claim(
            "With a warm-up post-LN learns as well (Xiong et al. 2020, section 3.2 and figure 2: about 34 BLEU).",
            f"With a warm-up of {facts['updates']} updates post-LN has learnt in {learnt[names[2]]} of {total} "
            f"trainings after {2 * facts['updates']}. The largest loss of their last {LAST} updates is {highest} nats; "
            f"learnt is below {LEARNT}.",
            learnt[names[2]] == total,
            facts["seeds"],
        ),
        claim(
            "The mask of a decoder keeps what it writes from depending on later tokens (Vaswani et al. 2017, section "
            "3.1).",
            f"A token that is changed moves no logit before it (largest difference {facts['leak']['before']:g}), and "
            f"later ones by up to {facts['leak']['after']:.2f}.",
            facts["leak"]["before"] == 0 and facts["leak"]["after"] > 1e-3,
        ),
    ]


def draw(facts):
    figure, (above, below) = findings.panels(
        "Gradient of the last layer, before training", f"Loss with {facts['layers']} blocks, every seed"
    )
    for (block, rows), color, name in zip(
        facts["gradients"].items(), (findings.BLUE, findings.RED), ("pre-LN", "post-LN"), strict=True
    ):
        findings.line(above, facts["depths"], rows, name, color, log=True, marker="o")
        mean = np.exp(np.log(rows).mean(0))
        power = -0.5 if block == "pre_norm" else 0.0
        x = np.array(facts["depths"], float)
        above.plot(x, mean[0] * (x / x[0]) ** power, color=color, lw=0.9, ls=":")
    above.set(xscale="log", yscale="log", xlabel="layers L; dotted: what theorem 1 says", ylabel="‖gradient of W₂‖")
    above.set_xticks(facts["depths"], [str(depth) for depth in facts["depths"]])
    above.set_yticks([0.2, 0.4, 0.8, 1.6], ["0.2", "0.4", "0.8", "1.6"])
    above.minorticks_off()
    above.legend(loc="lower left")
    for (name, rows), color in zip(facts["curves"].items(), (findings.BLUE, findings.RED, findings.GREEN), strict=True):
        for index, row in enumerate(rows):
            below.plot(10 * np.arange(len(row)) + 5, row, color=color, lw=1, label=None if index else name)
    below.axhline(np.log(SYMBOLS), color=findings.GREY, lw=0.8, ls=":")
    below.text(2 * facts["updates"], np.log(SYMBOLS) + 0.05, "chance", color=findings.GREY, ha="right")
    below.set(xlabel="updates", ylabel="nats per symbol", ylim=(0, 4.2), xlim=(0, None))
    below.legend(loc="upper right")
    return figure
