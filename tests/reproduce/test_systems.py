"""Each system of `seqzoo reproduce` at sizes that only try its code; a training twice ends in the same weights."""

import re

import pytest

from zoo.reproduce import report
from zoo.reproduce.report import SYSTEMS

pytestmark = pytest.mark.slow
IN_EVERY_RUN = ("product-key", "recurrent", "tensorized")  # the others take a minute each: at a release
EACH = [pytest.param(name, marks=[] if name in IN_EVERY_RUN else pytest.mark.release) for name in SYSTEMS]


@pytest.mark.release(but=1)
@pytest.mark.parametrize("system", EACH)
def test_a_system_is_measured_drawn_and_judged(system, tmp_path):
    lines = []
    found = report.measure(system, quick=True, log=lines.append)
    report.write(found, tmp_path)
    assert lines and report.read(system, tmp_path)["claims"] == found["claims"]
    assert (tmp_path / f"{system}.png").read_bytes().startswith(b"\x89PNG")
    trained = [each for hashes in found["weights"].values() for each in hashes]
    assert trained and all(re.fullmatch("[0-9a-f]{64}", each) for each in trained)
    assert len(set(trained)) == len(trained), "two trainings ended in the same weights"
    for row in found["claims"]:
        assert row["paper"].endswith(".") and row["ours"].endswith(".") and isinstance(row["holds"], bool)


@pytest.mark.release
def test_the_same_seed_gives_the_same_weights():
    first, second = (report.measure("macaron", quick=True, log=lambda line: None) for _ in range(2))
    assert report.changed_models(first, second) == []
    second["weights"]["Macaron"][1] = first["weights"]["Macaron"][0]
    assert report.changed_models(first, second) == ["Macaron, seed 1"]
