"""The one loop of all decoding: step the model, let a strategy choose, until every row is done.

The model is known only by the step protocol: `start(memory, beams, max_length) -> (token_ids, state)`,
`step(token_ids, state, memory) -> (logits, state)` and `reorder(state, parents) -> state`. Beams are query positions: a
memory's leaves are `(batch, ...)`, once per sentence, and it is captured by the loop, not carried. If a state holds
`running (batch, beams)` bool, the loop tells it there which hypotheses are still open, so that a model can skip the
others.
"""

from keras import ops

BOS, EOS, PAD = 2, 3, 0
IMPOSSIBLE = -1e9  # the score of a place that holds no hypothesis


def write(tokens, position, chosen):
    """`tokens[:, :, position] = chosen`: (batch, beams, time), scalar, (batch, beams)."""
    here = ops.arange(tokens.shape[-1], dtype="int32") == position
    return ops.where(here, chosen[:, :, None], tokens)


def decode(model, memory, strategy, beams, max_length, growing=False):
    """Run `strategy` over `model` for at most `max_length` tokens and return what `strategy.finish` makes of it.

    A strategy has `begin(batch) -> hypotheses`, `done(hypotheses) -> (batch,) bool`,
    `advance(position, logits, hypotheses) -> (next tokens (batch, beams), hypotheses, parents or None)` and
    `finish(hypotheses)`. `logits` is float32 `(batch, beams, vocabulary)`. One that is `aligned` gives `advance` the
    attention of the step over the source as a fourth argument; see `zoo.decoding.coverage.AlignedSteps`.

    Args:
        growing: let the model's caches grow from step to step instead of having their full size from the start. This
            takes less work, but shapes change: it is for graphs of TensorFlow and ONNX, not for XLA.

    Raises:
        ValueError: `beams` or `max_length` is not a positive integer.
    """
    for name, value in (("beams", beams), ("max_length", max_length)):
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} must be a positive integer (sizes are static). Received: {value!r}.")

    def going(position, last, state, hypotheses):
        return ops.logical_and(position < max_length, ops.any(ops.logical_not(strategy.done(hypotheses))))

    def body(position, last, state, hypotheses):
        logits, state, *weights = step(last, state, memory)
        last, hypotheses, parents = strategy.advance(position, ops.cast(logits, "float32"), hypotheses, *weights)
        if parents is not None:
            state = model.reorder(state, parents)
        if "running" in state:
            going_on = ops.logical_not(strategy.done(hypotheses))[:, None]
            state = {**state, "running": ops.logical_and(state["running"], going_on)}
        return position + 1, last, state, hypotheses

    step = model.aligned_step if strategy.aligned else model.step
    last, state = model.start(memory, beams, None if growing else max_length)
    loop = ops.zeros((), dtype="int32"), last, state, strategy.begin(ops.shape(last)[0])
    return strategy.finish(ops.while_loop(going, body, loop)[3])
