"""Adaptive attention span: heads that must look back a known distance, with and without a price for the span.

Random symbols (16 of them), each a copy of the one 21 places before, so that a position must look back exactly 20; S =
64, R = 8, two blocks of 4 heads and 64 units, spans that begin at 32. A head's reach is R + z, where its mask ends.
"""

from functools import partial

import keras
import numpy as np
from keras import ops

from zoo.attention import AdaptiveSpanAttention
from zoo.blocks import PreNorm
from zoo.depth import Stack
from zoo.feedforward import FeedForward
from zoo.models import LanguageModel
from zoo.reproduce import findings
from zoo.reproduce.findings import claim, is_above, plus_minus
from zoo.reproduce.trials import Trainer, keep

FULL = {"updates": 600, "seeds": 3}
QUICK = {"updates": 3, "seeds": 2}
SYMBOLS, BACK, TIME, BATCH = 16, 20, 84, 8
SPAN, RAMP, START, HEADS, BLOCKS, PRICE = 64, 8, 32, 4, 2, 1e-3
PRICES = {"no price": 0.0, f"price {PRICE:g}": PRICE}


def make_batch(*seed):
    """A batch in which each symbol is a copy of the one `BACK + 1` places before; the first ones do not count."""
    ids = np.random.default_rng(seed).integers(0, SYMBOLS, (BATCH, TIME + 1)).astype("int32")
    for place in range(BACK + 1, TIME + 1):
        ids[:, place] = ids[:, place - BACK - 1]
    weights = np.broadcast_to(np.arange(TIME) >= BACK, (BATCH, TIME)).astype("float32")
    return {"token_ids": ids[:, :-1], "labels": ids[:, 1:], "weights": weights}


def make_model(price):
    def attention():
        return AdaptiveSpanAttention(64, HEADS, SPAN, RAMP, price, initial_span=START)

    stack = Stack([PreNorm(attention(), FeedForward(64, 128), dropout=0.0) for _ in range(BLOCKS)])
    return LanguageModel(SYMBOLS, stack, dropout=0.0)


def measure_reaches(model):
    """`(blocks, heads)`: `R + z`."""
    spans = [ops.convert_to_numpy(block.attention.spans()) for block in model.decoder.blocks]
    return np.array(spans) + RAMP


def trim_model(model):
    """(windows, difference): each layer trimmed to its widest head, and how far this changes the logits at most.

    The windows are removed again.
    """
    batch = {"token_ids": make_batch(99)["token_ids"]}
    before, layers = ops.convert_to_numpy(model(batch)), [block.attention for block in model.decoder.blocks]
    windows = [layer.trim() for layer in layers]
    after = ops.convert_to_numpy(model(batch))
    for layer in layers:
        layer.window = None
    return windows, float(np.abs(before - after).max())


def measure(log, updates, seeds):
    facts = {"seeds": list(range(seeds)), "trimmed": []}
    for name, price in PRICES.items():
        trainer = Trainer(partial(make_model, price), keras.optimizers.Adam(2e-3))
        for losses in trainer.train_each(facts["seeds"], make_batch, updates):
            reach = measure_reaches(trainer.model)
            loss = float(losses[-50:].mean()) - price * float((reach - RAMP).mean(axis=1).sum())
            windows, difference = trim_model(trainer.model)
            keep(facts, name, loss=round(loss, 4), reach=reach.astype(float).round(1).tolist(), windows=windows)
            keep(facts, name, weights=trainer.hash())
            facts["trimmed"].append(difference)
        log(f"{name}: losses {facts['loss'][name]}, windows {facts['windows'][name]}")
    return facts


def claims(facts):
    free_reach, priced_reach = (np.array(rows).reshape(len(rows), -1) for rows in facts["reach"].values())
    free_loss, priced_loss = (np.array(rows) for rows in facts["loss"].values())
    windows = np.array(list(facts["windows"].values())[1])
    widest, seeds = priced_reach.max(axis=1), facts["seeds"]
    long_heads, short_heads = int((priced_reach >= BACK).sum()), int((priced_reach < RAMP + 1).sum())
    most_are_short = short_heads > priced_reach.size / 2
    saved_percent = 100 * (1 - windows.mean(axis=1) / SPAN)
    return [
        claim(
            "Heads learn how far back they look: a few have a long span and most a short one (Sukhbaatar et al. 2019, "
            "section 4.2 and figure 4: the lowest five layers stay at the shortest).",
            f"Where one symbol {BACK} back matters, {long_heads} of {priced_reach.size} heads reach as far with a "
            f"price, the widest {plus_minus(widest, '{:.1f}')}, and {short_heads} are at the shortest reach, {RAMP}: "
            f"heads are long or short, and {'most' if most_are_short else 'fewer than half'} are short.",
            widest.min() > BACK and most_are_short,
            seeds,
        ),
        claim(
            "The price of the span shortens it without a loss of quality: 314 of 8,192 positions on average at 1.11 "
            "bits per character (Sukhbaatar et al. 2019, section 2.2 and table 1).",
            f"The mean reach is {plus_minus(priced_reach.mean(axis=1), '{:.1f}')} with a price of {PRICE:g} and "
            f"{plus_minus(free_reach.mean(axis=1), '{:.1f}')} without, at losses of "
            f"{plus_minus(priced_loss, '{:.4f}')} and {plus_minus(free_loss, '{:.4f}')} nats per symbol.",
            is_above(free_reach.mean(axis=1), priced_reach.mean(axis=1))
            and priced_loss.mean() - free_loss.mean() < 0.01,
            seeds,
        ),
        claim(
            "Keys beyond the widest head of a layer need not be read, which saves up to 70 % of the operations "
            "(Sukhbaatar et al. 2019, table 3 and section 4.3).",
            f"Trimmed to windows of {', '.join(map(str, windows.tolist()))} (a pair of layers for each seed), "
            f"{plus_minus(saved_percent, '{:.0f}')} % less than {SPAN}, the models' logits change by at most "
            f"{max(facts['trimmed']):.1g}.",
            max(facts["trimmed"]) < 1e-4 and saved_percent.mean() > 0,
            seeds,
        ),
    ]


def draw(facts):
    figure, all_axes = findings.panels(*(f"Reach of each head, {name}" for name in facts["reach"]))
    colors = (findings.BLUE, findings.RED, findings.GREEN, findings.YELLOW, findings.GREY)
    for axes, runs in zip(all_axes, facts["reach"].values(), strict=True):
        for block in range(BLOCKS):
            for index, run in enumerate(runs):
                places = block * (HEADS + 1) + np.arange(HEADS) + 0.12 * (index - 1)
                label = None if block else f"seed {facts['seeds'][index]}"
                axes.plot(places, sorted(run[block], reverse=True), "o", color=colors[index], alpha=0.8, label=label)
        axes.axhline(BACK, color=findings.GREY, lw=0.8, ls=":")
        axes.set_xticks([1.5, HEADS + 2.5], ["block 1, widest first", "block 2"])
        axes.set(xlim=(-0.8, 2 * HEADS + 0.9), ylim=(0, SPAN + RAMP), ylabel="R + z")
    all_axes[0].text(2 * HEADS + 0.9, BACK - 1, f"what matters: {BACK} back", color=findings.GREY, ha="right", va="top")
    all_axes[0].legend(loc="upper right", ncols=3, handletextpad=0.1, columnspacing=0.8)
    return figure
