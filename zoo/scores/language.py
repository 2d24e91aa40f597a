"""Scores of language models: nats and bits, per character and per byte.

The negative logarithm of the probability of a text, summed over its tokens, is divided by the length of the text
itself, so that models with different vocabularies can be compared: nats per character, bits per character (nats /
ln 2), and bits per byte of the text in UTF-8. Perplexity, exp(nats / tokens), compares only models that cut texts
into the same tokens.
"""

import numpy as np

from zoo.scores.bootstrap import RESAMPLES, Score, ratio, report


def language_model_scores(nats, characters, bytes=None, tokens=None, right=None):
    """The `Score`s of `language_model`, the one that is compared first leading."""
    sums = {"nats": nats, "characters": characters, "bytes": bytes, "tokens": tokens, "right": right}
    sums = {name: np.asarray(values, float) for name, values in sums.items() if values is not None}
    shapes = {name: values.shape for name, values in sums.items()}
    if len(set(shapes.values())) > 1 or sums["nats"].ndim != 1 or not sums["nats"].size:
        raise ValueError(f"Expected one number for each text of each kind, and at least one text; received {shapes}.")
    wrong = [name for name in ("characters", "bytes", "tokens") if name in sums and not sums[name].sum() > 0]
    if wrong or not all(np.isfinite(values).all() for values in sums.values()):
        raise ValueError(
            f"Expected finite numbers, and texts of at least one character; received {wrong[0]} that sum to 0."
            if wrong
            else "Expected finite numbers; received some that are not: the model gave a text no probability."
        )
    if "right" in sums and "tokens" not in sums:
        raise ValueError("The number of right tokens needs the number of tokens: pass `tokens`, too.")
    forms = {  # name: (above, below, value, whether more is better)
        "nats_per_character": ("nats", "characters", ratio(), False),
        "bits_per_character": ("nats", "characters", ratio(1 / np.log(2)), False),
        "bits_per_byte": ("nats", "bytes", ratio(1 / np.log(2)), False),
        "perplexity": ("nats", "tokens", _perplexity, False),
        "token_accuracy": ("right", "tokens", ratio(100), True),
    }
    return [
        Score(name, np.stack([sums[above], sums[below]], axis=1), value, higher_is_better=better)
        for name, (above, below, value, better) in forms.items()
        if above in sums and below in sums
    ]


def _perplexity(sums):
    with np.errstate(over="ignore"):  # past 709 nats a token it is infinite
        return np.exp(ratio()(sums))


def language_model(nats, characters, bytes=None, tokens=None, right=None, *, resamples=RESAMPLES, seed=0):
    """How well a model predicts texts.

    Args:
        nats: the negative log-likelihood of each text, or of each window of a running text: (texts,).
        characters: how many each of them has: (texts,).
        bytes: how many each of them has in UTF-8.
        tokens: how many each of them was cut into.
        right: how many of these tokens the model thought the likeliest.
        resamples: of the bootstrap, which draws texts or windows. Windows of one text are not independent of each
            other: their interval speaks of other passages of that text, not of other texts.
        seed: of the bootstrap.

    Returns:
        A dict with `count`, the number of texts, the sums `characters`, and `bytes` and `tokens` where they were given;
        `nats_per_character`, `bits_per_character`, and then `bits_per_byte`, `perplexity` (less is better for all of
        these) and the percentage `token_accuracy`, each with its interval at 95 %.

    Example:
        >>> from zoo.scores import language_model
        >>> scores = language_model([6.931, 13.863], [10, 20])
        >>> round(scores["bits_per_character"], 3)
        1.0
    """
    scores = language_model_scores(nats, characters, bytes, tokens, right)
    sizes = {"characters": characters, "bytes": bytes, "tokens": tokens}
    sizes = {name: int(np.sum(values)) for name, values in sizes.items() if values is not None}
    return {"count": scores[0].count, **sizes, **report(scores, resamples, seed)}
