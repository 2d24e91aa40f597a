"""How an artefact is run: which graph, with which options, and how tokens are drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

from serving.lazy import later

if TYPE_CHECKING:  # a client of a server has these classes without NumPy
    import numpy as np
else:
    np = later("numpy")


@dataclass(frozen=True)
class Mode:
    """A way to run an artefact: the graph that is run, and the options of `run` that select it."""

    name: str
    graph: str
    options: dict[str, Any]


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn. The same settings give the same text, whatever else is in the batch.

    Args:
        temperature: divides the logits; 0 always takes the most probable token.
        top_k: only the k most probable tokens are drawn; 0 takes all.
        top_p: only the most probable tokens that together have this probability are drawn.
        seed: the seed of all draws.
        first: the number of the first text, if texts are given in several calls.

    Raises:
        ValueError: a number is out of its range.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 0
    first: int = 0

    def __post_init__(self) -> None:
        top_k = isinstance(self.top_k, Integral) and 0 <= self.top_k < 2**31  # int32 in the graph
        for name, good, expected in (
            ("temperature", 0 <= self.temperature <= 3.4e38, "a number from 0 to 3.4e38"),  # float32 in the graph
            ("top_k", top_k, "a whole number from 0 (takes all) to 2147483647"),
            ("top_p", 0 < self.top_p <= 1, "a number > 0 and <= 1"),
            ("seed", isinstance(self.seed, Integral) and self.seed >= 0, "a whole number >= 0"),
            ("first", isinstance(self.first, Integral) and self.first >= 0, "a whole number >= 0"),
        ):
            if not good:
                raise ValueError(f"{name} must be {expected}; received {getattr(self, name)!r}.")

    def inputs(self, keys: Sequence[tuple[int, int]], start: int, steps: int) -> "dict[str, np.ndarray]":
        """Inputs of the sampling graph for tokens `start` to `start + steps` of rows `(text number, sample number)`.

        The random numbers are those of `zoo.decoding.uniforms`.
        """
        uniforms = [
            np.random.default_rng((self.seed, self.first + text, sample)).random(start + steps, dtype="float32")[start:]
            for text, sample in keys
        ]
        rows = len(keys)
        return {
            "uniforms": np.reshape(np.array(uniforms, "float32"), (rows, 1, steps)),
            "temperature": np.full(rows, self.temperature, "float32"),
            "top_k": np.full(rows, self.top_k, "int32"),
            "top_p": np.full(rows, self.top_p, "float32"),
        }


@dataclass(frozen=True)
class Samplings:
    """A `Sampling` of its own for each text, so that texts of several callers can share a run of the graph.

    Text i is drawn as `each[i]` draws it: it has the number `each[i].first`.
    """

    each: tuple[Sampling, ...]

    def inputs(self, keys: Sequence[tuple[int, int]], start: int, steps: int) -> "dict[str, np.ndarray]":
        """As `Sampling.inputs`."""
        rows = [self.each[text].inputs([(0, sample)], start, steps) for text, sample in keys]
        return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
