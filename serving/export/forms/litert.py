"""LiteRT, formerly TensorFlow Lite: one file for phones and small devices, of a model that answers in one pass.

It takes token ids and their lengths, of any batch size and length, and answers as the other forms do. It cannot hold a
search, whose loop grows its caches, nor layers that LiteRT has no operators for, such as recurrent ones; both are told.
"""

import re
import tempfile
from pathlib import Path

from serving.export.forms.base import Form
from serving.runtime.artefact import SAVED_MODEL
from serving.runtime.errors import ConversionError
from serving.runtime.lazy import later

interpreter = later("ai_edge_litert.interpreter")
saved_model_pb2 = later("tensorflow.core.protobuf.saved_model_pb2")
tf = later("tensorflow")

FILE = "model.tflite"


class LiteRT(Form):
    """The kind's saved functions as signatures of one file. The manifest names it in `forms.litert`, by signature."""

    name, title = "litert", "LiteRT"
    about = "a file for phones and small devices, of a model that needs no search (model.tflite)"
    extra, needs, packages = "litert", ("ai_edge_litert",), ("ai-edge-litert",)
    searches = False

    def __init__(self, directory, manifest):
        super().__init__(directory, manifest)
        self._interpreter = interpreter.Interpreter(str(directory / FILE))
        self._runners = {}
        for name in manifest["forms"][self.name]:
            self._runners[name] = self._interpreter.get_signature_runner(name)

    @classmethod
    def write(cls, kind, tokenizers, directory, log):
        log(f"writing {FILE}")
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
                f"TensorFlow is none of its operators, at least not for any batch and length. Leave --form {cls.name} "
                "out."
            ) from error
        (directory / FILE).write_bytes(content)

    @staticmethod
    def files(names):
        return [FILE] if FILE in names else []

    def signatures(self):
        return {
            name: {
                "inputs": [_declared(*each) for each in runner.get_input_details().items()],
                "outputs": [_declared(*each) for each in runner.get_output_details().items()],
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
        return dict.fromkeys(_functions(kind), FILE)

    @classmethod
    def holds(cls, signature, manifest):
        return signature in manifest.get("forms", {}).get(cls.name, {})


def _functions(kind):
    return {name: function for name, function in kind.functions.items() if function.saved}


def _declared(name, details):
    return name, details["dtype"].__name__


def expand_axes(path):
    """Let the functions of a SavedModel make new axes by ExpandDims, in its file `saved_model.pb`.

    TensorFlow makes the new axes of `x[:, None]` by a StridedSlice, of which the converter has no form where two axes
    of `x` have no fixed length.
    """
    proto = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    for function in proto.meta_graphs[0].graph_def.library.function:
        nodes = {node.name: node for node in function.node_def}
        found = [node for node in function.node_def if node.op == "StridedSlice"]
        for node, axes in [(node, new_axes(node, nodes, tf.make_ndarray)) for node in found]:
            source, dtype = node.input[0], node.attr["T"].type
            for place, axis in enumerate(axes):
                last = place == len(axes) - 1
                made = function.node_def.add(name=f"{node.name}_axis_{place}", op="Const")
                made.attr["dtype"].type = tf.int32.as_datatype_enum
                made.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(axis, tf.int32))
                step = node if last else function.node_def.add(name=f"{node.name}_step_{place}")
                step.op, step.input[:] = "ExpandDims", [source, f"{made.name}:output:0"]
                step.attr.clear()
                step.attr["T"].type, step.attr["Tdim"].type = dtype, tf.int32.as_datatype_enum
                source = f"{step.name}:output:0"
    path.write_bytes(proto.SerializeToString())


def new_axes(node, nodes, array):
    """The axes that a StridedSlice makes, in order; none of one that does anything else.

    Args:
        node: the operation.
        nodes: those of its function, by name.
        array: TensorFlow's function from a tensor of a graph to an array.
    """
    begin, _, strides = (nodes.get(name.partition(":")[0]) for name in node.input[1:])
    if begin is None or strides is None or {begin.op, strides.op} != {"Const"}:
        return []
    masks = dict.fromkeys(("begin", "end", "new_axis", "ellipsis", "shrink_axis"), 0)  # zeros are not stored
    masks |= {name: node.attr[f"{name}_mask"].i for name in masks if f"{name}_mask" in node.attr}
    steps = array(strides.attr["value"].tensor)
    whole = masks["new_axis"] | masks["begin"] & masks["end"]
    if masks["ellipsis"] or masks["shrink_axis"] or whole != 2 ** len(steps) - 1 or (steps != 1).any():
        return []
    return [axis for axis in range(len(steps)) if masks["new_axis"] >> axis & 1]


FORM = LiteRT
