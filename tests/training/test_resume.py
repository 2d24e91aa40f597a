"""kill -9 or Ctrl-C, and then `resume`, give the weights of an uninterrupted run, bit for bit."""

import signal

import numpy as np
import pytest

from tests.shared import python


@pytest.mark.release(but=1)
@pytest.mark.slow
@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_a_killed_run_resumes_to_the_same_bits(tmp_path, backend):
    # Checkpoints are written at steps 3, 5, 6, 9, 10, 12; step 8 dies between two of them.
    words = ["-m", "tests.training.killed", tmp_path]
    python(*words, "die", 8, status=-signal.SIGKILL, KERAS_BACKEND=backend)
    before = (tmp_path / "parts" / "metrics.csv").read_text().splitlines()
    assert before[-1].startswith("8,")
    resumed = python(*words, "resume", 0, KERAS_BACKEND=backend)
    assert "step 8/12" in resumed.stderr and "step 2/12" not in resumed.stderr

    whole, parts = np.load(tmp_path / "whole.npz"), np.load(tmp_path / "parts.npz")
    assert sorted(whole) == sorted(parts) and len(whole.files) >= 7
    for name in whole:
        np.testing.assert_array_equal(whole[name], parts[name], err_msg=name)
    stopped, went_on = (np.load(tmp_path / f"stopped-{resume}.npz") for resume in (False, True))
    assert any((stopped[name] != whole[name]).any() for name in whole)
    for name in whole:
        np.testing.assert_array_equal(whole[name], went_on[name], err_msg=name)
    whole, parts = (np.load(tmp_path / name / "checkpoint" / "state.npz") for name in ("whole", "parts"))
    best = [name for name in whole if name.startswith("best/")]
    assert {name.split("/")[1] for name in best} == {"00000010", "00000012"}
    for name in best:
        np.testing.assert_array_equal(whole[name], parts[name], err_msg=name)

    rows = (tmp_path / "parts" / "metrics.csv").read_text().splitlines()
    reference = (tmp_path / "whole" / "metrics.csv").read_text().splitlines()
    steps = [row.split(",")[0] for row in rows]
    assert steps == [row.split(",")[0] for row in reference]
    validations = [row for row in rows if row.split(",")[4]]
    assert validations == [row for row in reference if row.split(",")[4]]
