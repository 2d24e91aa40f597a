"""One label for a whole text, or for a pair of texts."""

from dataclasses import dataclass

from serving.kinds.base import PAIR, Column, Kind, Output, Remarks


@dataclass(frozen=True)
class Label(Remarks):
    """The label of a text, its probability, and the probabilities of all labels, the most probable first.

    A text that is out of scope, because no label is likely enough, has the label that says so (it may be none of those
    with a probability), and its probability is that the most probable label is wrong: 1 minus the probability of that.
    A blank text has the label "", the probability 0 and no probabilities.
    """

    label: str
    probability: float
    probabilities: dict[str, float]

    @property
    def answer(self) -> str:
        return self.label

    @property
    def confidence(self) -> float | None:
        return self.probability if self.label else None


class Classify(Kind):
    """A label for each text. A blank text has the label "" with probability 0.

    With `scope` in the manifest, a text whose likeliest label is less likely than the threshold has the label of texts
    out of scope; its probability is 1 minus that of the likeliest label.
    """

    name = "classify"
    mark = "label"
    outputs = (Output("label", "string"), Output("scores", "float32"), Output("probabilities", "float32", 2))
    needs = ("labels",)
    has_confidence = True

    def shapes(self, manifest):
        return {"probabilities": (len(manifest["labels"]),)}

    def make_result(self, outputs, prepared, reading):
        labels, scope, probabilities = prepared["labels"], prepared.get("scope"), outputs["probabilities"].tolist()
        order = sorted(range(len(labels)), key=probabilities.__getitem__, reverse=True)
        ranked = {labels[index]: probabilities[index] for index in order}
        label, probability = labels[order[0]], probabilities[order[0]]
        if scope and outputs["probabilities"].max() < scope["threshold"]:
            label, probability = scope["label"], 1 - probability
        return Label(label, probability, ranked)

    def blank(self):
        return Label("", 0.0, {})

    def line(self, result, escape):
        return f"{escape(result.label)}\t{result.probability:.4f}" if result.label else ""

    def columns(self, n_best):
        return {"answer": (str, lambda result: result.label), "score": (float, lambda result: result.probability)}

    def write(self, results, manifest, width):
        labels, batch = manifest.get("labels", []), len(results)
        rows = [[result.probabilities.get(label, 0.0) for label in labels] for result in results]
        return {
            "label": Column((batch,), [result.label for result in results]),
            "scores": Column((batch,), [result.probability for result in results]),
            "probabilities": Column((batch, len(labels)), rows),
        }

    def read(self, texts, columns, labels):
        rows = columns.get("probabilities", [()] * len(texts))
        scores = columns.get("scores", [max(row, default=0.0) for row in rows])
        for label, score, row in zip(columns["label"], scores, rows, strict=True):
            score = float(score) if label else 0.0
            if not label:
                probabilities = {}
            elif len(labels) == len(row) > 0:
                order = sorted(range(len(row)), key=lambda place, row=row: -row[place])
                probabilities = {labels[place]: float(row[place]) for place in order}
            else:
                probabilities = {label: score}
            yield Label(label, score, probabilities)


class Compare(Classify):
    """A label for each pair of texts, "first TAB second" or `(first, second)`. A pair of blank texts has none."""

    name = "compare"
    forms = (PAIR,)
