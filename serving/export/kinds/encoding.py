"""Models that give a text its vector."""

import numpy as np
import tensorflow as tf

from serving.export.kinds.base import ExportedFunction, Kind, remarks, row
from serving.export.kinds.grid import grid
from serving.export.signatures import vectors
from serving.runtime.reading import is_answered


class Embed(Kind):
    """A model that gives a text its vector; that of a blank text, or of one that is refused, is 0."""

    name = "embed"

    def make_functions(self):
        return [ExportedFunction(self.table(self.name), vectors(self.model), "model.onnx", int8=True)]

    def strings(self, tokenizers, text):
        token_ids, lengths, gated, answered = self.gated(tokenizers[0], text)
        found = self.functions[self.name].traced(token_ids, lengths)["vector"]
        vector = tf.where(answered[:, None], found, 0.0)
        return {"vector": vector, "errors": gated.errors, "warnings": gated.warnings}

    def answer(self, tokenizers, text):
        reading = self.read(tokenizers[0], text)
        vector = np.zeros(self.model.units, "float32")
        if is_answered(reading):
            vector = self.ask(self.name, **row(reading.ids))["vector"][0]
        return {"vector": vector, **remarks(reading)}

    def cases(self, vocabularies):
        return ((self.name, source) for source in grid(vocabularies[0], most=self.max_ids))
