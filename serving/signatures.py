"""The functions behind the names: what each signature of a generating model computes, and what the two halves of a
driver (`encode`, `step`) look like as flat tables of tensors.

The model is known by its call, its step protocol and its `signatures()`.
"""

from keras import ops, tree

from zoo.decoding import beam_search, greedy
from zoo.decoding.loop import BOS, EOS
from zoo.specs import Signature, TensorSpec

FOUND = ("output_ids", "output_lengths", "scores")


def generation(model, beams, max_length, alpha):
    """`(token_ids, lengths) -> {output_ids, output_lengths, scores}`; `beams = 1` is greedy decoding."""

    def tokens(token_ids, lengths):
        memory = model.encode(token_ids, lengths)
        if beams == 1:
            return dict(zip(FOUND, greedy(model, memory, max_length), strict=True))
        return dict(zip(FOUND, beam_search(model, memory, max_length, beams, alpha), strict=True))

    return tokens


def scoring(model):
    """`log p(target, EOS | source)`, summed over the target's `target_lengths + 1` positions."""

    def score(source_ids, source_lengths, target_ids, target_lengths):
        column = ops.zeros_like(target_ids[:, :1])
        inputs = {
            "source_ids": source_ids,
            "source_lengths": source_lengths,
            "target_ids": ops.concatenate([column + BOS, target_ids], axis=1),
        }
        log_probs = ops.log_softmax(model(inputs, training=False), axis=-1)
        position = ops.arange(ops.shape(target_ids)[1] + 1, dtype="int32")[None, :]
        ends = target_lengths[:, None]
        labels = ops.where(position < ends, ops.concatenate([target_ids, column], axis=1), EOS)
        picked = ops.take_along_axis(log_probs, labels[:, :, None], axis=-1)[:, :, 0]
        return {"log_probs": ops.sum(ops.where(position <= ends, picked, 0.0), axis=1)}

    return score


def flat(prefix, structure):
    """`{"prefix.path.to.leaf": leaf}` in the order in which `tree.flatten` visits the leaves."""
    if isinstance(structure, dict):
        items = sorted(structure.items())
    elif isinstance(structure, (list, tuple)):
        items = enumerate(structure)
    else:
        return {prefix: structure}
    return {name: leaf for key, value in items for name, leaf in flat(f"{prefix}.{key}", value).items()}


def named_specs(leaves, longer, axes):
    """Specs of flat tensors: `axes` are the leading axes' names; an axis that differs in `longer` is "time"."""
    specs = []
    for name, leaf in leaves.items():
        sizes = zip(leaf.shape, longer[name].shape, strict=True)
        inner = ["time" if size != other else int(size) for size, other in list(sizes)[len(axes) :]]
        dtype = str(getattr(leaf.dtype, "name", leaf.dtype))
        specs.append(TensorSpec(name, dtype, (*axes, *inner)))
    return tuple(specs)


def driver(model, max_length):
    """`{"encode": (signature, function), "step": (signature, function)}`: generation for a driver outside the graph.

    encode: `token_ids, lengths -> memory.*, state.*` (the state of one beam before the first token).
    step: `token_ids (batch, beams), memory.*, state.* -> logits, next_state.*`.
    To search with more beams, repeat the state's second axis.
    """

    def encode(token_ids, lengths):
        memory = model.encode(token_ids, lengths)
        return {**flat("memory", memory), **flat("state", model.start(memory, 1, max_length))}

    def example(time):
        return encode(ops.ones((1, time), dtype="int32"), ops.full((1,), time, dtype="int32"))

    short, long = example(3), example(5)
    parts = {
        kind: {name: leaf for name, leaf in short.items() if name.startswith(f"{kind}.")}
        for kind in ("memory", "state")
    }
    memory = named_specs(parts["memory"], long, ("batch",))
    state = named_specs(parts["state"], long, ("batch", "beams"))
    structure = model.encode(ops.ones((1, 3), dtype="int32"), ops.full((1,), 3, dtype="int32"))
    structures = {"memory": structure, "state": model.start(structure, 1, max_length)}

    def step(token_ids, **leaves):
        whole = {
            kind: tree.pack_sequence_as(structures[kind], [leaves[name] for name in parts[kind]]) for kind in structures
        }
        logits, state = model.step(token_ids, whole["state"], whole["memory"])
        return {"logits": logits, **flat("next_state", state)}

    vocabulary = int(model.step(ops.full((1, 1), BOS, dtype="int32"), *reversed(structures.values()))[0].shape[-1])
    source = (
        TensorSpec("token_ids", "int32", ("batch", "time")),
        TensorSpec("lengths", "int32", ("batch",)),
    )
    following = tuple(TensorSpec(f"next_{spec.name}", spec.dtype, spec.shape) for spec in state)
    return {
        "encode": (Signature("encode", source, (*memory, *state)), encode),
        "step": (
            Signature(
                "step",
                (TensorSpec("token_ids", "int32", ("batch", "beams")), *memory, *state),
                (TensorSpec("logits", "float32", ("batch", "beams", vocabulary)), *following),
            ),
            step,
        ),
    }


def find(signatures, name):
    """The signature called `name`.

    Raises:
        ValueError: there is none; the message lists the names.
    """
    for signature in signatures:
        if signature.name == name:
            return signature
    raise ValueError(f"No signature {name!r}: expected one of {[s.name for s in signatures]}.")
