"""A vector for a text."""

import json
import math
import operator
from dataclasses import dataclass

from serving.kinds.base import Column, Kind, Output, Remarks


@dataclass(frozen=True)
class Vector(Remarks):
    """The vector of a text; that of a blank text, and of one that is refused, is empty."""

    vector: tuple[float, ...]

    @property
    def answer(self) -> tuple[float, ...]:
        return self.vector


class Embed(Kind):
    """The vector of each text. A blank text has none; on a server it has zeros."""

    name = "embed"
    mark = "vector"
    outputs = (Output("vector", "float32", 2),)
    is_vector = True

    def shapes(self, manifest):
        return {"vector": (None,)}

    def make_result(self, outputs, prepared, reading):
        return Vector(tuple(outputs["vector"].tolist()))

    def blank(self):
        return Vector(())

    def line(self, result, escape):
        return json.dumps(rounded(result.vector)) if result.vector else ""

    def record(self, fields, n_best):
        return fields | {"vector": rounded(fields["vector"])}

    def columns(self, n_best):
        return {"vector": (["float32"], lambda result: result.vector or None)}

    def agreement(self, ones, others):
        """The mean cosine of the vectors of both."""
        pairs = [both for both in zip(ones, others, strict=True) if all(both)]
        cosines = [_cosine(*both) for both in pairs]
        return sum(cosines) / len(cosines) if cosines else 1.0

    def write(self, results, manifest, width):
        units = self.table(manifest)["outputs"][0]["shape"][-1]
        return {"vector": Column((len(results), units), [each.vector or [0.0] * units for each in results])}

    def read(self, texts, columns, labels):
        for row in columns["vector"]:
            yield Vector(tuple(map(float, row)) if any(row) else ())


def _cosine(one, other):
    return sum(map(operator.mul, one, other)) / (math.hypot(*one) * math.hypot(*other) or 1.0)


def rounded(vector):
    """The numbers of a vector, in as many digits as float32 has."""
    return [float(f"{value:.9g}") for value in vector]
