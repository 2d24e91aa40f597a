"""Thresholds of `ConfidenceExit` by random search: of many draws the best one for each range of costs."""

import numpy as np

DRAWS = 10_000  # the paper's


def scored(sureness, right, thresholds):
    """`(quality, average exit)` of tokens whose depths have all been computed.

    Args:
        sureness: `(tokens, N)`: the probability of the best token at each depth.
        right: `(tokens, N)`: how good that token is, such as whether it is the right one.
        thresholds: `(N - 1,)`.

    The quality of a token is that of the depth at which it leaves; the effect of its neighbours' copied states is
    ignored.
    """
    leaves = np.concatenate([sureness[:, :-1] > thresholds, np.ones((len(sureness), 1), bool)], axis=1)
    exits = leaves.argmax(axis=1)
    return float(right[np.arange(len(right)), exits].mean()), float(exits.mean() + 1)


def tune(score, num_layers, draws=DRAWS, segments=10, seed=0):
    """The best thresholds of each segment of costs.

    Args:
        score: `thresholds (num_layers - 1,) -> (quality, cost)` on validation data: BLEU and the average exit of
            what the model writes, or for a start `functools.partial(scored, sureness, right)`.
        num_layers: N.
        draws: how many thresholds to try, each uniform between 0 and 1.
        segments: parts of equal width from the least cost found to the greatest.
        seed: of the draws.

    Returns: a list of `{"thresholds", "quality", "cost"}` by rising cost, one for each segment that a draw fell into,
    the cheapest among equals.

    Raises:
        ValueError: fewer than one draw or segment.

    Reference: https://openreview.net/forum?id=SJg7KhVKPH, section 4.2.
    """
    if draws < 1 or segments < 1:
        raise ValueError(f"tune needs at least one draw and one segment. Received: draws={draws}, segments={segments}.")
    tried = np.random.default_rng(seed).uniform(0.0, 1.0, (draws, num_layers - 1))
    measured = np.array([score(thresholds) for thresholds in tried])
    quality, cost = measured.T
    edges = np.linspace(cost.min(), cost.max(), segments + 1)[1:-1]
    best = {}
    for index, segment in enumerate(np.digitize(cost, edges)):
        rival = best.setdefault(int(segment), index)
        if (quality[index], -cost[index]) > (quality[rival], -cost[rival]):
            best[int(segment)] = index
    return [
        {"thresholds": tried[index].tolist(), "quality": float(quality[index]), "cost": float(cost[index])}
        for _, index in sorted(best.items())
    ]
