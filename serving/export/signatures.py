"""The function of each signature, for any model with the right `call` or with the step protocol.

With `growing`, caches grow in each step, which suits TensorFlow graphs and ONNX; XLA needs caches of a static size.
`driver` makes two for a search loop outside the graphs: `encode`, run once, and `step`, run per token.
"""

from keras import ops, tree

from serving.export.sizes import is_large
from zoo.core.searching import NOTHING, OURS
from zoo.core.signatures import Signature, TensorSpec
from zoo.decoding import beam_search, greedy
from zoo.decoding.loop import BOS, EOS, LEAVING, decode
from zoo.decoding.rules import RANKING, Rules
from zoo.decoding.sampling import Sample
from zoo.decoding.shortlist import Shortlisted, search

RESULTS = ("output_ids", "output_lengths", "scores")
SIZES = {"batch": 2, "time": 3, "beams": 2, "steps": 1}  # of an example run; others with larger sizes name its axes


def make_rules(defaults, prompts=False, fixed=NOTHING):
    """`(token_ids, lengths, given, ranks) -> Rules`: those that are given, which may all be off, or else the defaults.

    Without `ranks`, in greedy decoding and sampling, the rules that rank hypotheses are left out of these.

    Args:
        defaults: rules by name, numbers or values of one row.
        prompts: whether the ids are what the model goes on from, and not a source.
        fixed: the `Fixed` rules of the model, which hold in any case.
    """

    def rules(token_ids, lengths, values, ranks=False):
        before = (token_ids, lengths) if prompts else None
        own = {name: value for name, value in defaults.items() if ranks or name not in RANKING}
        return Rules(lengths, before, conditional=bool(values), fixed=fixed, **(values or own))

    return rules


NONE = make_rules({})


def _growing(model):
    """How caches grow: rows that are done leave the batch, but for large networks.

    That takes a loop inside a loop, and onnxruntime prepacks no weight for it that stands in a file beside the graph,
    as those of a large network do: one sentence alone would take far longer.
    """
    return True if is_large(model) else LEAVING


def generation(model, beams, max_length, alpha, growing=True, rules=NONE, ranking=OURS):
    """`(token_ids, lengths, **rules) -> {output_ids, output_lengths, scores}`; `beams = 1` is greedy decoding.

    `rules` is a function of `make_rules`, `ranking` a `zoo.core.searching.Ranking`.
    """
    growing = growing and _growing(model)

    def tokens(token_ids, lengths, **values):
        memory, own = model.encode(token_ids, lengths), rules(token_ids, lengths, values, beams > 1)
        if beams == 1:
            results = greedy(model, memory, max_length, growing, own)
        else:
            results = beam_search(model, memory, max_length, beams, alpha, growing, own, ranking)
        return dict(zip(RESULTS, results, strict=True))

    return tokens


def shortlist_search(model, shortlist, settings, beams, rules=NONE):
    """As `generation`, over the ids that a `serving.export.shortlist.Shortlist` allows for each source."""
    always = (*shortlist.always, *settings.fixed.forced_tokens)
    limited = Shortlisted(model, shortlist.table, always, _growing(model))

    def tokens(token_ids, lengths, **values):
        own = rules(token_ids, lengths, values, beams > 1)
        bounds = settings.max_length, beams, settings.alpha
        results = search(limited, token_ids, lengths, *bounds, own, settings.ranking)
        return dict(zip(RESULTS, results, strict=True))

    return tokens


def sampling(model, max_length, rules=NONE):
    """`(token_ids, lengths, uniforms, temperature, top_k, top_p, **rules) -> {output_ids, output_lengths, scores}`."""

    def sample(token_ids, lengths, uniforms, temperature, top_k, top_p, **values):
        memory, own = model.encode(token_ids, lengths), rules(token_ids, lengths, values)
        strategy = Sample(uniforms, temperature, top_k, top_p, own)
        results = decode(model, memory, strategy, strategy.width, max_length, _growing(model))
        return dict(zip(RESULTS, results, strict=True))

    return sample


def scoring(model):
    """`log p(target, EOS | source)`, summed over the target's `target_lengths + 1` positions."""

    def score(source_ids, source_lengths, target_ids, target_lengths):
        inputs = {"source_ids": source_ids, "source_lengths": source_lengths, "target_ids": _after_bos(target_ids)}
        inputs["target_lengths"] = target_lengths + 1
        column = ops.zeros_like(target_ids[:, :1])
        position = ops.arange(ops.shape(target_ids)[1] + 1, dtype="int32")[None, :]
        labels = ops.where(position < target_lengths[:, None], ops.concatenate([target_ids, column], axis=1), EOS)
        return {"log_probs": _log_probs(model(inputs, training=False), labels, target_lengths + 1)}

    return score


def text_scoring(model):
    """`log p(text | BOS)` of a language model, summed over `lengths` positions."""

    def score(token_ids, lengths):
        logits = model({"token_ids": _after_bos(token_ids), "lengths": lengths + 1}, training=False)
        return {"log_probs": _log_probs(logits[:, :-1], token_ids, lengths)}

    return score


def reading(model, output, finish):
    """`(**inputs) -> {output: finish(what the model gives)}`, of a model that reads texts and answers at once."""

    def read(**inputs):
        return {output: finish(model(inputs, training=False))}

    return read


def _after_bos(token_ids):
    """`(batch, time)` ids with BOS in front: `(batch, time + 1)`."""
    return ops.concatenate([ops.zeros_like(token_ids[:, :1]) + BOS, token_ids], axis=1)


def _log_probs(logits, labels, lengths):
    """`sum_t log softmax(logits_t)[labels_t]` over the first `lengths` positions."""
    picked = ops.take_along_axis(ops.log_softmax(logits, axis=-1), labels[:, :, None], axis=-1)[:, :, 0]
    inside = ops.arange(ops.shape(labels)[1], dtype="int32")[None, :] < lengths[:, None]
    return ops.sum(ops.where(inside, picked, 0.0), axis=1)


def find(signatures, name):
    """The signature called `name`.

    Raises:
        ValueError: there is none; the message lists the names.
    """
    for signature in signatures:
        if signature.name == name:
            return signature
    raise ValueError(f"No signature {name!r}: expected one of {[s.name for s in signatures]}.")


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
