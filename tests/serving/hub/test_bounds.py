"""Few bytes of a stranger's hub become many: they are refused before they fill the memory, or keep it busy."""

import gzip
import io
import json
import tracemalloc

import h5py
import numpy as np
import pytest

from serving.export.shortlist import Shortlist
from serving.hub.published import pack_outputs, unpack_outputs
from serving.runtime.errors import DamagedError
from tests.serving.hub.test_hostile import archive
from zoo.hub.keras_file import UnsafeError, check_keras


def line(**more):
    return json.dumps({"input": "", "reference": "", "output": ""} | more).encode() + b"\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (line() * 600_000, "at most 200,000 rows"),
        (b"\n" * (2**25 - 1), "at most 200,000 rows"),
        (line(more=[[]] * 20_000) * 400, "rows of up to 80,0.. bytes"),
        (line(input="a" * 70_000), "rows of up to 70,0.. bytes"),
        (line(input=[""] * 10_000) * 800, "not of the form"),
        (line(output={str(number): 1 for number in range(5_000)}), "not of the form"),
    ],
    ids=["rows", "empty rows", "more", "a long text", "parts", "numbers"],
)
def test_few_bytes_that_become_many_answers_are_refused_before_they_are_parsed(text, message):
    """As `hub card --check` would read them: 726 kB became 5.8 million rows, in minutes and 1.3 GB."""
    content = gzip.compress(text)
    assert len(content) < 100_000
    tracemalloc.start()
    try:
        with pytest.raises(DamagedError, match=message):
            unpack_outputs(content)
        assert tracemalloc.get_traced_memory()[1] < 5 * 2**25
    finally:
        tracemalloc.stop()


def test_what_could_not_be_read_again_is_not_published(monkeypatch):
    monkeypatch.setattr("serving.hub.published.MOST_ROWS", 3)
    assert len(unpack_outputs(pack_outputs(["a"] * 3, ["b"] * 3, ["c"] * 3))[0]) == 3
    with pytest.raises(ValueError, match="at most 3 rows of 65,536 bytes .* received 4 rows of up to"):
        pack_outputs(["a"] * 4, ["b"] * 4, ["c"] * 4)


def arrays(count, **how):
    """The bytes of an HDF5 file with arrays of so many zeros, which take hardly a byte."""
    held = io.BytesIO()
    with h5py.File(held, "w") as file:
        made = file.create_dataset("layers/dense/vars/0", (count,), "uint8", **how)
        if count < 10**9:
            made[:] = 0
    return held.getvalue()


@pytest.mark.parametrize(
    ("count", "how"),
    [(10**8, {"compression": "gzip"}), (10**12, {"chunks": (2**20,)})],
    ids=["compressed in the weights", "arrays that were never written"],
)
def test_arrays_that_are_much_larger_than_their_file_are_not_loaded(tmp_path, count, how):
    (tmp_path / "model.keras").write_bytes(archive(weights=arrays(count, **how)))
    with pytest.raises(UnsafeError, match="which is too many"):
        check_keras(tmp_path / "model.keras")
    (tmp_path / "model.keras").write_bytes(archive(weights=arrays(10**5)))
    check_keras(tmp_path / "model.keras")


def test_a_shortlist_that_becomes_much_is_not_read(monkeypatch):
    held = io.BytesIO()
    np.savez_compressed(held, table=np.zeros((100, 100), "int32"), always=np.zeros(2, "int32"))
    assert Shortlist.load(io.BytesIO(held.getvalue())).width == 100
    monkeypatch.setattr("serving.export.shortlist.MOST_BYTES", 40_000)
    with pytest.raises(ValueError, match="No shortlist: .* more than 40,000 bytes"):
        Shortlist.load(io.BytesIO(held.getvalue()))
