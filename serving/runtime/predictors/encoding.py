"""Predictor of vectors of texts."""

from serving.runtime.errors import DamagedError
from serving.runtime.predictors.results import Mode, Vector
from serving.runtime.reading import is_answered


class Embed:
    """Computes the vector of each text. A blank text has none."""

    options = ()
    beams = ()  # it does not search

    def __init__(self, loaded):
        self.loaded = loaded

    @property
    def modes(self):
        return [Mode("embed", self.loaded.graph("embed"), {})]

    def run(self, texts):
        readings = self.loaded.read(texts)
        answered = [reading.ids for reading in readings if is_answered(reading)]
        found = iter(self.loaded.run_all(self.loaded.graph("embed"), answered))
        return [
            Vector(
                self._checked(next(found)["vector"]) if is_answered(reading) else (),
                error=reading.error,
                warning=reading.warning,
            )
            for reading in readings
        ]

    def _checked(self, vector):
        if vector.ndim != 1:
            raise DamagedError(
                f"{self.loaded.directory} is damaged: expected a vector for each text; its graph gives the shape "
                f"{vector.shape}. Copy the artefact again, or export it again."
            )
        return tuple(vector.tolist())
