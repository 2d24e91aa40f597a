"""Marian's binary weights, written here by the layout of its sources: float32, and intgemm's int8."""

import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

from tests.pretrained.tiny import opened
from zoo.pretrained.files import read_tensors
from zoo.training import named_weights

STUDENT = Path(__file__).with_name("data") / "marian_student"
TYPES = {"int8": 0x101, "float32": 0x404}
INTGEMM8 = 0x4101


def held():
    with np.load(STUDENT / "model.npz") as arrays:
        return dict(arrays)


def written(arrays, quantised=()):
    """The bytes of a file: every array is padded to 256 bytes, as Marian's allocator does."""
    headers, names, shapes, data = [], b"", b"", b""
    for name, array in arrays.items():
        numbers, kind = array.tobytes(), TYPES[str(array.dtype)]
        if name in quantised:
            multiplier = 127 / np.abs(array).max()
            whole = np.rint(array * multiplier).astype("int8")
            numbers, kind = (whole if "Wemb" in name else whole.T).tobytes() + struct.pack("<f", multiplier), INTGEMM8
        numbers += bytes(-len(numbers) % 256)
        headers.append(struct.pack("<4Q", len(name) + 1, kind, array.ndim, len(numbers)))
        names, data = names + name.encode() + b"\0", data + numbers
        shapes += struct.pack(f"<{array.ndim}i", *array.shape)
    head = struct.pack("<2Q", 1, len(arrays)) + b"".join(headers) + names + shapes
    padding = 256 - (len(head) + 8) % 256
    return head + struct.pack("<Q", padding) + bytes(padding) + data


@pytest.fixture
def folder(tmp_path):
    """The student, whose weights a test writes."""
    made = shutil.copytree(STUDENT, tmp_path / "student")
    (made / "model.npz").unlink()
    (made / "decoder.yml").unlink()
    return made


def weights(folder):
    return {name: np.asarray(weight) for name, weight in named_weights(opened(folder).model).items()}


def test_float32_is_what_npz_has(folder):
    (folder / "model.ende.bin").write_bytes(written(held()))
    (folder / "lex.s2t.bin").write_bytes(b"\xf5\x17\x34\x01\xd5\x48\x1a\xf1")  # a shortlist, and no weights
    found, right = weights(folder), weights(STUDENT)
    assert found.keys() == right.keys()
    for name, each in right.items():
        np.testing.assert_array_equal(found[name], each)


def test_int8_is_within_half_a_step_of_npz(folder):
    """Matrices lie the other way round, and embeddings do not; how inputs are quantised is not needed."""
    arrays = held()
    quantised = [name for name in arrays if "_W" in name and "_ln_" not in name or name == "Wemb"]
    scales = {f"{name}_QuantMultA": np.ones((1, 1), "float32") for name in quantised}
    (folder / "model.bin").write_bytes(written(arrays | scales, quantised))
    found, right = read_tensors([folder / "model.bin"]), read_tensors([STUDENT / "model.npz"])
    for name in quantised:
        largest = np.abs(right[name].read()).max()
        np.testing.assert_allclose(found[name].read(), right[name].read(), atol=largest / 254 * 1.001)
        assert found[name].shape == right[name].shape
    assert {*weights(folder)} == {*weights(STUDENT)}


def test_what_only_one_processor_reads_is_refused(folder):
    packed = written({"a": np.ones((2, 2), "float32")}).replace(struct.pack("<Q", 0x404), struct.pack("<Q", 0x2801))
    (folder / "model.bin").write_bytes(packed)
    with pytest.raises(ValueError, match="'a' has the type 0x2801. Expected float16"):
        read_tensors([folder / "model.bin"])


@pytest.mark.parametrize("share", [0.001, 0.01, 0.02, 0.05, 0.5, 0.99])
def test_a_file_that_is_cut_off_is_refused(share, folder):
    whole = written(held())
    (folder / "model.bin").write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match="cut off"):
        read_tensors([folder / "model.bin"])


def test_changed_bytes_do_nothing_else_than_refuse(folder):
    """Whatever a byte of the header becomes, the file is read or refused in words."""
    arrays = {"a_W": np.ones((2, 3), "float32"), "b": np.ones((1, 2), "float32"), "c": np.ones(5, "int8")}
    whole, generator = written(arrays, ["a_W"]), np.random.default_rng(4)
    for place in range(8, 256):  # of another version it is a file of torch
        changed = bytearray(whole)
        changed[place] = generator.integers(256)
        (folder / "model.bin").write_bytes(changed)
        try:
            found = [each.read() for each in read_tensors([folder / "model.bin"]).values()]
        except ValueError:
            continue
        assert len(found) <= len(arrays)
