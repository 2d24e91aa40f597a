"""A long continuation is written in several runs of a graph, and the best of them comes first."""

from types import SimpleNamespace

import pytest

from serving.kinds import KINDS
from serving.runtime.reading import Reading
from serving.runtime.writing import Continuer

RUNS = [  # ids and scores of two beams in each run of a graph that writes 4 ids at most
    [([1, 1, 1, 1], -1.0), ([2, 2, 2, 2], -2.0)],
    [([1, 1], -9.0), ([2, 2], -3.0)],
]
ENDED = [[([1, 1], -5.0), ([2, 2, 2, 2], -2.0)], [([3, 3, 3, 3], -1.0)]]  # the second is cut at the end


@pytest.mark.parametrize(
    ("runs", "best"),
    [(RUNS, [("222222", -5.0), ("111111", -10.0)]), (ENDED, [("11", -5.0), ("22223333", -3.0)])],
)
def test_the_best_of_all_runs_comes_first(runs, best):
    """The second beam is worse after one run, and better after two; what ends comes before what is cut off."""
    reading = Reading(ids=(7,))
    loaded = SimpleNamespace(
        name="stub",
        manifest={"generation": {"2": "beam.onnx"}, "default_beam": 2, "max_length": 4},
        generation={"2": "beam.onnx"},
        bound=SimpleNamespace(max_input=100),
        read=lambda texts, end: [reading],
        decode=lambda rows: ["".join(map(str, row)) for row in rows],
    )
    predictor, runs = Continuer(KINDS["continue"], loaded), iter(runs)

    def search(sequences, beam, n_best, given):
        found = next(runs)
        return [found] if n_best == 2 else [[pair] for pair in found]

    predictor.search = search
    (result,) = predictor.run(["a"], n_best=2, length=8)
    assert [(each.text, each.score) for each in result.hypotheses] == best
    assert (result.text, result.score) == best[0]
