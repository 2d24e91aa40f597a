"""A number for a text, or for a pair of texts."""

from dataclasses import dataclass

from serving.kinds.base import ONE, PAIR, Column, Kind, Output, Remarks

DIGITS = 7  # significant ones that are shown, as many as float32 has


@dataclass(frozen=True)
class Rating(Remarks):
    """The number of a text; that of a blank text, and of one that is refused, is None."""

    rating: float | None

    @property
    def answer(self) -> float | None:
        return self.rating


class Rate(Kind):
    """A number for each text, or pair of texts. A blank text has none; on a server `rated` is 0 there."""

    name = "rate"
    forms = (ONE, PAIR)
    mark = "rating"
    outputs = (Output("rating", "float32"), Output("rated", "int32"))

    def shapes(self, manifest):
        return {"rating": ()}

    def make_result(self, outputs, prepared, reading):
        return Rating(float(outputs["rating"]))

    def blank(self):
        return Rating(None)

    def line(self, result, escape):
        return "" if result.rating is None else f"{result.rating:.{DIGITS}g}"

    def record(self, fields, n_best):
        return fields | {"rating": None if fields["rating"] is None else float(f"{fields['rating']:.{DIGITS}g}")}

    def columns(self, n_best):
        return {"rating": (float, lambda result: result.rating)}

    def agreement(self, ones, others):
        """1 less the mean difference, in deviations of the first."""
        pairs = [both for both in zip(ones, others, strict=True) if None not in both]
        if not pairs:
            return 1.0
        mean = sum(one for one, _ in pairs) / len(pairs)
        deviation = (sum((one - mean) ** 2 for one, _ in pairs) / len(pairs)) ** 0.5
        difference = sum(abs(one - other) for one, other in pairs) / len(pairs)
        return max(0.0, 1 - difference / (deviation or 1.0))

    def write(self, results, manifest, width):
        shape, ratings = (len(results),), [result.rating for result in results]
        return {
            "rating": Column(shape, [rating or 0.0 for rating in ratings]),
            "rated": Column(shape, [int(rating is not None) for rating in ratings]),
        }

    def read(self, texts, columns, labels):
        for rating, rated in zip(columns["rating"], columns["rated"], strict=True):
            yield Rating(float(rating) if rated else None)
