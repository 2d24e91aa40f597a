"""Rules of a search as inputs of a graph that need not be given."""

from onnx import helper

from serving.export.onnx.convert import DTYPES as ONNX_TYPES
from serving.kinds.rules import INPUTS, RULES, names
from zoo.core.signatures import TensorSpec
from zoo.decoding.rules import DTYPES, OFF

AXES = {"forced_tokens": ("places",), "bad_words": ("words", "pieces")}


def rule_inputs(defaults, prompts, ranks=False):
    """The `TensorSpec` of every rule that a model takes, each with the value that holds where none is given.

    A rule has one row, or as many as there are ids. Axes have names of their own: ONNX Runtime takes those of one name
    for equal.

    Args:
        defaults: rules by name, of a search for which nobody gives any.
        prompts: whether the model continues prompts.
        ranks: whether it is a beam search, which takes the rules that rank hypotheses if `defaults` have them, and
            `n_best`, the number of hypotheses that are wanted.
    """
    specs = []
    chosen = [name for name in names(prompts) if not RULES[name].ranks or ranks and name in defaults]
    for name in (INPUTS.get(name, name) for name in chosen):
        axes, default = AXES.get(name, ()), [defaults.get(name, OFF[name])]
        for _ in axes:
            default = [default]
        specs.append(TensorSpec(name, DTYPES[name], (f"{name}_rows", *axes), default))
    if ranks:
        specs.append(TensorSpec("n_best", DTYPES["n_best"], ("n_best_rows",), [OFF["n_best"]]))
    return tuple(specs)


def with_defaults(model, signature):
    """Give the inputs of an ONNX `ModelProto` that have a default this value, in place: an initializer of one row."""
    for spec in signature.inputs:
        if spec.default is not None:
            shape, values = [], spec.default
            while isinstance(values, list):
                shape, values = [*shape, len(values)], values[0]
            model.graph.initializer.append(helper.make_tensor(spec.name, ONNX_TYPES[spec.dtype], shape, [values]))
    return model
