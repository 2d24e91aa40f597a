"""A graph with the tokenizers inside: texts in, texts out, as `serving_default` of the SavedModel has it.

SentencePiece is an operator of onnxruntime-extensions. All else is ONNX around a finished graph of token ids, with the
rules of `serving.export.gate` and `serving.export.gate` and the sentences of the runtime. A text with a NUL has an
error, because that operator would read it up to there.
"""

import copy

import numpy as np
import onnx
from onnx import TensorProto, helper

from serving.export.onnx.convert import declare
from serving.export.onnx.graphs import compact, replace_nodes, required_inputs
from serving.runtime import doubt
from serving.runtime.reading import SPACES
from zoo.text.base import PAD, UNK

DOMAIN = "ai.onnx.contrib"  # of the operators of onnxruntime-extensions
OPSET, IR = 20, 9  # the first with operators on strings, and the format of files that may have it
UNREADABLE = "not UTF-8, or with a NUL"


class Nodes:
    """Nodes and constants of a graph: `add("Add", one, 2)` adds a node and returns the name of its output.

    Args:
        prefix: of the names.
    """

    def __init__(self, prefix):
        self.prefix, self.nodes, self.constants = prefix, [], []

    def __call__(self, operator, *inputs, outputs=1, **attributes):
        """A node. An input that is no string is a constant: a list of strings, or of numbers, which are int64."""
        names = [f"{self.prefix}{len(self.nodes)}.{number}" for number in range(outputs)]
        inputs = [value if isinstance(value, str) else self._constant(value) for value in inputs]
        self.nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names[0] if outputs == 1 else names

    def _constant(self, value):
        value = np.asarray(value)
        value = value.astype(object) if value.dtype.kind == "U" else value
        self.constants.append(onnx.numpy_helper.from_array(value, f"{self.prefix}c{len(self.constants)}"))
        return self.constants[-1].name

    def say(self, sentence, *numbers):
        """A sentence of the runtime for each row, with tensors of whole numbers as its arguments."""
        parts = sentence(*(f"\0{number}\0" for number in range(len(numbers)))).split("\0")
        values = [
            self("Cast", numbers[int(part)], to=TensorProto.STRING) if place % 2 else [part]
            for place, part in enumerate(parts)
        ]
        joined, *more = values
        for each in more:
            joined = self("StringConcat", joined, each)
        return joined


def with_strings(model, kind, tokenizers):
    """The `ModelProto` of token ids `model`, the default one of `kind`, with texts as its inputs and its outputs.

    Args:
        model: of the signature "tokens" or "classify"; rules that it takes as further inputs have their defaults.
        kind: of `serving.export.kinds`.
        tokenizers: one for each of its sides.
    """
    model = copy.deepcopy(model)
    names = {value.name: f"found/{value.name}" for value in model.graph.output}
    for value in model.graph.output:
        model.graph.node.append(helper.make_node("Identity", [value.name], [names[value.name]]))
        value.name = names[value.name]
    model = compact(model)
    graph, table = model.graph, kind.table("serving_default")
    before, after = Nodes("text/"), Nodes("answer/")
    read = _write_reading(before, kind.bound, tokenizers[0], table.inputs[0].name)
    for name in required_inputs(graph):
        before.nodes.append(helper.make_node("Cast", [read[name]], [name], to=TensorProto.INT32))
    if "probabilities" in names:
        answers = _labels(after, kind.settings, names["probabilities"], read)
    else:
        answers = _write_answers(after, kind.settings, tokenizers[-1], names, read)
    for name, value in (answers | {"errors": read["errors"]}).items():
        after.nodes.append(helper.make_node("Identity", [value], [name]))
    replace_nodes(graph, [*before.nodes, *graph.node, *after.nodes])
    graph.initializer.extend([*before.constants, *after.constants])
    declare(graph, table)
    opsets = {opset.domain: opset.version for opset in model.opset_import} | {"": OPSET, DOMAIN: 1}
    del model.opset_import[:]
    model.opset_import.extend(helper.make_opsetid(*each) for each in opsets.items())
    model.ir_version = max(IR, model.ir_version)
    return model


def _write_reading(add, bound, tokenizer, text):
    """The names of `token_ids`, `lengths`, `errors`, `warnings` and `answered` of the input `text`, by name."""
    (first, last), around = tokenizer.around, tokenizer.around.size
    readable = add("RegexFullMatch", text, pattern="(?s)[^\\x00]*")
    text = add("Where", readable, text, [""])
    blank = add("RegexFullMatch", text, pattern=f"[{SPACES}]*")
    characters = add("StringLength", text, domain=DOMAIN)
    long = add("And", add("Greater", characters, bound.max_characters), add("Not", blank))
    options = [[0], np.zeros(1, "float32"), [False], [False], [False]]  # the best pieces, and nothing around them
    text = add("Where", long, [""], text)
    model = {"domain": DOMAIN, "model": tokenizer.model_bytes}
    pieces, splits = add("SentencepieceTokenizer", text, *options, outputs=2, **model)
    starts = add("Slice", splits, [0], [-1])
    counts = add("Sub", add("Slice", splits, [1], [np.iinfo("int64").max]), starts)
    lengths = add("Add", counts, around)
    over = add("Greater", lengths, bound.max_input)
    counts = add("Where", over, 0, counts)
    # Behind all pieces stand those around every text and PAD; each place of each row takes one of these.
    everything = add("Concat", add("Cast", pieces, to=TensorProto.INT64), [*first, *last, PAD], axis=0)
    end = add("Size", pieces)
    counts_read = add("Add", counts, around)
    place = add("Sub", add("Range", 0, add("ReduceMax", counts_read, keepdims=0), 1), len(first))
    behind = add("Sub", place, add("Unsqueeze", counts, [1]))
    inside = add("Add", add("Unsqueeze", starts, [1]), place)
    outside = add("Add", end, add("Add", add("Min", behind, len(last)), len(first)))
    places = add("Where", add("Less", behind, 0), inside, outside)
    places = add("Where", add("Less", place, 0), add("Add", end, add("Add", place, len(first))), places)
    ids = add("Gather", everything, places)
    too_many = lambda unit: lambda count: bound.overlong_error(count, unit)  # noqa: E731
    errors = add("Where", over, add.say(too_many("tokens"), lengths), [""])
    errors = add("Where", long, add.say(too_many("characters"), characters), errors)
    unknown = add("ReduceSum", add("Cast", add("Equal", ids, UNK), to=TensorProto.INT64), [1], keepdims=0)
    return {
        "token_ids": ids,
        "lengths": counts_read,
        "errors": add("Where", readable, errors, [UNREADABLE]),
        "unknown": (add("Greater", unknown, 0), add.say(doubt.unknown_warning, unknown, counts)),
        "answered": add("And", add("Greater", counts, 0), add("Not", blank)),
    }


def _write_answers(add, settings, tokenizer, names, read):
    """The best answer of each row, its score and the warnings, by name; `names` are those of what the search found."""
    best = [add("Gather", names[name], 0, axis=1) for name in ("output_ids", "output_lengths", "scores")]
    ids, lengths = (add("Cast", value, to=TensorProto.INT64) for value in best[:2])
    size, most = _circle(add, ids, lengths), _longest(add, settings, read["lengths"])
    rows = add("Loop", add("Size", lengths), "", body=_decoding(add, tokenizer, ids, lengths))
    has_warning, warnings = read["unknown"]
    warnings = add("Where", has_warning, warnings, [""])
    for doubtful, sentence, number in (
        (add("Greater", size, 0), doubt.circle_warning, size),
        (add("GreaterOrEqual", lengths, most), doubt.bound_warning, most),
    ):
        doubtful = add("And", read["answered"], doubtful)
        separator = add("Where", add("And", has_warning, doubtful), [doubt.SEPARATOR], [""])
        warning = add("Where", doubtful, add.say(sentence, number), [""])
        warnings = add("StringConcat", add("StringConcat", warnings, separator), warning)
        has_warning = add("Or", has_warning, doubtful)
    return {
        "output_text": add("Where", read["answered"], add("Reshape", rows, [-1]), [""]),
        "scores": add("Where", read["answered"], best[2], np.float32(0)),
        "warnings": warnings,
    }


def _decoding(add, tokenizer, ids, lengths):
    """The body of a loop over rows: the text of each."""
    row, more, text = (f"{add.prefix}{name}" for name in ("row", "more", "text"))
    body = Nodes(f"{add.prefix}row.")
    size = body("Unsqueeze", body("Gather", lengths, row), [0])
    pieces = body("Slice", body("Gather", ids, row), [0], size)
    body.nodes.append(
        helper.make_node("SentencepieceDecoder", [pieces], [text], domain=DOMAIN, model=tokenizer.model_bytes)
    )
    body.nodes.append(helper.make_node("Identity", [more], [f"{more}.next"]))
    add.constants.extend(body.constants)
    value = helper.make_tensor_value_info
    inputs = [value(row, TensorProto.INT64, []), value(more, TensorProto.BOOL, [])]
    outputs = [value(f"{more}.next", TensorProto.BOOL, []), value(text, TensorProto.STRING, [1])]
    return helper.make_graph(body.nodes, "decoding", inputs, outputs)


def _longest(add, settings, lengths):
    """`serving.kinds.rules.length_bound` of each row."""
    rules, most = settings.rules, settings.max_length
    bound = add("Add", add("Mul", lengths, 0), int(rules.get("max_length") or most))
    if rules.get("length_ratio"):
        ratio, extra = (np.float32(rules.get(name, 0)) for name in ("length_ratio", "length_extra"))
        follows = add("Add", add("Mul", add("Cast", lengths, to=TensorProto.FLOAT), ratio), extra)
        bound = add("Min", bound, add("Cast", add("Floor", follows), to=TensorProto.INT64))
    return add("Min", most, add("Max", bound, max(1, int(rules.get("min_length", 0)))))


def _circle(add, ids, lengths):
    """`serving.runtime.doubt.circle_size` of each row, and 0 for None, as `serving.export.gate` finds it."""
    time = add("Squeeze", add("Shape", ids, start=1))
    sizes = add("Unsqueeze", add("Range", 1, add("Add", add("Div", time, doubt.TIMES), 2), 1), [1])
    places = add("Unsqueeze", add("Range", 0, time, 1), [0])
    needed = add("Sub", add("Max", add("Mul", sizes, doubt.TIMES), doubt.LEAST), sizes)
    earlier = add("Sub", places, sizes)
    same = add("Equal", add("Unsqueeze", ids, [1]), add("Gather", ids, add("Max", earlier, 0), axis=1))
    inside = add("Less", places, add("Unsqueeze", lengths, [1, 2]))
    same = add("And", add("And", same, add("GreaterOrEqual", earlier, 0)), inside)
    before = add("CumSum", add("Cast", same, to=TensorProto.INT64), 2)
    before = add("Pad", before, [0, 0, 1, 0, 0, 0])
    begins = add("Max", add("Sub", add("Add", places, 1), needed), 0)
    ends = add("Slice", before, [1], [np.iinfo("int64").max], [2])
    runs = add("Sub", ends, add("GatherElements", before, add("Expand", begins, add("Shape", same)), axis=2))
    circling = add("ReduceMax", add("Cast", add("Equal", runs, needed), to=TensorProto.INT64), [2], keepdims=0)
    never = np.iinfo("int64").max
    smallest = add("Where", add("Equal", circling, 1), add("Reshape", sizes, [1, -1]), never)
    smallest = add("ReduceMin", smallest, [1], keepdims=0)
    return add("Where", add("Equal", smallest, never), 0, smallest)


def _labels(add, settings, probabilities, read):
    """The label of each row, the probabilities of all and the warnings, by name."""
    best = add("Gather", list(settings.labels), add("ArgMax", probabilities, axis=1, keepdims=0))
    if settings.scope:
        highest = add("ReduceMax", probabilities, [1], keepdims=0)
        unlikely = add("Less", highest, np.float32(settings.scope["threshold"]))
        best = add("Where", unlikely, [settings.scope["label"]], best)
    answered = add("Unsqueeze", read["answered"], [1])
    return {
        "label": add("Where", read["answered"], best, [""]),
        "probabilities": add("Where", answered, probabilities, np.float32(0)),
        "warnings": add("Where", *read["unknown"], [""]),
    }
