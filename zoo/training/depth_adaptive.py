"""The loss of a Depth-Adaptive Transformer: a decoding loss at every depth, and a loss that trains the exit rule."""

from typing import Any

import keras
from keras import ops

from zoo.core.protocols import Loss
from zoo.core.registry import register
from zoo.depth.exits import first_largest, sequence_oracle, token_oracle
from zoo.training.losses import SmoothedCrossEntropy, smoothed_cross_entropy

ORACLES = ("likelihood", "correctness")


@register
class DepthAdaptiveLoss(keras.losses.Loss):
    """`L = L_dec + alpha L_exit`, `L_dec = 1 / sum(w) sum_n w_n loss^n`, `L_exit = sum_t H(q*_t, q_t)`, over tokens.

    `loss^n` is the smoothed cross entropy of depth n ("aligned") or of path n ("mixed"). `q*` is a one-hot
    distribution: it is 1 at the depth with the largest `s^n - price * n`. The score `s^n` of depth n is computed
    without label smoothing: with "likelihood" it is log p of the label, with "correctness" it is 1 where the most
    probable token is the label and 0 elsewhere. Scores are summed over the sentence for a rule that chooses one depth
    for a sequence, and over the token and its neighbours (`width`) for a rule that chooses one for each token. Both
    parts are divided by the number of real tokens. The gradient of `L_exit` reaches the whole model; `q*` is a
    constant.

    Call it as `loss(labels, outputs, sample_weight=weights)`: labels and weights are `(batch, time)`; outputs are what
    a `DepthAdaptiveTransformer` returns in training. For plain logits, as in a validation, the loss is their smoothed
    cross entropy. A batch whose weights are all zero has loss 0.

    Args:
        oracle: the score by which the best depth is chosen, "likelihood" or "correctness" (in the paper LL and C).
        price: lambda, the cost of one more layer, in nats or in correct tokens.
        width: sigma, the width of the kernel over the neighbours; with 0 only the token itself counts.
        alpha: factor of `L_exit`; with 0 only the classifiers are trained.
        smoothing: label smoothing in `L_dec`.
        depth_weights: `w_n`, one for each depth; None gives all depths the same weight.

    Raises:
        ValueError: an unknown oracle, numbers out of range, or another number of weights than depths.

    Example:
        >>> import numpy as np
        >>> from zoo.training import DepthAdaptiveLoss
        >>> loss = DepthAdaptiveLoss("correctness", price=0.1)
        >>> outputs = {"logits": np.zeros((1, 3, 2, 5)), "log_exits": np.log(np.full((1, 2, 3), 1 / 3))}
        >>> float(loss(np.array([[2, 0]]), outputs, np.array([[1.0, 0.0]])))  # log 5 + 0.1 log 3
        1.719...

    Reference: https://openreview.net/forum?id=SJg7KhVKPH, section 3.
    """

    traits = Loss(of_outputs=True)

    def __init__(
        self,
        oracle: str = "likelihood",
        price: float = 0.1,
        width: Any = 0.0,
        alpha: float = 0.1,
        smoothing: float = 0.0,
        depth_weights: Any = None,
        name: str = "loss",
    ) -> None:
        super().__init__(name=name, reduction="sum")
        if oracle not in ORACLES:
            raise ValueError(f"Unknown oracle: expected one of {ORACLES}, received {oracle!r}.")
        if price < 0 or width < 0 or alpha < 0 or not 0 <= smoothing < 1:
            raise ValueError(
                "price, width and alpha must be at least 0 and smoothing in [0, 1). Received: "
                f"price={price!r}, width={width!r}, alpha={alpha!r}, smoothing={smoothing!r}."
            )
        self.oracle, self.price, self.width, self.alpha = oracle, price, width, alpha
        self.smoothing = smoothing
        self.depth_weights = depth_weights

    def __call__(self, labels, outputs, sample_weight=None):
        if not isinstance(outputs, dict):  # a validation: the logits of the depth at which each token left
            return SmoothedCrossEntropy(self.smoothing)(labels, outputs, sample_weight=sample_weight)
        logits, log_exits = ops.cast(outputs["logits"], "float32"), outputs.get("log_exits")
        weights = ops.ones_like(labels) if sample_weight is None else sample_weight
        weights = ops.cast(weights, "float32")
        total = ops.maximum(ops.sum(weights), keras.config.epsilon())
        loss = ops.sum(self.decoding_loss(labels, logits) * weights) / total
        if log_exits is None:
            return loss
        log_exits = ops.cast(log_exits, "float32")
        best = self.best_depths(labels, logits, weights, whole=log_exits.shape[1] == 1)
        return loss + self.alpha * self.exit_loss(best, log_exits, weights) / total

    def decoding_loss(self, labels, logits):
        """The mean loss over depths or paths, `(batch, time)`."""
        depths = logits.shape[1]
        if self.depth_weights is not None and len(self.depth_weights) != depths:
            raise ValueError(
                f"depth_weights must be one for each of the {depths} depths. Received: {self.depth_weights!r}."
            )
        parts = [smoothed_cross_entropy(labels, logits[:, index], self.smoothing) for index in range(depths)]
        factors = [1.0] * depths if self.depth_weights is None else self.depth_weights
        return sum(factor * part for factor, part in zip(factors, parts, strict=True)) / sum(factors)

    def scores(self, labels, logits):
        """The score of each depth for each token, `(batch, time, N)`."""
        if self.oracle == "likelihood":
            each = [-smoothed_cross_entropy(labels, logits[:, index], 0.0) for index in range(logits.shape[1])]
        else:
            right = first_largest(logits) == ops.cast(labels, "int32")[:, None]
            each = ops.unstack(ops.cast(right, "float32"), logits.shape[1], axis=1)
        return ops.stack(each, axis=-1)

    def best_depths(self, labels, logits, weights, whole=False):
        """`q* (batch, time | 1, N)`; with `whole`, one depth for each sequence."""
        scores = self.scores(labels, ops.stop_gradient(logits))
        if whole:
            return sequence_oracle(scores, weights, self.price)
        return token_oracle(scores, weights, self.price, self.width)

    @staticmethod
    def exit_loss(best, log_exits, weights):
        """The sum of the cross entropies `H(q*, q)` over the tokens, or over the sequences that have any token."""
        cross = -ops.sum(best * log_exits, axis=-1)
        if cross.shape[1] == 1:
            weights = ops.max(weights, axis=1, keepdims=True)
        return ops.sum(cross * weights)

    def get_config(self):
        return {"name": self.name}  # and what the constructor is given
