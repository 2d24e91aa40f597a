"""The one loop of all decoding: step the model, let a strategy choose, until every row is done.

The model is known only by the step protocol: `start(memory, beams, max_length) -> state` and
`step(token_ids, state, memory) -> (logits, state)`. Beams are query positions: a state's leaves are
`(batch, beams, ...)`, a memory's leaves `(batch, ...)`, and the memory is captured by the loop, not carried. All sizes
but the batch are static.
"""

from keras import ops, tree

BOS, EOS, PAD = 2, 3, 0
IMPOSSIBLE = -1e9  # the score of a slot that holds no hypothesis


def first_leaf(memory):
    return tree.flatten(memory)[0]


def gather_beams(structure, parents):
    """Every leaf `(batch, beams, ...)` reordered along its beams: `leaf[b, k] <- leaf[b, parents[b, k]]`."""

    def gather(leaf):
        batch, beams = ops.shape(leaf)[0], ops.shape(leaf)[1]
        rows = ops.arange(batch, dtype="int32")[:, None] * beams + parents
        flat = ops.reshape(leaf, (-1, *ops.shape(leaf)[2:]))
        return ops.reshape(
            ops.take(flat, ops.reshape(rows, (-1,)), axis=0),
            (batch, ops.shape(parents)[1], *ops.shape(leaf)[2:]),
        )

    return tree.map_structure(gather, structure)


def write(tokens, position, chosen):
    """`tokens[:, :, position] = chosen`: (batch, beams, time), scalar, (batch, beams)."""
    here = ops.arange(tokens.shape[-1], dtype="int32") == position
    return ops.where(here, chosen[:, :, None], tokens)


def decode(model, memory, strategy, beams, max_length):
    """Run `strategy` over `model` for at most `max_length` tokens and return what `strategy.finish` makes of it.

    A strategy has `begin(batch) -> hypotheses`, `done(hypotheses) -> (batch,) bool`,
    `advance(position, log_probs, hypotheses) -> (next tokens (batch, beams), hypotheses, parents or None)` and
    `finish(hypotheses)`. `log_probs` is float32 `(batch, beams, vocabulary)`.

    Raises:
        ValueError: `beams` or `max_length` is not a positive integer.
    """
    for name, value in (("beams", beams), ("max_length", max_length)):
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{name} must be a positive integer (sizes are static). Received: {value!r}.")
    batch = ops.shape(first_leaf(memory))[0]
    last = ops.full((batch, beams), BOS, dtype="int32")

    def going(position, last, state, hypotheses):
        return ops.logical_and(position < max_length, ops.logical_not(ops.all(strategy.done(hypotheses))))

    def body(position, last, state, hypotheses):
        logits, state = model.step(last, state, memory)
        log_probs = ops.log_softmax(ops.cast(logits, "float32"), axis=-1)
        last, hypotheses, parents = strategy.advance(position, log_probs, hypotheses)
        if parents is not None:
            state = gather_beams(state, parents)
        return position + 1, last, state, hypotheses

    loop = (
        ops.convert_to_tensor(0, dtype="int32"),
        last,
        model.start(memory, beams, max_length),
        strategy.begin(batch),
    )
    return strategy.finish(ops.while_loop(going, body, loop)[3])
