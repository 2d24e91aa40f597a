"""One signature on its way out, and what every kind of model says about itself."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import tensorflow as tf

from serving import gate
from serving.reading import DEFAULT, Bound
from serving.signatures import find
from zoo.models.signatures import batched
from zoo.specs import Signature
from zoo.text.special import EOS

REMARKS = batched("errors", "string"), batched("warnings", "string")  # of every answer to strings


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
    side, overlong = "first", "refuse"  # which part of a long text is read, and whether any is unless it is asked for

    def __init__(self, model, settings):
        self.model, self.settings = model, settings
        self.tables = [with_remarks(table) for table in model.signatures()]
        self.bound = self.make_bound()
        self.functions = {function.name: function for function in self.make_functions()}

    def table(self, name):
        return find(self.tables, name)

    def make_bound(self):
        """The `Bound` of a text.

        Raises:
            ValueError: the settings ask for more tokens than the model has positions for.
        """
        longest, asked = self.longest_input(), self.settings.max_input
        if longest and asked and asked > longest:
            raise ValueError(
                f"max_input={asked} is more than this {type(self.model).__name__} reads: it has positions for "
                f"{longest} tokens of a text. Ask for fewer, leave it out, or train a model with more positions."
            )
        return Bound(asked or longest or DEFAULT, self.settings.overlong or self.overlong, self.side)

    def longest_input(self):
        """The most tokens of a text that the model has positions for, or None."""
        layers, names = self.model._flatten_layers(), ("max_positions", "max_time")
        bounds = (getattr(layer, name, None) for layer in layers for name in names)
        return min((bound for bound in bounds if bound), default=None)

    @property
    def max_ids(self):
        """The most columns of a matrix of token ids that the SavedModel takes."""
        return self.bound.max_input

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

    def read(self, tokenizer, text, ends=1):
        """The `Reading` of one text in Python."""
        (reading,) = self.bound.read([text], tokenizer.encode, [EOS] * ends)
        return reading

    def gated(self, tokenizer, text):
        """The same of `(batch,)` texts in TensorFlow: token ids, lengths, `Gated` and what is to be answered."""
        clipped = gate.clip(self.bound, text)
        token_ids, lengths, gated = gate.limit(self.bound, clipped, *tokenizer.encode(clipped.text))
        return token_ids, lengths, gated, (lengths > 1) & ~gate.is_blank(gated.text)

    def extremes(self):
        """Texts for the parity check that are blank or longer than the bound."""
        bound = self.bound
        return ["", " \u3000\u2028 ", "a " * bound.max_input, "a" * (bound.max_characters + 1)]

    def facts(self):
        """What the manifest says of this kind alone."""
        return {"max_input": self.bound.max_input, "overlong": self.bound.overlong}

    def ask(self, name, **inputs):
        """What the exported function `name` answers, as arrays."""
        tensors = {key: tf.constant(value) for key, value in inputs.items()}
        return {key: value.numpy() for key, value in self.functions[name].traced(**tensors).items()}

    def signatures(self):
        """The signatures of the exported functions."""
        return [function.signature for function in self.functions.values()]


def with_remarks(table):
    """`serving_default` with the outputs that say which texts were refused or cut, and why."""
    if table.name != "serving_default":
        return table
    return replace(table, outputs=(*table.outputs, *REMARKS))


def remarks(reading):
    """The outputs `errors` and `warnings` of one `Reading`."""
    return {"errors": np.array(reading.error or ""), "warnings": np.array(reading.warning or "")}
