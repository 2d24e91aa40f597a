"""What a fake server answers: the outputs of a `Runtime` as columns, and the faults that it is told to have."""

import threading

from serving.runtime import Sampling

INPUTS = {"compare": ("first_text", "second_text")}
OUTPUTS = {
    "tag": ("tags", "scores", "starts", "ends", "word_counts"),
    "classify": ("label", "scores", "probabilities"),
    "compare": ("label", "scores", "probabilities"),
    "embed": ("vector",),
    "rate": ("rating", "rated"),
}
TYPES = {str: ("BYTES", "bytes_contents"), float: ("FP32", "fp32_contents"), int: ("INT32", "int_contents")}


class Fake:
    """Models by name, and what happens to the next requests for answers.

    Args:
        runtimes: `Runtime`s by name.
    """

    def __init__(self, runtimes):
        self.runtimes, self.script, self.seen = runtimes, [], []
        self._lock = threading.Lock()

    def next_fault(self):
        with self._lock:
            return self.script.pop(0) if self.script else None

    def describe(self, name):
        kind = self.runtimes[name].kind
        outputs = OUTPUTS.get(kind, ("output_text", "scores"))
        return INPUTS.get(kind, ("text",)), (*outputs, "errors", "warnings")

    def columns(self, name, inputs, parameters, served=True):
        """The outputs for the inputs; `served` as seqzoo serves them, else as a SavedModel gives them."""
        with self._lock:
            self.seen.append((name, inputs, parameters))
        runtime, parameters = self.runtimes[name], dict(parameters)
        sides = [inputs[side] for side in INPUTS.get(runtime.kind, ("text",))]  # a map has no order
        texts = ["\t".join(row) for row in zip(*sides, strict=True)]
        options = {key: parameters.pop(key) for key in ("beam", "n_best", "length", "words") if key in parameters}
        if parameters.pop("sample", False):
            drawn = {
                key: float(value) if key in ("temperature", "top_p") else value for key, value in parameters.items()
            }
            options["sampling"] = Sampling(**drawn)
        elif parameters:
            raise ValueError(f"unknown parameters {parameters}")
        results = runtime.run(texts, **options)
        found = self._found(runtime, results, options.get("n_best", 1), served)
        return found | {
            f"{name}s": [getattr(result, name) or "" for result in results] for name in ("error", "warning")
        }

    @staticmethod
    def _found(runtime, results, width, served):
        if runtime.kind == "tag":
            most = max((len(result.words) for result in results), default=0)
            rows = [[*result.words, *[None] * (most - len(result.words))] for result in results]
            parts = {"tags": ("tag", ""), "scores": ("score", 0.0), "starts": ("start", 0), "ends": ("end", 0)}
            found = {
                name: [[getattr(word, part) if word else blank for word in row] for row in rows]
                for name, (part, blank) in parts.items()
            }
            return found | {"word_counts": [len(result.words) for result in results]}
        if runtime.kind == "embed":
            return {"vector": [list(result.vector) or [0.0] * 3 for result in results]}
        if runtime.kind == "rate":
            return {
                "rating": [result.rating or 0.0 for result in results],
                "rated": [int(result.rating is not None) for result in results],
            }
        if runtime.kind in ("classify", "compare"):
            labels = runtime.manifest["labels"]
            found = {"label": [result.label for result in results]}
            found["probabilities"] = [[result.probabilities.get(each, 0.0) for each in labels] for result in results]
            return found | ({"scores": [result.probability for result in results]} if served else {})
        if width == 1:
            return {"output_text": [each.text for each in results], "scores": [each.score for each in results]}
        held = [[*each.hypotheses, *[None] * (width - len(each.hypotheses))] for each in results]
        return {
            "output_text": [[each.text if each else "" for each in row] for row in held],
            "scores": [[each.score if each else -1e9 for each in row] for row in held],
        }


def flat(rows):
    """(values, shape, a value of its type) of a column."""
    if rows and isinstance(rows[0], list):
        width = len(rows[0])
        return [value for row in rows for value in row], [len(rows), width]
    return rows, [len(rows)]
