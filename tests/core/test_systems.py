"""A recipe of every system takes the same ten steps on one device, on eight, and in two and four processes."""

import os
import subprocess
import sys

import numpy as np
import pytest

from tests.core.test_devices import variables
from zoo.core import devices

NEAR = {"1": 1e-6, "10": 1e-4}  # by step
WAYS = {"two devices": (2, 1), "four devices": (4, 1), "eight devices": (8, 1)}
WAYS |= {"two processes": (4, 2), "four processes": (4, 4)}


def steps(folder, count, processes=1, systems=()):
    """`{system: [what each process found]}` of `count` devices; of all systems, or of these."""
    folder.mkdir()
    command = [sys.executable, "-m", "tests.core.systems", str(folder), str(count), *systems]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(devices.PREFIX)}
    started = [
        subprocess.Popen(command, env=inherited | {"KERAS_BACKEND": "jax"} | own, stderr=subprocess.PIPE, text=True)
        for own in variables(processes)
    ]
    try:
        told = [process.communicate(timeout=3000)[1] for process in started]
    finally:
        for process in started:
            process.kill()
    assert [process.returncode for process in started] == [0] * processes, told[0][-3000:]
    done = sorted(path.name.removesuffix("-0.npz") for path in folder.glob("*-0.npz"))
    return {name: [dict(np.load(folder / f"{name}-{n}.npz")) for n in range(processes)] for name in done}


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    return steps(tmp_path_factory.mktemp("systems") / "one", 1)


@pytest.mark.release
def test_what_the_first_process_does_at_the_end_it_does_alone(tmp_path):
    """A classifier is calibrated when the other processes have left."""
    (found,) = steps(tmp_path / "many", 2, 2, ["star"]).values()
    np.testing.assert_array_equal(*(each["losses"] for each in found))


@pytest.mark.release
@pytest.mark.parametrize("way", WAYS)
def test_every_system_trains_as_on_one_device(alone, way, tmp_path):
    found = steps(tmp_path / "many", *WAYS[way])
    assert found.keys() == alone.keys() and len(found) == 12
    for system, ranks in found.items():
        (one,) = alone[system]
        for name, values in one.items():
            for rank in ranks:
                np.testing.assert_array_equal(rank[name], ranks[0][name], err_msg=f"{system}: {name}")
            if name != "losses":
                difference = np.abs(ranks[0][name].astype("float64") - values).max(initial=0.0)
                assert difference <= NEAR[name.partition("/")[0]], f"{system}: {name} differs by {difference:.2g}"
        np.testing.assert_allclose(ranks[0]["losses"], one["losses"], rtol=1e-5, err_msg=system)
