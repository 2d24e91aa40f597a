"""Rules of exit: at which depth a token leaves a stack of blocks, decided before, in the first or in every block.

Depths count from 1 to N, on the last axis. A learned rule has a distribution `q` over them (`log_chances`), which
training moves towards an oracle: the depth at which the token should have left, the smallest one whose gain is worth
its cost. An oracle is a constant for the loss. Reference of all: https://openreview.net/forum?id=SJg7KhVKPH, of oracles
section 3 (Elbayad et al. 2020).
"""

from typing import Any

from keras import KerasTensor, layers, ops

from zoo.core.masks import masked_mean
from zoo.core.protocols import ExitRule
from zoo.core.registry import build_parts, register


def first_largest(scores):
    """Index of the largest of the last axis, the first among equals, int32."""
    highest = ops.max(scores, axis=-1, keepdims=True)
    return ops.cast(ops.argmax(ops.cast(scores == highest, "int32"), axis=-1), "int32")


def best_depth(scores, price):
    """`delta(argmax_n scores_n - price * n)`: `(..., N)` scores -> `(..., N)` with one 1, float32, without gradient."""
    scores = ops.cast(ops.stop_gradient(scores), "float32")
    num_layers = scores.shape[-1]
    cost = price * ops.arange(1, num_layers + 1, dtype="float32")
    return ops.one_hot(first_largest(scores - cost), num_layers, dtype="float32")


def sequence_oracle(scores, weights, price):
    """One depth for a whole sequence: `argmax_n sum_t s_t^n - price * n`, over the tokens whose weight is above 0.

    Args:
        scores: `(batch, time, N)`: log-likelihoods LL of the tokens at each depth, or 1 where the best token is right.
        weights: `(batch, time)`, 0 for padding.
        price: lambda, of one more layer; in nats a sequence for LL, in tokens for correctness.

    Returns: `(batch, 1, N)` with one 1 a row.
    """
    return best_depth(ops.sum(masked(scores, weights), axis=1, keepdims=True), price)


def token_oracle(scores, weights, price, width=0.0):
    """A depth for each token: `argmax_n sum_t' k(t, t') s_t'^n - price * n`, `k(t, t') = exp(-|t - t'|^2 / width)`.

    The scores of the neighbouring tokens count, too; with `width` (the paper's sigma) 0 only the token itself counts.
    (Equation 16 of the paper prints `C_t^n` behind the sum; `C_t'^n` is meant.)

    Args, returns: as of `sequence_oracle`, but `(batch, time, N)`, and `price` in nats or in tokens a token.
    """
    scores = masked(scores, weights)
    if width:
        place = ops.arange(scores.shape[1], dtype="float32")
        near = ops.exp(-((place[:, None] - place[None, :]) ** 2) / width)
        scores = ops.einsum("ts,bsn->btn", near, scores)
    return best_depth(scores, price)


def masked(scores, weights):
    scores = ops.cast(scores, "float32")
    return ops.where(ops.cast(weights, "float32")[:, :, None] > 0, scores, 0.0)


class Exit(layers.Layer):
    """What all rules share.

    Args:
        num_layers: N, of the stack.

    Raises:
        ValueError: `num_layers` is not a positive integer.
    """

    traits = ExitRule()
    learns = False  # whether a dense layer gives the chances of all depths

    def __init__(self, num_layers: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(num_layers, int) or num_layers < 1:
            raise ValueError(
                f"{type(self).__name__} needs the number of layers of its stack, at least 1. Received: {num_layers!r}."
            )
        self.num_layers = num_layers
        self.supports_masking = True
        self.dense = layers.Dense(num_layers, name="chances", dtype=self.dtype_policy) if self.learns else None

    def build(self, h_shape):
        build_parts([self.dense], h_shape)

    def call(self, h):
        """`log q`, `q = softmax(W h + b)`: `(..., units)` -> `(..., N)`, float32, of a rule that `learns`."""
        return ops.log_softmax(ops.cast(self.dense(h), "float32"), axis=-1)

    def log_chances(self, states, memory=None, memory_mask=None):
        """`log q (batch, time | 1, N)`, float32; None of a rule that is not learned, as here.

        Args:
            states: list of N `(batch, time, units)`: what each depth's classifier is given.
            memory, memory_mask: `(batch, memory_time, units)` and `(batch, memory_time)`, for a rule over sequences.
        """
        return None

    def choose(self, memory, memory_mask=None):
        """The depth chosen before decoding, `(batch, 1)` int32; None where the rule looks at the tokens."""
        return None

    def plan(self, state):
        """The depth predicted from the first block's state `(batch, time, units)`: `(batch, time)` int32, or None."""
        return None

    def leaves(self, index, state, logits, plan):
        """Which tokens leave after block `index`, `(batch, time)` bool: by default those that were planned to."""
        return plan <= index + 1

    def compute_output_shape(self, h_shape):
        return (*h_shape[:-1], self.num_layers)

    def compute_output_spec(self, h):
        return KerasTensor(self.compute_output_shape(h.shape), "float32")  # whatever the dtype of h


@register
class FixedExit(Exit):
    """Every token leaves after block `depth`; at N the stack is a plain one.

    Args:
        num_layers: N.
        depth: from 1 to N; None is N.

    Raises:
        ValueError: a depth that the stack does not have.

    Example:
        >>> from zoo.depth import FixedExit
        >>> FixedExit(6, depth=4).depth
        4
    """

    traits = ExitRule(over=None)

    def __init__(self, num_layers: int, depth: Any = None, **kwargs: Any) -> None:
        super().__init__(num_layers, **kwargs)
        if depth is not None and (not isinstance(depth, int) or not 1 <= depth <= num_layers):
            raise ValueError(f"FixedExit needs a depth from 1 to num_layers={num_layers}. Received: depth={depth!r}.")
        self.depth = depth

    def plan(self, state):
        return ops.full_like(state[:, :, 0], self.depth or self.num_layers, dtype="int32")


@register
class SequenceExit(Exit):
    """`q(n | x) = softmax(W (1/|x| sum_t s_t) + b)` of the encoder's states: one depth for all tokens of a sentence.

    Args, errors: `num_layers`, as of `Exit`.

    Example:
        >>> import numpy as np
        >>> from zoo.depth import SequenceExit
        >>> tuple(SequenceExit(6).choose(np.ones((2, 5, 8), "float32")).shape)
        (2, 1)
    """

    traits = ExitRule(over="sequence")
    learns = True

    def log_chances(self, states, memory=None, memory_mask=None):
        return self(masked_mean(memory, memory_mask)[:, None])

    def choose(self, memory, memory_mask=None):
        return first_largest(self(masked_mean(memory, memory_mask)[:, None])) + 1


@register
class MultinomialExit(Exit):
    """`q_t = softmax(W h_t^1 + b)`: the state after the first block predicts the depth at which the token leaves.

    Args, errors: `num_layers`, as of `Exit`.

    Example:
        >>> import numpy as np
        >>> from zoo.depth import MultinomialExit
        >>> tuple(MultinomialExit(6).plan(np.ones((2, 5, 8), "float32")).shape)
        (2, 5)
    """

    learns = True

    def log_chances(self, states, memory=None, memory_mask=None):
        return self(states[0])

    def plan(self, state):
        return first_largest(self(state)) + 1


@register
class GeometricExit(Exit):
    """`chi^n = sigmoid(w h^n + b)`, `q(n) = chi^n prod_{m<n} (1 - chi^m)`, `q(N) = prod_{m<N} (1 - chi^m)`.

    A token leaves after the first block whose `chi` is above the threshold. The paper's first version calls this
    Poisson binomial. All depths share `w` and `b`.

    Args:
        num_layers: N.
        threshold: above which a token leaves.

    Raises:
        ValueError: `num_layers` as of `Exit`, or a threshold that is not between 0 and 1.

    Example:
        >>> from keras import ops
        >>> import numpy as np
        >>> from zoo.depth import GeometricExit
        >>> states = [np.ones((2, 5, 8), "float32")] * 3
        >>> float(ops.sum(ops.exp(GeometricExit(3).log_chances(states))[0, 0]))
        1.0...
    """

    def __init__(self, num_layers: int, threshold: float = 0.5, **kwargs: Any) -> None:
        super().__init__(num_layers, **kwargs)
        if not 0 < threshold < 1:
            raise ValueError(f"GeometricExit needs a threshold between 0 and 1. Received: threshold={threshold!r}.")
        self.threshold = threshold
        self.dense = layers.Dense(1, name="chance", dtype=self.dtype_policy)

    def call(self, h):
        """The logit of `chi`: `(batch, time, units)` -> `(batch, time)`, float32."""
        return ops.cast(self.dense(h)[:, :, 0], "float32")

    def log_chances(self, states, memory=None, memory_mask=None):
        leaving, stayed = [], ops.zeros_like(states[0][:, :, 0], dtype="float32")
        for state in states[:-1]:
            logit = self(state)
            leaving.append(stayed + ops.log_sigmoid(logit))
            stayed = stayed + ops.log_sigmoid(-logit)
        return ops.stack([*leaving, stayed], axis=-1)

    def leaves(self, index, state, logits, plan):
        return ops.sigmoid(self(state)) > self.threshold

    def compute_output_shape(self, h_shape):
        return tuple(h_shape[:-1])


@register
class ConfidenceExit(Exit):
    """A token leaves after the first block n whose classifier is confident: `max_y p(y | h^n) > tau_n`. Nothing is
    learned.

    Every depth that a token reaches costs a classifier. `tau` is a weight, so that it can be tuned after the training
    (`zoo.depth.thresholds`): `rule.tau.assign(...)`.

    Args:
        num_layers: N.
        thresholds: with which `tau` begins: one for all depths but the last, or a list of N - 1.

    Raises:
        ValueError: `num_layers` as of `Exit`, or another number of thresholds.

    Example:
        >>> from zoo.depth import ConfidenceExit
        >>> rule = ConfidenceExit(3, [0.75, 0.5])
        >>> rule.build((None, None, 8))
        >>> rule.tau.numpy().tolist()
        [0.75, 0.5]
    """

    traits = ExitRule(over=None, reads_logits=True)

    def __init__(self, num_layers: int, thresholds: Any = 0.9, **kwargs: Any) -> None:
        super().__init__(num_layers, **kwargs)
        self.thresholds = thresholds
        if len(self._initial()) != num_layers - 1:
            raise ValueError(
                f"ConfidenceExit needs a threshold for each of the {num_layers - 1} depths before the last, or one "
                f"number for all. Received: thresholds={thresholds!r}."
            )

    def _initial(self):
        """`thresholds`, one for each depth but the last."""
        one = isinstance(self.thresholds, int | float)
        return [self.thresholds] * (self.num_layers - 1) if one else [float(each) for each in self.thresholds]

    def build(self, h_shape):
        self.tau = self.add_weight(
            name="thresholds",
            shape=(self.num_layers - 1,),
            initializer=lambda shape, dtype: ops.convert_to_tensor(self._initial(), dtype),
            trainable=False,
            dtype="float32",
            autocast=False,
        )

    def leaves(self, index, state, logits, plan):
        surest = ops.exp(ops.max(logits, axis=-1) - ops.logsumexp(logits, axis=-1))
        return surest > self.tau[index]


EXITS = {
    "last": FixedExit,
    "sequence": SequenceExit,
    "multinomial": MultinomialExit,
    "geometric": GeometricExit,
    "confidence": ConfidenceExit,
}
