"""The texts that give the ranges of int8, and the runs of float32 graphs with them (`serving.export.onnx.ranges`)."""

import numpy as np

from serving.export.onnx.graphs import required_inputs
from serving.export.onnx.ranges import keys_of, observe
from serving.export.onnx.weights import INSIDE
from serving.export.sizes import TEXTS, TOKENS

MOST = 200  # texts that are run


class Calibration:
    """The ranges of the products of a model, which all of its graphs share.

    They are those of the settings, such as of an artefact that is made again, unless the settings name texts for them.
    What has no range is observed with these texts, or else with the examples of the settings and the random ids of the
    parity check. The arguments are those of `serving.export.forms.base.Form.write`.
    """

    def __init__(self, kind, tokenizers, log):
        self.kind, self.tokenizers, self.log = kind, tokenizers, log
        settings = kind.settings
        self.ranges, self.stored = {}, {} if settings.calibration else settings.ranges

    def complete(self, name, graph, weights=INSIDE):
        """Add what the graph, a float32 `ModelProto` of the exported function `name`, has and `ranges` do not.

        Its arrays are in `weights`.
        """
        keys = keys_of(graph, weights)
        self.ranges |= {key: self.stored[key] for key in sorted(keys & self.stored.keys())}
        missing = keys - self.ranges.keys()
        feeds = self._feeds(name) if missing else []
        if feeds and set(required_inputs(graph.graph)) <= feeds[0].keys():
            kind = "validation texts" if self.kind.settings.calibration else "example texts and random ids"
            self.log(f"finding the ranges of int8 with {len(feeds)} {kind}")
            self.ranges = observe(graph, feeds, weights) | self.ranges

    def _feeds(self, name):
        """Inputs of the exported function."""
        settings = self.kind.settings
        texts = (settings.calibration or settings.texts)[: TEXTS if self.kind.large else MOST]
        feeds = [feed for feed in (self.kind.graph_inputs(self.tokenizers, text) for text in texts) if feed]
        if not settings.calibration or not feeds:
            cases = self.kind.cases([tokenizer.vocab_size for tokenizer in self.tokenizers])
            feeds += [inputs for case, inputs in cases if case == name]
        short = {"max_length": np.array([TOKENS], "int32")} if self.kind.large else {}
        return [feed | short for feed in feeds]
