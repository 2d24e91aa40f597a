"""What every test shares: a quiet TensorFlow, one thread per worker, and the same seeds."""

import os
import sys

import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("MPLBACKEND", "agg")
if "PYTEST_XDIST_WORKER" in os.environ:  # workers share the cores
    for name in ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
        os.environ.setdefault(name, "1")


@pytest.fixture(autouse=True)
def seeded():
    """Seed Keras and NumPy, so that the order of tests changes nothing."""
    if "keras" in sys.modules:
        sys.modules["keras"].utils.set_random_seed(1)
