"""Generation with a search loop outside the graphs: a graph `encode`, run once, and a graph `step`, run per token."""

from keras import ops, tree

from zoo.core.signatures import Signature, TensorSpec
from zoo.decoding.loop import BOS

SIZES = {"batch": 2, "time": 3, "beams": 2, "steps": 1}  # of an example run; others with larger sizes name its axes


def driver(model, remembers=True):
    """`{"encode": (signature, function), "step": (signature, function)}`.

    encode: `token_ids, lengths -> first_ids, memory.*, state.*`: the tokens of the first step and the state before it,
    for one beam.
    step: `token_ids (batch, beams), memory.*, state.* -> logits, next_state.*`.
    To search with more beams, repeat `first_ids` and every state along its axis "beams", and gather along this axis
    when beams change parents; tensors without this axis are shared by the beams. The axis "past" grows in every step.

    Args:
        model: a generating model.
        remembers: whether `step` of the model reads the memory; if not, there is no `memory.*`.
    """
    examples = {None: _example(model, SIZES)}
    examples |= {name: _example(model, {**SIZES, name: size + 1}) for name, size in SIZES.items()}
    structure, vocabulary = examples[None]
    specs = named_specs({name: flatten(example[0]) for name, example in examples.items()})
    states = [spec for spec in specs if spec.name.startswith("state.")]
    memory = [spec for spec in specs if spec.name.startswith("memory.") and remembers]
    (first,) = (spec for spec in specs if spec.name == "first_ids")

    def encode(token_ids, lengths):
        memory_ = model.encode(token_ids, lengths)
        first_ids, state = model.start(memory_, SIZES["beams"])
        leaves = flatten({"first_ids": first_ids, "memory": memory_, "state": state})
        return {
            spec.name: leaves[spec.name][:, :1] if "beams" in spec.shape else leaves[spec.name]
            for spec in (first, *memory, *states)
        }

    def step(token_ids, **leaves):
        def pack(kind):
            names = [name for name in flatten(structure) if name.startswith(f"{kind}.")]
            return tree.pack_sequence_as(structure[kind], [leaves[name] for name in names])

        logits, state = model.step(token_ids, pack("state"), pack("memory") if remembers else None)
        return {"logits": logits, **flatten({"next_state": state})}

    source = (TensorSpec("token_ids", "int32", ("batch", "time")), TensorSpec("lengths", "int32", ("batch",)))
    inputs = (TensorSpec("token_ids", "int32", ("batch", "beams")), *memory, *states)
    logits = TensorSpec("logits", "float32", ("batch", "beams", vocabulary))
    return {
        "encode": (Signature("encode", source, (first, *memory, *states)), encode),
        "step": (Signature("step", inputs, (logits, *map(_next_spec, states))), step),
    }


def _example(model, sizes):
    """`({"first_ids", "memory", "state"}, vocabulary size)` after `sizes["steps"]` steps."""
    token_ids = ops.full((sizes["batch"], sizes["time"]), BOS, dtype="int32")
    memory = model.encode(token_ids, ops.full((sizes["batch"],), sizes["time"], dtype="int32"))
    first_ids, state = model.start(memory, sizes["beams"])
    for _ in range(sizes["steps"]):
        logits, state = model.step(first_ids, state, memory)
    return {"first_ids": first_ids, "memory": memory, "state": state}, int(logits.shape[-1])


def flatten(structure):
    """`{"path.to.leaf": leaf}` in the order of `tree.flatten`."""
    return {".".join(map(str, path)): leaf for path, leaf in tree.flatten_with_path(structure)}


def named_specs(examples):
    """The specs of flat tensors. In `examples[name]`, only the size `name` differs from that in `examples[None]`.

    An axis whose length differs between the two gets this name; an axis that grows with the steps is called "past",
    even if it depends on another size as well.
    """
    base = examples.pop(None)

    def axis(name, index, size):
        follows = [which for which, other in examples.items() if other[name].shape[index] != size]
        if "steps" in follows:
            return "past"
        return follows[0] if follows else int(size)

    return [
        TensorSpec(
            name,
            str(getattr(leaf.dtype, "name", leaf.dtype)),
            tuple(axis(name, index, size) for index, size in enumerate(leaf.shape)),
        )
        for name, leaf in base.items()
    ]


def _next_spec(spec):
    """The spec of the output of `step` that replaces a state."""
    shape = tuple("next_past" if axis == "past" else axis for axis in spec.shape)
    return TensorSpec(f"next_{spec.name}", spec.dtype, shape)
