"""The one loop of all decoding: step the model, let a strategy choose, until every row is done.

The model is known only by the step protocol: `start(memory, beams, max_length) -> (token_ids, state)`,
`step(token_ids, state, memory) -> (logits, state)` and `reorder(state, parents) -> state`. Beams are query positions: a
memory's leaves are `(batch, ...)`, once per sentence, and it is captured by the loop, not carried. If a state holds
`running (batch, beams)` bool, the loop tells it there which hypotheses are still open, so that a model can skip the
others.
"""

from copy import copy

from keras import ops, tree

BOS, EOS, PAD = 2, 3, 0
IMPOSSIBLE = -1e9  # the score of a place that holds no hypothesis
LEAVING = "leaving"  # caches grow, and rows that are done leave the batch
SHARE = 4  # one row of so many that is done, and those that are done leave the batch
SHARED = "shared"  # what a memory holds once for all rows


def write(tokens, position, chosen):
    """`tokens[:, :, position] = chosen`: (batch, beams, time), scalar, (batch, beams)."""
    here = ops.arange(tokens.shape[-1], dtype="int32") == position
    return ops.where(here, chosen[:, :, None], tokens)


def decode(model, memory, strategy, beams, max_length, growing=False):
    """Run `strategy` over `model` for at most `max_length` tokens and return what `strategy.finish` makes of it.

    A strategy has `begin(batch) -> hypotheses`, `done(hypotheses) -> (batch,) bool`,
    `advance(position, logits, hypotheses) -> (next tokens (batch, beams), hypotheses, parents or None)` and
    `finish(hypotheses)`. `logits` is float32 `(batch, beams, vocabulary)`. One that is `aligned` gives `advance` the
    attention of the step over the source as a fourth argument; see `zoo.decoding.beam.AlignedSteps`.

    Args:
        growing: let the model's caches grow from step to step instead of having their full size from the start. This
            takes less work, but shapes change: it is for graphs of TensorFlow and ONNX, not for XLA. With `LEAVING`
            rows that are done leave the batch besides, so that nothing is computed for them while others are written,
            by a loop inside a loop.

    Raises:
        ValueError: `beams` or `max_length` is not a positive integer.
    """
    for name, value in (("beams", beams), ("max_length", max_length)):
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} must be a positive integer (sizes are static). Received: {value!r}.")

    last, state = model.start(memory, beams, None if growing else max_length)
    hypotheses = strategy.begin(ops.shape(last)[0])
    run = _leaving if growing == LEAVING else _together
    return strategy.finish(run(model, memory, strategy, max_length, last, state, hypotheses))


def _together(model, memory, strategy, max_length, last, state, hypotheses):
    """The hypotheses when every row is done; the batch stays as it is."""

    def going(position, last, state, hypotheses):
        return ops.logical_and(position < max_length, ops.any(ops.logical_not(strategy.done(hypotheses))))

    loop = ops.zeros((), dtype="int32"), last, state, hypotheses
    return ops.while_loop(going, _step(model, memory, strategy), loop)[3]


def _leaving(model, memory, strategy, max_length, last, state, hypotheses):
    """The same, where rows that are done leave the batch as soon as one of `SHARE` is; what is left is gathered."""

    def going(position, rows, *others):
        return ops.logical_and(position < max_length, ops.shape(rows)[0] > 0)

    def phase(position, rows, kept, last, state, hypotheses, memory, asked):
        own, count = strategy.with_rows(asked), ops.shape(rows)[0]

        def staying(position, last, state, hypotheses):
            done = ops.sum(ops.cast(own.done(hypotheses), "int32"))
            return ops.logical_and(position < max_length, done * SHARE < count)

        step = _step(model, memory, own)
        position, last, state, hypotheses = ops.while_loop(staying, step, (position, last, state, hypotheses))
        kept = tree.map_structure(
            lambda leaf, new: ops.scatter_update(leaf, ops.expand_dims(rows, 1), new), kept, hypotheses
        )
        left = ops.cast(ops.nonzero(ops.logical_not(own.done(hypotheses)))[0], "int32")
        rows, last, state, hypotheses, memory, asked = (
            take_rows(each, left) for each in (rows, last, state, hypotheses, memory, asked)
        )
        return position, rows, kept, last, state, hypotheses, memory, asked

    rows = ops.arange(ops.shape(last)[0], dtype="int32")
    asked = tree.map_structure(lambda leaf: leaf + _zeros_for(rows, leaf), strategy.rows())  # a value for each row
    loop = rows, hypotheses, last, state, hypotheses, memory, asked
    return ops.while_loop(going, phase, (ops.zeros((), dtype="int32"), *loop))[2]


def _step(model, memory, strategy):
    """The body of a loop: the model's step, then what the strategy chooses."""
    step = model.aligned_step if strategy.aligned else model.step

    def body(position, last, state, hypotheses):
        logits, state, *weights = step(last, state, memory)
        last, hypotheses, parents = strategy.advance(position, ops.cast(logits, "float32"), hypotheses, *weights)
        if parents is not None:
            state = model.reorder(state, parents)
        if "running" in state:
            going_on = ops.logical_not(strategy.done(hypotheses))[:, None]
            state = {**state, "running": ops.logical_and(state["running"], going_on)}
        return position + 1, last, state, hypotheses

    return body


class Strategy:
    """What strategies share: the values that each row has of its own, such as those of a search's rules.

    Attributes:
        rules: `zoo.decoding.rules.Rules`, or None.
    """

    rules = None
    of_rows = ()  # names of attributes that are tensors with a value for each row, or one for all

    def rows(self):
        """The tensors with a value for each row, by name."""
        held = {"rules": self.rules.rows_of()} if self.rules is not None else {}
        return held | own_rows({name: vars(self)[name] for name in self.of_rows})

    def with_rows(self, rows):
        """The same strategy for the rows that are left, whose values are given as of `rows`."""
        twin = copy(self)
        vars(twin).update({name: each for name, each in rows.items() if name != "rules"})
        if "rules" in rows:
            twin.rules = self.rules.with_rows(rows["rules"])
        return twin


def own_rows(leaves):
    """Those of `{name: tensor or None}` that may have a value for each row; what is known to have one is for all."""
    return {name: leaf for name, leaf in leaves.items() if leaf is not None and leaf.shape[0] != 1}


def _zeros_for(rows, leaf):
    """Zeros `(rows, 1, ..., 1)` of the rank and the type of a leaf."""
    return ops.reshape(ops.zeros_like(rows, leaf.dtype), (-1, *(1,) * (len(leaf.shape) - 1)))


def take_rows(structure, rows):
    """Some rows of every leaf `(batch, ...)`; scalars and what is `SHARED` stay."""
    if isinstance(structure, dict):
        return {name: leaf if name == SHARED else take_rows(leaf, rows) for name, leaf in structure.items()}
    if isinstance(structure, list | tuple):
        return type(structure)(take_rows(leaf, rows) for leaf in structure)
    if structure is None or len(structure.shape) == 0:
        return structure
    return ops.take(structure, rows, axis=0)
