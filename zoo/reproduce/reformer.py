"""Reformer: hashed attention is exact over what its rounds meet, more rounds meet more, and depth keeps no activations.

Duplication (table 2 of the paper in small): one layer of 64 units has to find in the first half of a text, 9 of 30
symbols, what it writes in the second. It is trained with full attention, which is one chunk, and evaluated with 1, 2, 4
and 8 rounds of hashing into 8 buckets and chunks of 4.
"""

from functools import partial

import keras
import numpy as np
from keras import ops

from zoo.attention import LSHAttention
from zoo.attention.lsh import hash_vectors, lsh_attention, unit
from zoo.blocks import PreNorm
from zoo.depth import ReversibleStack
from zoo.depth.reversible import half_step
from zoo.feedforward import FeedForward
from zoo.models import LanguageModel
from zoo.reproduce import findings
from zoo.reproduce.findings import claim, is_above, plus_minus
from zoo.reproduce.trials import Trainer, adam, gradients, keep, to_arrays

FULL = {"updates": 1500, "seeds": 3, "longest": 9, "depth": 24, "draws": 4}
QUICK = {"updates": 2, "seeds": 2, "longest": 3, "depth": 3, "draws": 2}
ROUNDS, SYMBOLS, BATCH, TESTS = (1, 2, 4, 8), 30, 32, 128
UNITS, HEADS, BUCKETS, CHUNK = 64, 4, 8, 4
LEARNT = 0.9


def make_duplications(count, longest, *seed):
    """Texts `0 w 0 w` of which the second half counts; w has `longest` symbols."""
    words = np.random.default_rng(seed).integers(1, SYMBOLS, (count, longest))
    ids = np.pad(words, ((0, 0), (1, 0)))
    ids = np.concatenate([ids, ids], axis=1).astype("int32")
    place = np.arange(ids.shape[1] - 1)
    weights = np.broadcast_to(place >= longest + 1, (count, len(place))).astype("float32")
    return {"token_ids": ids[:, :-1], "labels": ids[:, 1:], "weights": weights}


def make_writer(rounds=1, chunk=CHUNK):
    """A language model of one reversible layer; attention is full where a chunk holds the whole text."""
    attention = LSHAttention(UNITS, HEADS, BUCKETS, chunk, rounds, seed=0)
    stack = ReversibleStack([PreNorm(attention, FeedForward(UNITS, UNITS), dropout=0.0)], activations="plain")
    model = LanguageModel(SYMBOLS, stack, dropout=0.0)
    model.build()
    return model


def union_errors(rounds=4, time=32, units=8):
    """Largest differences of hashed attention from a softmax over the union of the pairs that meet in some round.

    "one softmax" counts each pair once, as the correction by log N does, where N is the number of rounds in which it
    meets; "each round counted" counts a pair N times.
    """
    random = np.random.default_rng(0)
    x, values = random.normal(size=(2, 1, 1, time, units)).astype("float32")
    buckets = hash_vectors(ops.convert_to_tensor(x), [random.normal(size=(1, units, rounds, 4)).astype("float32")])
    buckets = ops.convert_to_numpy(buckets)
    met = np.zeros((time, time), int)
    for row in buckets[0, 0]:
        chunk_of = np.empty(time, int)
        chunk_of[np.lexsort((np.arange(time), row))] = np.arange(time) // CHUNK
        met += np.isin(chunk_of[:, None] - chunk_of[None], (0, 1))
    keys = ops.convert_to_numpy(unit(ops.convert_to_tensor(x)))
    scores = (x[0, 0].astype("float64") @ keys[0, 0].T.astype("float64")) - 1e5 * np.eye(time)
    output = ops.convert_to_numpy(lsh_attention(*map(ops.convert_to_tensor, (x, values, buckets)), CHUNK))[0, 0]
    errors = {}
    for name, weight in (("one softmax", met > 0), ("each round counted", met)):
        weights = weight * np.exp(scores - np.where(met > 0, scores, -np.inf).max(1, keepdims=True))
        expected = weights / weights.sum(1, keepdims=True) @ values[0, 0]
        errors[name] = float(np.abs(output - expected).max())
    return errors


def meeting_shares(seed, cosine=0.9, time=256, units=32, chunk=32):
    """How often a position meets its neighbour of a given cosine, by rounds; it sees 2 of `time / chunk` chunks."""
    random = np.random.default_rng(seed)
    first = random.normal(size=(time // 2, units))
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    other = random.normal(size=first.shape)
    other -= (other * first).sum(1, keepdims=True) * first
    second = cosine * first + (1 - cosine**2) ** 0.5 * other / np.linalg.norm(other, axis=1, keepdims=True)
    x = np.stack([first, second], 1).reshape(1, 1, time, units).astype("float32")
    rotation = random.normal(size=(1, units, max(ROUNDS), time // chunk // 2)).astype("float32")
    buckets = ops.convert_to_numpy(hash_vectors(ops.convert_to_tensor(x), [rotation]))[0, 0]
    met = []
    for row in buckets:
        chunk_of = np.empty(time, int)
        chunk_of[np.lexsort((np.arange(time), row))] = np.arange(time) // chunk
        met.append(np.isin(chunk_of[1::2] - chunk_of[::2], (0, 1)))
    return [round(float(np.any(met[:rounds], axis=0).mean()), 4) for rounds in ROUNDS]


def rebuild_error(depth, units=32):
    """How far the inputs of a reversible stack, rebuilt from its last streams, are from the true ones."""
    keras.utils.set_random_seed(0)
    stack = ReversibleStack(
        [PreNorm(make_attention(units), FeedForward(units, units), dropout=0.0) for _ in range(depth)]
    )
    stack.build((None, None, units))
    x = ops.convert_to_tensor(np.random.default_rng(0).normal(size=(1, 16, units)).astype("float32"))
    pieces = stack._pieces(None, None, False, False, False)
    streams = x, x
    for piece in pieces:
        streams = half_step(streams, piece.function(streams[1]))
    for piece in reversed(pieces):
        streams = streams[1] - piece.function(streams[0]), streams[0]
    return float(max(np.abs(ops.convert_to_numpy(stream - x)).max() for stream in streams))


def gradient_error(layers=3, units=16):
    """The largest relative difference between gradients with activations that are rebuilt and that are kept."""
    gradients_of = []
    for activations in ("plain", "reversible"):
        keras.utils.set_random_seed(0)
        blocks = [PreNorm(make_attention(units), FeedForward(units, units), dropout=0.0) for _ in range(layers)]
        stack = Training(ReversibleStack(blocks, activations))
        x = np.random.default_rng(0).normal(size=(1, 12, units)).astype("float32")
        stack(x)
        gradients_of.append(list(gradients(stack, x, lambda y: ops.mean(ops.sin(3 * y))).values()))
    return float(max(np.abs(a - b).max() / max(np.abs(a).max(), 1e-6) for a, b in zip(*gradients_of, strict=True)))


class Training(keras.layers.Layer):
    """A layer that runs another as training does."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def call(self, x):
        return self.inner(x, training=True)


def make_attention(units):
    return LSHAttention(units, 2, 4, 4, 1, seed=0)


def measure(log, updates, seeds, longest, depth, draws):
    facts = {"seeds": list(range(seeds)), "union": union_errors(), "longest": longest, "depth": depth}
    facts |= {"meetings": [meeting_shares(seed) for seed in range(5)], "undone": rebuild_error(depth)}
    facts |= {"gradients": gradient_error(), "right": [], "full": []}
    log(f"mathematics: {facts['union']}, {facts['undone']}, {facts['gradients']}")
    trainer = Trainer(lambda: make_writer(chunk=2 * longest + 2), adam(3e-3, updates))
    readers = {rounds: make_writer(rounds) for rounds in ROUNDS}
    test = make_duplications(TESTS, longest, 99)
    counted = test["weights"] > 0
    for seed, _ in enumerate(trainer.train_each(facts["seeds"], partial(make_duplications, BATCH, longest), updates)):
        keep(facts, "full attention", weights=trainer.hash())
        facts["full"].append(round(float(trainer.right(test)[counted].mean()), 4))
        shares = []
        for reader in readers.values():
            pairs = zip(reader.trainable_variables, to_arrays(trainer.model.trainable_variables), strict=True)
            for variable, value in pairs:
                variable.assign(value)
            rotations, right = reader.decoder.blocks[0].attention.rotations, []
            for draw in range(draws):
                for rotation in rotations:
                    rotation.assign(np.random.default_rng(draw).normal(size=rotation.shape))
                answers = np.asarray(reader.predict_on_batch({"token_ids": test["token_ids"]})).argmax(-1)
                right.append((answers == test["labels"])[counted].mean())
            shares.append(round(float(np.mean(right)), 4))
        facts["right"].append(shares)
        log(f"seed {seed}: right {facts['full'][-1]} with full attention, {shares} with {ROUNDS} rounds")
    return facts


def claims(facts):
    met, right, seeds = 100 * np.array(facts["meetings"]), 100 * np.array(facts["right"]), facts["seeds"]
    full = 100 * np.array(facts["full"])
    counted = ", ".join(f"{plus_minus(met[:, at], '{:.1f}')} % ({rounds})" for at, rounds in enumerate(ROUNDS))
    written = ", ".join(f"{plus_minus(right[:, at], '{:.1f}')} % ({each})" for at, each in enumerate(ROUNDS))
    return [
        claim(
            "Rounds of hashing are combined, with the number N of rounds in which a pair meets, to attention over the "
            "union of what they meet (Kitaev et al. 2020, section 2 and appendix A).",
            f"Our four rounds are one softmax over the union to within {facts['union']['one softmax']:.1g}; where each "
            f"meeting counts, as without log N, the difference is {facts['union']['each round counted']:.2f}.",
            facts["union"]["one softmax"] < 1e-4,
        ),
        claim(
            "More rounds find more of the near ones (Kitaev et al. 2020, section 2 and figure 1).",
            f"A position meets its neighbour, of a cosine of 0.9, with a chance of {counted} by rounds.",
            bool((np.diff(met.mean(0)) > 0).all()),
            range(5),
        ),
        claim(
            "Trained with full attention, a model is evaluated with hashing, and accuracy rises with the rounds: 52.5, "
            "76.9, 92.5 and 94.8 % with 1, 2, 4 and 8 (Kitaev et al. 2020, table 2).",
            f"Of words of {facts['longest']} symbols {plus_minus(full, '{:.1f}')} % of the symbols are right with full "
            f"attention, and by rounds of hashing {written}.",
            min(full) > 100 * LEARNT
            and is_above(right[:, -1], right[:, 0])
            and bool((np.diff(right.mean(0)) > 0).all()),
            seeds,
        ),
        claim(
            "The activations of a reversible layer can be computed again from its outputs, so that none is kept "
            "(Kitaev et al. 2020, section 3; Gomez et al. 2017, section 3).",
            f"The inputs of {facts['depth']} layers come back to within {facts['undone']:.1g} in float32, and "
            f"gradients are those of kept activations to within {facts['gradients']:.1g} of the largest.",
            facts["undone"] < 1e-4 and facts["gradients"] < 1e-3,
        ),
    ]


def draw(facts):
    figure, (axes, below) = findings.panels(
        "A near neighbour is met (cosine 0.9)", "Symbols right, trained with full attention"
    )
    findings.line(axes, ROUNDS, 100 * np.array(facts["meetings"]), "", findings.BLUE, marker="o")
    axes.set(ylabel="%", ylim=(0, 105), xscale="log", xlabel="rounds of hashing; bands are 95 % intervals")
    for index, (row, color) in enumerate(
        zip(facts["right"], (findings.BLUE, findings.RED, findings.GREEN), strict=False)
    ):
        label = f"seed {facts['seeds'][index]}"
        below.plot(ROUNDS, 100 * np.array(row), "o-", color=color, alpha=0.8, label=label, clip_on=False)
    below.set(ylabel="%", ylim=(0, 105), xscale="log", xlabel="rounds of hashing in evaluation")
    for panel in (axes, below):
        panel.set_xticks(ROUNDS, [str(rounds) for rounds in ROUNDS])
        panel.minorticks_off()
    below.legend(loc="lower right")
    return figure
