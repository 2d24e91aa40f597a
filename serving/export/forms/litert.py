"""LiteRT, formerly TensorFlow Lite: one file for phones and small devices, of a model that answers in one pass.

It takes token ids and their lengths, of any batch size and length, and answers as the other forms do. It cannot hold a
search, whose loop grows its caches, nor layers that LiteRT has no operators for, such as recurrent ones; both are told.
"""

import re
import tempfile
from pathlib import Path

from serving.export.forms.base import Form
from serving.lazy import later
from serving.runtime.artefact import SAVED_MODEL
from serving.runtime.errors import ConversionError

interpreter = later("ai_edge_litert.interpreter")
saved_model_pb2 = later("tensorflow.core.protobuf.saved_model_pb2")
tf = later("tensorflow")

MASKS = ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")  # of a StridedSlice
INT32 = 3  # of types.proto


class LiteRT(Form):
    """The kind's saved functions as signatures of one file. The manifest names it in `forms.litert`, by signature."""

    name, title, file = "litert", "LiteRT", "model.tflite"
    about = "a file for phones and small devices, of a model that needs no search (model.tflite)"
    extra, needs, packages = "litert", ("ai_edge_litert",), ("ai-edge-litert",)
    searches = False

    def __init__(self, directory, manifest):
        super().__init__(directory, manifest)
        self._interpreter = interpreter.Interpreter(str(directory / self.file))
        self._runners = {}
        for name in manifest["forms"][self.name]:
            self._runners[name] = self._interpreter.get_signature_runner(name)

    @classmethod
    def write(cls, kind, tokenizers, directory, log):
        log(f"writing {cls.file}")
        module = tf.Module()
        module.model_variables = [variable.value for variable in kind.model.variables]
        module.functions = {name: function.traced for name, function in _functions(kind).items()}
        try:
            with tempfile.TemporaryDirectory() as work:
                tf.saved_model.save(module, work, signatures=dict(module.functions))
                expand_axes(Path(work, SAVED_MODEL))
                content = tf.lite.TFLiteConverter.from_saved_model(work).convert()
        except Exception as error:  # the converter's own class, which TensorFlow does not name
            operators = sorted(set(re.findall(r"'tf\.(\w+)'", str(error))))
            raise ConversionError(
                f"{type(kind.model).__name__} has no {cls.title} form: {', '.join(operators) or str(error)[:500]} of "
                "TensorFlow is none of its operators, at least not for any batch and length. Recurrent layers and "
                'hashed attention have none; a model of kind "transformer" with other attention has. Leave --form '
                f"{cls.name} out."
            ) from error
        (directory / cls.file).write_bytes(content)

    def signatures(self):
        return {
            name: {
                "inputs": [_declare(*each) for each in runner.get_input_details().items()],
                "outputs": [_declare(*each) for each in runner.get_output_details().items()],
            }
            for name, runner in self._runners.items()
        }

    @staticmethod
    def declare(spec):
        """Its axes have no names."""
        return spec["name"], spec["dtype"]

    def answer(self, name, inputs):
        runner = self._runners[name]
        return runner(**{key: inputs[key] for key in runner.get_input_details()})

    @classmethod
    def signature_files(cls, kind):
        return dict.fromkeys(_functions(kind), cls.file)

    @classmethod
    def holds(cls, signature, manifest):
        return signature in manifest.get("forms", {}).get(cls.name, {})


def _functions(kind):
    return {name: function for name, function in kind.functions.items() if function.saved}


def _declare(name, details):
    return name, details["dtype"].__name__


def expand_axes(path):
    """Let the functions of a SavedModel make new axes by ExpandDims, in its file `saved_model.pb`.

    TensorFlow makes the new axes of `x[:, None]` by a StridedSlice, of which the converter has no form where two axes
    of `x` have no fixed length.
    """
    proto = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    for function in proto.meta_graphs[0].graph_def.library.function:
        nodes = {node.name: node for node in function.node_def}
        for node in [each for each in nodes.values() if each.op == "StridedSlice" and "new_axis_mask" in each.attr]:
            constants = [nodes.get(name.partition(":")[0]) for name in node.input[1:]]
            if all(each is not None and each.op == "Const" for each in constants):
                _separate(node, [tf.make_ndarray(each.attr["value"].tensor) for each in constants], function.node_def)
    path.write_bytes(proto.SerializeToString())


def _separate(node, bounds, nodes):
    """Make of a StridedSlice one without new axes, if it does anything else, and an ExpandDims for each new axis.

    Args:
        node: the operation, which becomes the last of these.
        bounds: arrays of where its slices begin and end, and of their strides.
        nodes: those of its function, to which the others are added.
    """
    masks = {name: node.attr[name].i if name in node.attr else 0 for name in MASKS}  # zeros are not stored
    places = range(len(bounds[0]))
    begins, ends, dots, new, shrinks = ([mask >> place & 1 for place in places] for mask in masks.values())
    new = [place for place in places if new[place] and not dots[place]]
    rest = [place for place in places if place not in new]
    remaining = [place for place in places if place in new or not shrinks[place]]  # in the result
    behind = dots.index(1) if 1 in dots else len(dots)
    axes = [remaining.index(place) for place in new if place < behind]
    axes += [
        remaining.index(place) - len(remaining) for place in reversed(new) if place > behind
    ]  # counted from the end
    source, dtype, index = node.input[0], node.attr["T"].type, node.attr["Index"].type

    def constant(name, value, kind):
        new_node = nodes.add(name=f"{node.name}_{name}", op="Const")
        new_node.attr["dtype"].type = kind
        new_node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value, tf.as_dtype(kind)))
        return f"{new_node.name}:output:0"

    def is_whole(place):
        return dots[place] or begins[place] and ends[place] and bounds[2][place] == 1

    if not all(map(is_whole, rest)):
        inputs = [constant(f"bound_{number}", each[rest], index) for number, each in enumerate(bounds)]
        new_node = nodes.add(name=f"{node.name}_rest", op="StridedSlice", input=[source, *inputs])
        new_node.attr["T"].type, new_node.attr["Index"].type = dtype, index
        for name, mask in masks.items():
            new_node.attr[name].i = sum((mask >> old & 1) << place for place, old in enumerate(rest))
        new_node.attr["new_axis_mask"].i = 0
        source = f"{new_node.name}:output:0"
    for number, axis in enumerate(axes):
        step = node if number == len(axes) - 1 else nodes.add(name=f"{node.name}_step_{number}")
        step.op, step.input[:] = "ExpandDims", [source, constant(f"axis_{number}", axis, INT32)]
        step.attr.clear()
        step.attr["T"].type, step.attr["Tdim"].type = dtype, INT32
        source = f"{step.name}:output:0"


FORM = LiteRT
