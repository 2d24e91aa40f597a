"""One signature on its way out, and what every kind of model says about itself."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import tensorflow as tf

from serving.signatures import find
from zoo.specs import Signature


@dataclass(frozen=True)
class ExportedFunction:
    """A signature, what computes it, and where it goes.

    Args:
        signature: names, dtypes and shapes, with the sizes it leaves with.
        function: of tensors by name, returns a dict by output name.
        graph: file name of its ONNX form, or None.
        saved: whether it is in the SavedModel.
        int8: whether its ONNX form is quantised, too.
        xla: whether it is compiled.
    """

    signature: Signature
    function: Callable
    graph: str | None = None
    saved: bool = True
    int8: bool = False
    xla: bool = False

    @property
    def name(self):
        return self.signature.name

    @cached_property
    def traced(self):
        """The function as one graph for all shapes: what the SavedModel holds and what parity asks."""
        specs = [tf.TensorSpec(spec.static_shape, spec.dtype, spec.name) for spec in self.signature.inputs]
        function = tf.function(self.function, input_signature=specs, autograph=False, jit_compile=self.xla or None)
        return function.get_concrete_function()


class Kind:
    """What `export`, `saved_model`, `parity` and the manifest ask of a model.

    Args:
        model: of the zoo.
        settings: `serving.export.Settings`.
    """

    name = ""
    sides = ("source",)  # of the tokenizers, the second only where a second language is written

    def __init__(self, model, settings):
        self.model, self.settings = model, settings
        self.tables = model.signatures()
        self.functions = {function.name: function for function in self.make_functions()}

    def table(self, name):
        return find(self.tables, name)

    def make_functions(self):
        """An `ExportedFunction` for every signature but the one of strings."""
        raise NotImplementedError

    def strings(self, tokenizers, text):
        """`serving_default` in TensorFlow operations: a `GraphTokenizer` a side, `(batch,)` strings -> dict."""
        raise NotImplementedError

    def asked(self, texts):
        """The inputs of `serving_default` for a list of texts: arrays of strings by name."""
        return {"text": np.array(texts, dtype=str)}

    def answer(self, tokenizers, text):
        """The same of one text in Python: a `Tokenizer` a side, a string -> dict of arrays without a batch axis."""
        raise NotImplementedError

    def cases(self, vocabularies):
        """`(function name, inputs)` of the parity check; "drive" steps through `target_ids`, see `expected_logits`."""
        raise NotImplementedError

    def vocabulary(self):
        """The number of token ids that the model knows on each of its sides."""
        config = self.model.get_config()
        alone = config.get("vocab_size")
        return {side: int(alone or config[f"{side}_vocab_size"]) for side in self.sides}

    def facts(self):
        """What the manifest says of this kind alone."""
        return {}

    def ask(self, name, **inputs):
        """What the exported function `name` answers, as arrays."""
        tensors = {key: tf.constant(value) for key, value in inputs.items()}
        return {key: value.numpy() for key, value in self.functions[name].traced(**tensors).items()}

    def signatures(self):
        """The signatures of the exported functions."""
        return [function.signature for function in self.functions.values()]
